// What passes between L3 and L2 where everything lives in L3: an operator fetches each of its tensors once.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "report/traffic.hpp"
#include "run/pipeline.hpp"

namespace tessera::run {
namespace {

// The largest part of a tensor that an operator fetches from L3, all of it and once being 1.
double most_fetched(const std::string& model, const plan::Options& options, const char* chip = "siracusa") {
  CompileOptions compile{.mode = Mode::Train};
  compile.plan = options;
  compile.target = chip;
  auto compiled = compile_model({.model = model}, compile);
  EXPECT_TRUE(compiled) << compiled.error().text();
  if (!compiled) return 0;
  auto& graph = compiled->program.graph;
  double most = 0;
  for (auto& moved : report::operand_traffic(compiled->schedule)) {
    if (compiled->target.engines[static_cast<size_t>(moved.engine)].far != "L3") continue;
    auto& tensor = graph.at(moved.tensor);
    const auto share = static_cast<double>(moved.in_bytes) / static_cast<double>(tensor.type.bytes().count);
    if (share > most + 0.005)
      fmt::print("{}: {} fetches {:.2f} of '{}' {}\n", model, graph.at(moved.node).name, share, tensor.name,
                 to_string(tensor.type));
    most = std::max(most, share);
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

// Outer tiles take turns along rows that windows reach over: what two of them share comes with the first.
class Halos : public testing::TestWithParam<std::tuple<const char*, const char*, int>> {};

TEST_P(Halos, ComeOnce) {
  const auto [model, chip, kilobytes] = GetParam();
  const plan::Options options{.home = plan::Home::L3, .l1 = Bytes(65536), .l2 = Bytes(1024 * kilobytes)};
  EXPECT_LE(most_fetched(model, options, chip), 1.0);
}

// Where tiles of L1 keep what they share, a sweep over a tensor brings each of its elements once; but where tiles are
// narrower than the tensor as well, some columns come again with the next sweep.
class NearHalos : public testing::TestWithParam<std::tuple<const char*, const char*, plan::Home>> {};

TEST_P(NearHalos, ComeOnceWhereTheyAreKept) {
  CompileOptions compile{.mode = Mode::Train};
  compile.plan = {.home = std::get<2>(GetParam()), .l1 = Bytes(65536)};
  compile.target = std::get<1>(GetParam());
  auto compiled = compile_model({.model = std::get<0>(GetParam())}, compile);
  ASSERT_TRUE(compiled) << compiled.error().text();
  const int64_t share_of_columns = std::get<0>(GetParam()) == std::string("mobilenetv1") ? 6 : 0;  // of 96, in percent
  int kept = 0;
  for (auto& moved : report::operand_traffic(compiled->schedule)) {
    auto& node = compiled->program.graph.at(moved.node);
    auto& inputs = compiled->plan.nodes[static_cast<size_t>(moved.node.index)].inputs;
    const auto i = static_cast<size_t>(std::ranges::find(node.inputs, moved.tensor) - node.inputs.begin());
    if (compiled->target.engines[static_cast<size_t>(moved.engine)].near != "L1" || i == inputs.size()) continue;
    if (inputs[i].hops.empty() || !inputs[i].hops.back().keeps) continue;
    ++kept;
    auto& tensor = compiled->program.graph.at(moved.tensor);
    EXPECT_LE(moved.in_bytes % tensor.type.bytes().count, share_of_columns * tensor.type.bytes().count / 100)
        << node.name << " fetches " << moved.in_bytes << " of '" << tensor.name << "' " << to_string(tensor.type);
  }
  EXPECT_GE(kept, 1);
}

INSTANTIATE_TEST_SUITE_P(Zoo, NearHalos,
                         testing::Combine(testing::Values("resnet8", "mobilenetv1", "cct"),
                                          testing::Values("siracusa", "gap9"),
                                          testing::Values(plan::Home::Auto, plan::Home::L3)));

INSTANTIATE_TEST_SUITE_P(InASmallL2, Halos,
                         testing::Combine(testing::Values("resnet8", "mobilenetv1"),
                                          testing::Values("siracusa", "gap9"), testing::Values(48, 64)));

INSTANTIATE_TEST_SUITE_P(Zoo, Traffic, testing::Values("resnet8", "mobilenetv1", "cct", "cct_lora"));

}  // namespace
}  // namespace tessera::run
