// What passes between L3 and L2 where everything lives in L3: an operator fetches each of its tensors once.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "plan/travel.hpp"
#include "run/pipeline.hpp"

namespace tessera::run {
namespace {

// Bytes that a node fetches of an operand from L3, as a part of the tensor.
double share_fetched(const ops::TileMap& map, const plan::NodePlan& node, size_t input) {
  auto& operand = map.inputs[input];
  auto loops = plan::make_loops(map, node.nest);
  auto every = plan::period(operand, loops, 0);
  int64_t moved = 0, all = 1;
  for (int64_t step = 0; step < loops.total(); step += every) {
    int64_t volume = 1;
    for (auto len : ops::region(operand, plan::tile_at(map, loops, step, 0)).len) volume *= len;
    moved += volume;
  }
  for (auto extent : operand.view) all *= extent;
  return static_cast<double>(moved) / static_cast<double>(all);
}

// The largest such part over all operators.
double most_fetched(const std::string& model, const plan::Options& options) {
  CompileOptions compile{.mode = Mode::Train};
  compile.plan = options;
  auto compiled = compile_model({.model = model}, compile);
  EXPECT_TRUE(compiled) << compiled.error().text();
  if (!compiled) return 0;
  auto& graph = compiled->program.graph;
  double most = 0;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    auto& node = compiled->plan.nodes[n];
    ops::NodeContext context{graph, graph.nodes()[n]};
    auto op = ops::definition(graph, context.node);
    if (!op || ops::is_view(**op) || node.nest.empty()) continue;
    auto map = (*op)->tile_map(context);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i].hops.empty() || node.inputs[i].hops[0].from != 2) continue;
      auto share = share_fetched(*map, node, i);
      if (share > most + 0.005)
        fmt::print("{}: {} ({}) fetches {:.2f} of '{}' {}\n", model, context.node.name, context.node.op.type, share,
                   graph.at(context.node.inputs[i]).name, to_string(graph.at(context.node.inputs[i]).type));
      most = std::max(most, share);
    }
  }
  return most;
}

class Traffic : public testing::TestWithParam<std::string> {};

TEST_P(Traffic, EachTensorComesFromL3OnceWithTheL2OfTheChip) {
  EXPECT_LE(most_fetched(GetParam(), {.home = plan::Home::L3, .l1 = Bytes(65536)}), 1.0);
}

TEST_P(Traffic, AndLittleMoreThanOnceWithASmallL2) {
  EXPECT_LE(most_fetched(GetParam(), {.home = plan::Home::L3, .l1 = Bytes(65536), .l2 = Bytes(262144)}),
            GetParam().starts_with("cct") ? 2.0 : 1.3);
}

INSTANTIATE_TEST_SUITE_P(Zoo, Traffic, testing::Values("resnet8", "mobilenetv1", "cct", "cct_lora"));

}  // namespace
}  // namespace tessera::run
