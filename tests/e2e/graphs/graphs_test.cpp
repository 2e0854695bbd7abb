// Random graphs, forward and backward, through everything to emitted C on the host engine: every node agrees with the
// reference on the very values that the C gave it, and tiles, buffers and cores change no bit.
//
// TESSERA_GRAPHS=10000 runs that many instead of 500, TESSERA_GRAPHS_SEED=7 starts elsewhere.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>

#include "check/check.hpp"
#include "emit/emit.hpp"
#include "plan/make_plan.hpp"
#include "run/host.hpp"
#include "schedule/build.hpp"
#include "simplify/simplify.hpp"
#include "support/maker.hpp"
#include "train/backward.hpp"
#include "train/build.hpp"

namespace tessera::test {
namespace {

namespace fs = std::filesystem;

constexpr int graphs_a_forest = 20;

using Values = std::map<std::string, TensorData>;

class Workshop {
 public:
  explicit Workshop(int shard)
      : folder_(fs::temp_directory_path() / fmt::format("tessera-graphs-{}-{}", ::getpid(), shard)) {
    fs::create_directories(folder_);
  }
  ~Workshop() { fs::remove_all(folder_); }

  Result<Values> run(const train::Program& program, plan::Options options) {
    TRY(auto plan, planned(program, options));
    TRY(auto schedule, schedule::build(program.graph, plan, target_));
    CHECK_OK(check::check(program.graph, plan, schedule, target_));
    TRY(auto project, emit::emit(program, plan, schedule, target_, {}));
    auto directory = folder_ / "project";
    fs::remove_all(directory);
    CHECK_OK(emit::write_project(project, directory));
    TRY(auto result, run::run_host(directory, {.optimize = false}));
    Values values;
    for (auto& output : result.outputs) values[output.name] = output.data;
    return values;
  }

 private:
  // A budget that is too small names the smallest that works; that one must work.
  Result<plan::Plan> planned(const train::Program& program, plan::Options options) {
    auto plan = plan::make_plan(program, target_, options);
    if (plan || plan.error().kind() != ErrorKind::DoesNotFit) return plan;
    auto hint = plan.error().way_out();
    auto at = hint.find("--l1 ");
    if (at == std::string::npos) return plan;
    TRY(options.l1, parse_bytes(hint.substr(at + 5)));
    return plan::make_plan(program, target_, options);
  }

