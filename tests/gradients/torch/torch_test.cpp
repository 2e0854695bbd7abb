// Kernels, forward and backward, against PyTorch. Each cases_<family>.py beside this file writes single-node models and
// what PyTorch makes of them (see cases.py); here the backward pass is added, and every node runs by its kernel: whole
// on one core, and in random tiles on eight with the same bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "onnx/import.hpp"
#include "onnx/npz.hpp"
#include "ops/builder.hpp"
#include "simplify/simplify.hpp"
#include "support/graph_run.hpp"
#include "support/onnx_text.hpp"
#include "support/program.hpp"
#include "train/backward.hpp"

namespace tessera::test {
namespace {

namespace fs = std::filesystem;

const fs::path here = fs::path(TESSERA_ROOT) / "tests/gradients/torch";

std::vector<std::string> families() {
  std::vector<std::string> all;
  for (auto& file : fs::directory_iterator(here)) {
    auto name = file.path().stem().string();
    if (name.starts_with("cases_") && file.path().extension() == ".py") all.push_back(name.substr(6));
  }
  std::ranges::sort(all);
  return all;
}

using Values = std::map<std::string, TensorData>;

// What a case has under one heading: "003_Relu/input/" -> {x: ...}.
Values below(const Values& all, const std::string& heading) {
  Values found;
  for (auto at = all.lower_bound(heading); at != all.end() && at->first.starts_with(heading); ++at)
    found[at->first.substr(heading.size())] = at->second;
  return found;
}

// The graph with its backward pass, and where each gradient is.
struct Differentiated {
  Graph graph;
  std::map<TensorId, TensorData> inputs;
  std::map<std::string, TensorId> gradients;
};

// What is differentiated is the sum of all outputs, each weighted by its incoming gradient.
Result<Differentiated> differentiated(const fs::path& model, const Values& inputs, const Values& d,
                                      const Values& wanted) {
  TRY(auto imported, onnx::import_onnx(model, {}));
  Differentiated made{std::move(imported.graph), {}, {}};
  auto& graph = made.graph;
  CHECK_OK(simplify::simplify(graph, simplify::Compositions::WithoutGradient));
  for (auto& [name, data] : inputs) made.inputs[graph.find_tensor(name)] = data;
  ops::Builder build(graph);
  TensorId objective;
  for (auto& [name, weights] : d) {
    auto y = graph.find_tensor(name);
    auto weighted = build.node({"", "Mul"}, {y, build.constant(weights, name + ".d")}, {}, name + ".weighted");
    auto sum = build.node({"", "ReduceSum"}, {weighted}, {{"keepdims", int64_t{0}}}, name + ".sum");
    objective = objective ? build.node({"", "Add"}, {objective, sum}, {}, "objective") : sum;
  }
  CHECK_OK(build.status());
  if (!objective) {
    CHECK_OK(simplify::simplify(graph));
    return made;
  }
  std::vector<TensorId> of;
  for (auto& [name, data] : wanted) of.push_back(graph.find_tensor(name));
  CHECK_OK(train::add_backward(graph, objective, of, [&](TensorId t, TensorId gradient) -> Result<void> {
    made.gradients[graph.at(t).name] = gradient;
    return {};
  }));
  CHECK_OK(simplify::simplify(graph));
  CHECK_OK(verify(graph));
  return made;
}

void expect_near(const TensorData& ours, const TensorData& torch, double tolerance, const std::string& what) {
  ASSERT_EQ(ours.shape(), torch.shape()) << what;
  for (int64_t i = 0; i < torch.type().elements(); ++i) {
    double g = ours.at(i), w = torch.at(i);
    ASSERT_TRUE(g == w || (std::isnan(g) && std::isnan(w)) || std::abs(g - w) <= tolerance * std::max(1.0, std::abs(w)))
        << what << " element " << i << " is " << g << ", PyTorch has " << w;
  }
}

void check(const Values& all, const std::string& name, const fs::path& model) {
  auto wanted = below(all, name + "/gradient/");
  auto made = differentiated(model, below(all, name + "/input/"), below(all, name + "/d/"), wanted);
  ASSERT_TRUE(made) << made.error().text();
  auto& graph = made->graph;
  double tolerance = all.at(name + "/tolerance").at(0);
  std::mt19937 rng(1);
  auto runs = run_graph(graph, made->inputs, std::array{GraphRun{}, GraphRun{.tiled = true, .cores = 8}}, rng);
  auto &values = runs[0], &tiled = runs[1];
  auto at = [&](TensorId id) { return values[static_cast<size_t>(id.index)]; };
  for (auto& [output, torch] : below(all, name + "/value/"))
    expect_near(at(graph.find_tensor(output)), torch, tolerance, output);
  for (auto& [input, torch] : wanted) {
    ASSERT_TRUE(made->gradients.contains(input)) << input << " has no gradient";
    expect_near(at(made->gradients[input]), torch, tolerance, "the gradient of " + input);
  }
  for (size_t t = 0; t < values.size(); ++t)
    EXPECT_TRUE(std::ranges::equal(values[t].bytes(), tiled[t].bytes()))
        << graph.tensors()[t].name << " has other bits in tiles on eight cores";
}

// The cases of a family, written by its script.
struct Family {
  explicit Family(const std::string& name) {
    auto script = (here / fmt::format("cases_{}.py", name)).string();
    auto ran = run_program({"/usr/bin/python3", "-B", script, folder.path().string()}, folder.path());
    if (ran.code != 0) throw std::runtime_error(ran.err);
    auto arrays = onnx::read_npz(folder.path() / "values.npz").value();
    for (auto& array : arrays) values[array.name] = array.data;
    for (auto& file : fs::directory_iterator(folder.path()))
      if (file.path().extension() == ".onnx") models.push_back(file.path());
    std::ranges::sort(models);
  }

