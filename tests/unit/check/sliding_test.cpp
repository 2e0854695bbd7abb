// Windows over tensors in L3 whose outer tiles leave what they share to each other's slots: the checker finds every
// element of every tile in its place.
#include "plan/sliding.hpp"
#include "support/conv_cases.hpp"
#include "unit/check/compiled.hpp"

namespace tessera {
namespace {

using compiled::compile;

test::ConvCase tall(std::mt19937& rng) {
  auto c = test::random_conv(rng, 4, 24);
  c.x[2] = test::among(rng, 12, 60);
  return c;
}

test::OneNode convolution(std::mt19937& rng) {
  auto c = tall(rng);
  return test::one_node({"", "Conv"}, {test::f32(c.x), test::f32(c.w)}, c.attributes);
}
// Tiles shorter and narrower than the tensor, whose neighbours are to the left and above.
test::OneNode wide(std::mt19937& rng) {
  const auto k = 2 * test::among(rng, 1, 3) + 1, half = k / 2;
  const auto channels = test::among(rng, 1, 2), rows = test::among(rng, 20, 40), columns = test::among(rng, 40, 160);
  return test::one_node({"", "Conv"}, {test::f32({1, channels, rows, columns}), test::f32({2, channels, k, k})},
                        {{"pads", std::vector<int64_t>{half, half, half, half}}});
}
test::OneNode of_the_data(std::mt19937& rng) {
  return test::data_gradient(tall(rng));
}
test::OneNode of_the_weights(std::mt19937& rng) {
  auto n = test::weight_gradient(tall(rng));
  if (n.status) n.graph.outputs = {n.graph.at(n.node).outputs[1]};
  return n;
}
test::OneNode pool(std::mt19937& rng) {
  auto w = test::random_window(rng, 24);
  w.in[0] = test::among(rng, 12, 60);
  w.attributes.set("kernel_shape", w.kernel);
  w.in.insert(w.in.begin(), {test::among(rng, 1, 2), test::among(rng, 1, 4)});
  return test::one_node({"", "MaxPool"}, {test::f32(w.in)}, w.attributes);
}

struct Windows {
  const char* name;
  test::OneNode (*make)(std::mt19937&);
};
void PrintTo(const Windows& w, std::ostream* out) {
  *out << w.name;
}

class SlidingWindows : public testing::TestWithParam<Windows> {};

TEST_P(SlidingWindows, AreInTheirPlaces) {
  std::mt19937 rng(11);
  int kept = 0, tried = 0;
  for (int round = 0; round < 250; ++round) {
    auto node = GetParam().make(rng);
    if (!node.status) continue;  // random pads may leave no output at all
    auto program = train::inference_program(std::move(node.graph));
    ASSERT_TRUE(program) << program.error().text();
    plan::Options options{.home = plan::Home::L3, .advise = false};
    options.buffering = round % 2 ? plan::Buffering::Double : plan::Buffering::Auto;
    Bytes all;
    for (auto& tensor : program->graph.tensors()) all += tensor.type.bytes();
    options.l1 = Bytes(test::among(rng, 200, 400 + all.count / 2));
    options.l2 = Bytes(test::among(rng, 200, 400 + all.count));
    auto c = compile(*program, options);
    if (!c && c.error().kind() == ErrorKind::DoesNotFit) continue;
    ASSERT_TRUE(c) << c.error().text();
    ++tried;
    for (auto& node : c->plan.nodes)
      for (auto& input : node.inputs) kept += std::ranges::any_of(input.hops, &plan::Hop::keeps);
    auto verdict = c->judge();
    ASSERT_TRUE(verdict) << "round " << round << ": " << verdict.error().text();
  }
  fmt::print("{} of {} keep what their tiles share\n", kept, tried);
  EXPECT_GT(kept, 10);
}

// Whether outer tiles follow each other along another axis than the inner ones, and both keep what they share: then the
// rest of an inner tile comes from two outer slots.
bool across(const Graph& graph, const Node& node, const plan::NodePlan& plan, size_t input) {
  const auto& hops = plan.inputs[input].hops;
  if (hops.size() != 2 || !hops[0].keeps || !hops[1].keeps) return false;
  const auto map = (*ops::definition(graph, node))->tile_map(ops::NodeContext{graph, node}).value();
  const auto loops = plan::make_loops(map, plan.nest);
  const auto outer = plan::sliding(map, map.inputs[input], loops);
  return outer->axis != plan::sliding_within(map, map.inputs[input], loops)->axis;
}

// Tiles of L1 that keep what they share, whatever the memory that they come from and the slots that they pass through.
TEST_P(SlidingWindows, AreInTheirPlacesInL1) {
  std::mt19937 rng(12);
  int kept = 0, both = 0, crossed = 0, dense = 0, tried = 0;
  for (int round = 0; round < 300; ++round) {
    auto node = GetParam().make(rng);
    if (!node.status) continue;
    auto program = train::inference_program(std::move(node.graph));
    ASSERT_TRUE(program) << program.error().text();
    plan::Options options{.advise = false};
    options.home = round % 2 ? plan::Home::L3 : plan::Home::L2;
    options.buffering = std::array{plan::Buffering::Single, plan::Buffering::Double, plan::Buffering::Auto}[round % 3];
    Bytes all;
    for (auto& tensor : program->graph.tensors()) all += tensor.type.bytes();
    options.l1 = Bytes(test::among(rng, 200, 400 + all.count / 2));
    if (round % 2) options.l2 = Bytes(test::among(rng, 200, 400 + all.count));
    auto c = compile(*program, options);
    if (!c && c.error().kind() == ErrorKind::DoesNotFit) continue;
    ASSERT_TRUE(c) << c.error().text();
    ++tried;
    for (auto& node : c->graph.nodes()) {
      auto& plan = c->plan.nodes[static_cast<size_t>(&node - c->graph.nodes().data())];
      for (size_t i = 0; i < plan.inputs.size(); ++i) {
        auto& hops = plan.inputs[i].hops;
        if (hops.empty() || !hops.back().keeps) continue;
        ++kept;
        dense += hops.back().dense;
        both += hops.size() == 2 && hops[0].keeps;
        crossed += across(c->graph, node, plan, i);
      }
    }
    auto verdict = c->judge();
    ASSERT_TRUE(verdict) << "round " << round << ": " << verdict.error().text();
  }
  fmt::print(
      "{} of {} keep what tiles of L1 share, {} of them that of L2 as well, {} along another axis; {} are put "
      "together\n",
      kept, tried, both, crossed, dense);
  EXPECT_GT(kept, 20);
  EXPECT_GT(dense, 0);
  EXPECT_GT(crossed, std::string_view(GetParam().name) == "WideOnes" ? 10 : -1) << "only these are cut along columns";
}

INSTANTIATE_TEST_SUITE_P(Of, SlidingWindows,
                         testing::Values(Windows{"Convolutions", convolution}, Windows{"WideOnes", wide},
                                         Windows{"DataGradients", of_the_data},
                                         Windows{"WeightGradients", of_the_weights}, Windows{"Pools", pool}),
                         [](auto& info) { return info.param.name; });

}  // namespace
}  // namespace tessera