  fs::path folder_;
  target::Target target_ = target::load_target("siracusa", TESSERA_ROOT "/targets").value();
};

// Leaves, weighted and summed into one number, and its gradient for every parameter: all of them outputs.
Result<train::Program> with_backward(const Forest& forest, std::mt19937_64& random) {
  Graph graph = forest.graph;
  CHECK_OK(simplify::simplify(graph, simplify::Compositions::WithoutGradient));
  ops::Builder build(graph);
  TensorId loss;
  for (auto leaf : forest.smooth) {
    auto& name = build.name(leaf);
    std::vector<float> v(static_cast<size_t>(build.type(leaf).elements()));
    for (auto& e : v) e = std::uniform_real_distribution<float>(-1, 1)(random);
    auto weights = build.constant(TensorData::f32(build.type(leaf).shape, v), name + ".weights");
    auto weighted = build.node({"", "Mul"}, {leaf, weights}, {}, name + ".weighted");
    auto sum = build.node({"", "ReduceSum"}, {weighted}, {{"keepdims", int64_t{0}}}, name + ".sum");
    loss = loss ? build.node({"", "Add"}, {loss, sum}, {}, name + ".loss") : sum;
  }
  CHECK_OK(build.status());
  if (loss)
    CHECK_OK(train::add_backward(graph, loss, forest.learned, [&](TensorId, TensorId gradient) -> Result<void> {
      if (graph.at(gradient).role == Role::Activation) graph.outputs.push_back(gradient);
      return {};
    }));
  return train::inference_program(std::move(graph));
}

// What a later node changes where it stands: nobody can look at it afterwards.
std::set<TensorId> replaced(const Graph& graph) {
  std::set<TensorId> all;
  for (auto& node : graph.nodes())
    if (auto* op = ops::find(node.op, node.version); op->aliases)
      for (auto& alias : op->aliases({graph, node}))
        if (alias.kind == ops::Alias::Kind::InPlace) all.insert(node.inputs[static_cast<size_t>(alias.input)]);
  return all;
}

train::Program with_all_outputs(train::Program program) {
  auto there = replaced(program.graph);
  there.insert(program.graph.outputs.begin(), program.graph.outputs.end());
  for (auto& node : program.graph.nodes())
    for (auto t : node.outputs)
      if (t && there.insert(t).second) program.graph.outputs.push_back(t);
  return program;
}

ops::Array array_of(const TensorData& data) {
  ops::Array a{data.type().dtype, data.shape(), {}};
  for (int64_t i = 0; i < data.type().elements(); ++i) a.v.push_back(data.at(i));
  return a;
}

double largest(const ops::Array& a) {
  double most = 1;
  for (double v : a.v)
    if (std::isfinite(v)) most = std::max(most, std::abs(v));
  return most;
}

// A node's outputs against the reference of what came into it. Rounding is judged by the largest number that the node
// meets, because sums and differences of such numbers are what it makes.
std::string node_failure(const Graph& graph, const Node& node, const std::set<TensorId>& unseen, Values& values) {
  std::vector<ops::Array> operands;
  double scale = 1;
  for (auto t : node.inputs) {
    operands.emplace_back();
    if (!t) continue;
    auto& tensor = graph.at(t);
    operands.back() = array_of(tensor.role == Role::Activation ? values.at(tensor.name) : tensor.value);
    if (tensor.type.dtype == DType::F32) scale = std::max(scale, largest(operands.back()));
  }
  auto op = ops::definition(graph, node);
  if (!op) return op.error().text();
  auto wanted = (*op)->reference({graph, node}, operands);
  if (!wanted) return wanted.error().text();
  for (size_t o = 0; o < node.outputs.size(); ++o) {
    if (!node.outputs[o]) continue;
    auto& reference = (*wanted)[o];
    if (unseen.contains(node.outputs[o])) {
      values[graph.at(node.outputs[o]).name] = ops::data_of(reference);
      continue;
    }
    auto got = array_of(values.at(graph.at(node.outputs[o]).name));
    double tolerance = reference.dtype == DType::F32 ? 1e-5 * std::max(scale, largest(reference)) : 0;
    for (size_t i = 0; i < got.v.size(); ++i) {
      double g = got.v[i], w = reference.dtype == DType::F32 ? static_cast<float>(reference.v[i]) : reference.v[i];
      if (std::isnan(w) ? std::isnan(g) : g == w || std::abs(g - w) <= tolerance) continue;
      return fmt::format("node {} ({}) output {} element {} is {}, the reference says {}", node.name,
                         to_string(node.op), o, i, g, w);
    }
  }
  return "";
}

bool same_bits(const TensorData& a, const TensorData& b) {
  return std::ranges::equal(a.bytes(), b.bytes());
}

plan::Options random_options(std::mt19937_64& random) {
  plan::Options options{.buffering = static_cast<plan::Buffering>(random() % 3)};
  options.l1 = Bytes(std::vector<int64_t>{2048, 3000, 4096, 8192}[random() % 4]);
  // With the tests, as many cores as in the others: kernels are compiled for each number of them.
  options.cores = std::getenv("TESSERA_GRAPHS") ? std::vector{2, 3, 8}[random() % 3] : 8;
  return options;
}

struct Account {
  int64_t graphs = 0, nodes = 0;
  std::set<const ops::Operator*> drawn, ran;  // some are written out as others
};

std::string forest_failure(Workshop& workshop, uint64_t seed, Account& account) {
  Maker maker(seed);
  maker.grow(graphs_a_forest);
  account.graphs += graphs_a_forest;
  account.drawn.insert(maker.forest.drawn.begin(), maker.forest.drawn.end());
  std::mt19937_64 random(seed);
  auto program = with_backward(maker.forest, random);
  if (!program) return program.error().text();
  auto all = with_all_outputs(*program);
  auto values = workshop.run(all, {.tiling = false, .cores = 1});
  if (!values) return "untiled: " + values.error().text();
  auto unseen = replaced(all.graph);
  for (auto& node : all.graph.nodes()) {
    ++account.nodes;
    account.ran.insert(ops::find(node.op, node.version));
    if (auto text = node_failure(all.graph, node, unseen, *values); !text.empty()) return text;
  }
  auto tiled = workshop.run(*program, random_options(random));
  if (!tiled) return "tiled: " + tiled.error().text();
  for (auto& [name, value] : *tiled)
    if (!same_bits(value, values->at(name))) return fmt::format("'{}' has other bits tiled", name);
  return "";
}

int64_t number(const char* variable, int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::atoll(text) : otherwise;
}

// What random graphs do without, and where it is tested instead.
const std::string at_compile_time = "its operands are constants, and so is what it makes: conformance",
                  in_place = "replaces a weight or state where it stands: unit/ops_updates, e2e/optimizers";
const std::map<std::string, std::string, std::less<>> left_out{
    {"Constant", at_compile_time},
    {"ConstantOfShape", at_compile_time},
    {"Range", at_compile_time},
    {"NonZero", at_compile_time},
    {"InPlaceAccumulatorV2", in_place},
    {"SGD", in_place},
    {"SGDOptimizer", in_place},
    {"SGDOptimizerV2", in_place},
    {"AdamWOptimizer", in_place},
    {"Momentum", in_place},
    {"Adagrad", in_place},
    {"Adam", in_place},
    {"Increment", in_place},
};

// The graphs of the tests have every operator of the table in them, those that are written out as others included.
TEST(Maker, DrawsFromEveryOperator) {
  std::set<const ops::Operator*> drawn;
  for (uint64_t seed = 1; seed <= 500 / graphs_a_forest; ++seed) {
    Maker maker(seed);
    maker.grow(graphs_a_forest);
    drawn.insert(maker.forest.drawn.begin(), maker.forest.drawn.end());
    std::mt19937_64 random(seed);
    auto program = with_backward(maker.forest, random);
    ASSERT_TRUE(program) << program.error().text();
    for (auto& node : program->graph.nodes()) drawn.insert(ops::find(node.op, node.version));
  }
  for (auto* op : ops::table()) {
    auto reason = left_out.find(op->type);
    EXPECT_TRUE(drawn.contains(op) != (reason != left_out.end()))
        << to_string(OpName{std::string(op->domain), std::string(op->type)}) << " of set " << op->since
        << (drawn.contains(op) ? " is drawn, but named as left out" : " is neither drawn nor named with a reason");
  }
}

// Four shards, so that they run side by side.
class Graphs : public testing::TestWithParam<int> {};

TEST_P(Graphs, AgreeWithTheReferenceWhateverTheTiles) {
  Workshop workshop(GetParam());
  Account account;
  int64_t forests = (number("TESSERA_GRAPHS", 500) + graphs_a_forest - 1) / graphs_a_forest;
  int64_t failures = 0;
  for (int64_t f = GetParam(); f < forests && failures < 5; f += 4) {
    auto seed = static_cast<uint64_t>(number("TESSERA_GRAPHS_SEED", 1) + f);
    auto text = forest_failure(workshop, seed, account);
    EXPECT_EQ(text, "") << "forest " << seed;
    failures += !text.empty();
    if (std::getenv("TESSERA_GRAPHS")) std::cout << "forest " << seed << std::endl;  // a long run says where it is
  }
  std::string never;
  for (auto* op : ops::table())
    if (!account.drawn.contains(op) && !account.ran.contains(op)) never += fmt::format(" {}", op->type);
  std::cout << fmt::format("{} graphs, {} nodes, {} operators drawn, {} ran; never:{}\n", account.graphs, account.nodes,
                           account.drawn.size(), account.ran.size(), never);
}

INSTANTIATE_TEST_SUITE_P(Shard, Graphs, testing::Range(0, 4));

}  // namespace
}  // namespace tessera::test
