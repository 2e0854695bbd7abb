// Every operator of the table that has a gradient, its own or that of its parts: 24 random nodes of it, whose gradients
// agree with central differences of the double-precision reference, and whose kernels, forward and backward, give the
// same bits whole on one core and in random tiles on eight. An operator that is added is found here by itself, and
// fails where the recipes of random graphs find no nodes of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "simplify/simplify.hpp"
#include "support/graph_run.hpp"
#include "support/maker.hpp"
#include "train/backward.hpp"

namespace tessera::test {
namespace {

constexpr int cases = 24, fewest_shapes = 20;
constexpr double tolerance = 1e-4;

// What it makes is known at compile time: there is nothing to learn before it.
constexpr std::string_view without_operands = "ConstantOfShape";

bool is_differentiable(const ops::Operator& op) {
  return op.gradient || (op.expand && !op.tile_map && op.type != without_operands);
}

using Values = std::vector<ops::Array>;

// A node, the weighted sum of what it makes, and the gradients of that sum.
struct Differentiated {
  Graph forward;  // the node as it was drawn
  std::vector<TensorId> outputs;
  std::vector<std::vector<float>> weights;  // by output
  Graph graph;                              // written out, with the backward pass
  std::map<TensorId, TensorId> gradients;
  std::vector<TensorId> learned;
};

Result<Differentiated> differentiated(const Forest& forest, std::mt19937& rng) {
  Differentiated made{forest.graph, forest.smooth, {}, forest.graph, {}, forest.learned};
  made.forward.inputs = made.graph.inputs = forest.learned;
  auto& graph = made.graph;
  CHECK_OK(simplify::simplify(graph, simplify::Compositions::WithoutGradient));
  ops::Builder build(graph);
  TensorId objective;
  for (auto y : made.outputs) {
    auto& shape = build.type(y).shape;
    std::vector<float> w(static_cast<size_t>(count(shape)));
    for (auto& e : w) e = std::uniform_real_distribution<float>(-1, 1)(rng);
    auto weights = build.constant(TensorData::f32(shape, w), build.name(y) + ".w");
    auto sum = build.node({"", "ReduceSum"}, {build.node({"", "Mul"}, {y, weights}, {}, build.name(y) + ".weighted")},
                          {{"keepdims", int64_t{0}}}, build.name(y) + ".sum");
    objective = objective ? build.node({"", "Add"}, {objective, sum}, {}, "objective") : sum;
    made.weights.push_back(std::move(w));
  }
  CHECK_OK(build.status());
  CHECK_OK(train::add_backward(graph, objective, forest.learned, [&](TensorId t, TensorId gradient) -> Result<void> {
    made.gradients[t] = gradient;
    return {};
  }));
  CHECK_OK(simplify::simplify(graph));
  CHECK_OK(verify(graph));
  return made;
}

Result<double> objective(const Differentiated& d, const Values& inputs) {
  TRY(auto values, ops::evaluate(d.forward, inputs));
  double sum = 0;
  for (size_t o = 0; o < d.outputs.size(); ++o) {
    auto& y = values[static_cast<size_t>(d.outputs[o].index)].v;
    for (size_t i = 0; i < y.size(); ++i) sum += static_cast<double>(d.weights[o][i]) * y[i];
  }
  return sum;
}

// At most a dozen elements of each operand.
Result<std::string> difference_failure(const Differentiated& d, std::mt19937& rng) {
  Values inputs;
  for (auto t : d.learned) inputs.push_back(ops::array_of(d.forward.at(t).value));
  TRY(auto values, ops::evaluate(d.graph, inputs));
  const double h = 1e-5;
  for (size_t p = 0; p < inputs.size(); ++p) {
    auto gradient = d.gradients.find(d.learned[p]);
    auto& x = inputs[p].v;
    for (size_t k = 0; k < std::min<size_t>(x.size(), 12); ++k) {
      auto i = x.size() <= 12 ? k : rng() % x.size();
      double at = x[i];
      x[i] = at + h;
      TRY(double above, objective(d, inputs));
      x[i] = at - h;
      TRY(double below, objective(d, inputs));
      x[i] = at;
      double slope = (above - below) / (2 * h);
      double got = gradient == d.gradients.end() ? 0 : values[static_cast<size_t>(gradient->second.index)].v[i];
      if (!(std::abs(got - slope) <= tolerance * std::max(1.0, std::abs(slope))))
        return fmt::format("operand {} element {}: the gradient is {}, the slope {}", d.forward.at(d.learned[p]).name,
                           i, got, slope);
    }
  }
  return std::string();
}

std::string bits_failure(const Differentiated& d, std::mt19937& rng) {
  auto runs = run_graph(d.graph, {}, std::array{GraphRun{}, GraphRun{.tiled = true, .cores = 8}}, rng);
  for (size_t t = 0; t < runs[0].size(); ++t)
    if (!std::ranges::equal(runs[0][t].bytes(), runs[1][t].bytes()))
      return fmt::format("'{}' has other bits in tiles on eight cores", d.graph.tensors()[t].name);
  return "";
}

std::string failure(const Forest& forest, std::mt19937& rng) {
  auto d = differentiated(forest, rng);
  if (!d) return d.error().text();
  auto text = difference_failure(*d, rng);
  if (!text) return text.error().text();
  return text->empty() ? bits_failure(*d, rng) : *text;
}

class EveryOperator : public testing::TestWithParam<const ops::Operator*> {};

TEST_P(EveryOperator, HasGradientsThatAgreeWithDifferencesAndTheSameBitsInTiles) {
  auto& op = *GetParam();
  std::mt19937 rng(7);
  std::set<std::string> shapes;
  for (uint64_t seed = 1; seed <= 20 * cases && shapes.size() < cases; ++seed) {
    Maker maker(seed);
    if (!maker.grow(op) || maker.forest.smooth.empty()) continue;
    auto& node = maker.forest.graph.nodes()[0];
    std::string drawn;
    for (auto t : node.inputs) drawn += t ? to_string(maker.forest.graph.at(t).type) + " " : "- ";
    if (!shapes.insert(drawn).second) continue;
    ASSERT_EQ(failure(maker.forest, rng), "") << "seed " << seed << "\n" << to_string(maker.forest.graph);
  }
  EXPECT_GE(shapes.size(), fewest_shapes) << "of " << op.type << " in set " << op.since;
}

std::vector<const ops::Operator*> differentiable_operators() {
  std::vector<const ops::Operator*> all;
  for (auto* op : ops::table())
    if (is_differentiable(*op)) all.push_back(op);
  return all;
}
INSTANTIATE_TEST_SUITE_P(Table, EveryOperator, testing::ValuesIn(differentiable_operators()), [](auto& info) {
  auto& op = *info.param;
  auto domain = std::string(op.domain);
  std::ranges::replace(domain, '.', '_');
  return fmt::format("{}{}{}_{}", domain, domain.empty() ? "" : "_", op.type, op.since);
});

}  // namespace
}  // namespace tessera::test