  TemporaryFolder folder;
  Values values;
  std::vector<fs::path> models;
};

class AgainstTorch : public testing::TestWithParam<std::string> {};
TEST_P(AgainstTorch, ValuesAndGradientsAgree) {
  Family family(GetParam());
  ASSERT_FALSE(family.models.empty());
  for (auto& model : family.models) {
    SCOPED_TRACE(model.stem().string());
    EXPECT_NO_THROW(check(family.values, model.stem().string(), model));
  }
}
INSTANTIATE_TEST_SUITE_P(Torch, AgainstTorch, testing::ValuesIn(families()), [](auto& info) { return info.param; });

// Every operator with a gradient stands in a case, forward or backward, but those that PyTorch does not have; and the
// operators' table says of each what is true of it.
TEST(Torch, HasACaseOfEveryOperatorThatItKnows) {
  const std::set<std::string_view> unknown{
      "Hardmax",             // no gradient there
      "ConstantOfShape",     // nothing to learn before it
      "GatherNDGrad",        // internal
      "GatherElementsGrad",  // internal
      "Resample",            // what a Resize is written out as
  };
  std::set<const ops::Operator*> met;
  for (auto& name : families())
    for (Family family(name); auto& model : family.models) {
      auto imported = onnx::import_onnx(model, {});
      ASSERT_TRUE(imported) << imported.error().text();
      for (auto& node : imported->graph.nodes()) met.insert(ops::find(node.op, node.version));
    }
  for (auto* op : ops::table()) {
    if (!op->gradient && !(op->expand && !op->tile_map)) continue;
    auto text = to_string(OpName{std::string(op->domain), std::string(op->type)});
    EXPECT_EQ(met.contains(op), op->verified.find("torch") != op->verified.npos) << text << " of set " << op->since;
    EXPECT_TRUE(met.contains(op) || unknown.contains(op->type)) << text << " of set " << op->since << " has no case";
  }
}

}  // namespace
}  // namespace tessera::test
