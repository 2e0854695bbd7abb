// Tiles of three ranks from the external RAM: NCHW to NHWC where everything lives in L3 and L1 is small. Right, under
// way while the cluster works, and never with a request that is still in use.
#include <gtest/gtest.h>

#include "base/file.hpp"
#include "check/check.hpp"
#include "run/chip.hpp"
#include "run/host.hpp"
#include "support/compiled.hpp"
#include "support/onnx_text.hpp"

namespace tessera::run {
namespace {

using test::TemporaryDirectory;

struct Sizes {
  int64_t l1, l2;
};
std::vector<Sizes> small_memories() {
  std::vector<Sizes> all;
  for (int64_t l1 : {512, 600, 800, 1024, 1536, 2048, 3072, 4096})
    for (int64_t l2 : {1024, 1536, 2048, 2560, 3072, 4096, 5120, 6144, 8192, 12288}) all.push_back({l1, l2});
  return all;
}

Result<Compiled> transpose(const TemporaryDirectory& place, const std::string& target, const plan::Options& options) {
  using test::value_info;
  const auto path = place.path / "transpose.onnx";
  const auto bytes = test::model_bytes(
      R"(node {op_type: "Transpose" name: "to_nhwc" input: "x" output: "y"
               attribute {name: "perm" type: INTS ints: 0 ints: 2 ints: 3 ints: 1}})" +
      value_info("input", "x", {"8", "3", "12", "12"}) + value_info("output", "y", {"8", "12", "12", "3"}));
  CHECK_OK(write_file(path, bytes));
  return compile_model({.model = path.string()}, {.mode = Mode::Infer, .target = target, .plan = options});
}

emit::HarnessOptions two_runs(const Compiled& c) {
  return {.steps = 2, .data = train::synthetic_samples(c.program, 16, 1)};
}

// The project with every occurrence of a piece of its C replaced, on the chip.
Result<RunResult> on_chip(const Compiled& c, const std::string& from = "", const std::string& to = "") {
  auto copy = c;
  TRY(auto project, make_project(copy, two_runs(c)));
  bool edited = from.empty();
  for (auto& file : project.files)
    for (size_t at = 0; !from.empty() && file.path == "chip/transfers.h";) {
      at = file.bytes.find(from, at);
      if (at == std::string::npos) break;
      file.bytes.replace(at, from.size(), to);
      at += to.size(), edited = true;
    }
  if (!edited) return internal_error("nothing to edit: {}", from);
  TemporaryDirectory place;
  CHECK_OK(emit::write_project(project, place.path / "p"));
  return run_chip(place.path / "p", c, {.sanitize = true});
}

// Several samples, all channels and a part of each image: no two of these are one stretch of x.
bool has_rank_three(const Compiled& c) {
  auto& nest = c.plan.nodes[0].nest;
  return nest.size() == 2 && nest[0].tile[0] > 1 && nest[0].tile[1] < 144 && nest[0].tile[2] > 1;
}

class Transposed : public testing::TestWithParam<const char*> {};

TEST_P(Transposed, TilesOfThreeRanksFromL3) {
  TemporaryDirectory place;
  auto untiled = transpose(place, GetParam(), {.tiling = false});
  ASSERT_TRUE(untiled) << untiled.error().text();
  auto project = make_project(*untiled, two_runs(*untiled));
  ASSERT_TRUE(emit::write_project(*project, place.path / "host"));
  auto host = run_host(place.path / "host", {});
  ASSERT_TRUE(host) << host.error().text();
  int of_rank_three = 0, overlapping = 0;
  for (auto [l1, l2] : small_memories()) {
    if (overlapping == 2) break;
    auto c = transpose(place, GetParam(), {.home = plan::Home::L3, .l1 = Bytes(l1), .l2 = Bytes(l2)});
    ASSERT_TRUE(c) << c.error().text();
    if (!has_rank_three(*c)) continue;
    auto chip = on_chip(*c);
    ASSERT_TRUE(chip) << chip.error().text();
    EXPECT_EQ(chip->bits, host->bits) << l1 << " " << l2;
    auto& node = chip->counters->nodes.at(0);
    EXPECT_GT(node.dma.l3_l2, 0u);
    ++of_rank_three;
    // Part of the time of transfers passes without anybody waiting.
    const double hidden = 1 - static_cast<double>(node.waited) / static_cast<double>(node.dma.any);
    fmt::print("l1 {} l2 {}: {:.0f} % of the DMA's time hidden\n", l1, l2, 100 * hidden);
    overlapping += hidden > 0.1;
  }
  EXPECT_GE(of_rank_three, 1);
  EXPECT_GE(overlapping, 1);
}

// With two slots of x in L1: then the next tile is on its way while this one is waited for.
Result<Compiled> double_buffered(const TemporaryDirectory& place, const std::string& target) {
  for (auto [l1, l2] : small_memories()) {
    TRY(auto c, transpose(place, target, {.home = plan::Home::L3, .l1 = Bytes(l1), .l2 = Bytes(l2)}));
    if (c.plan.nodes[0].inputs[0].hops.back().slots == 2) return c;
  }
  return internal_error("no size of L1 gives x two slots");
}

// Both engines: requests to the RAM, and commands of the cluster's DMA with their counters.
TEST_P(Transposed, ARequestThatIsUsedAgainInFlightIsFound) {
  TemporaryDirectory place;
  auto c = double_buffered(place, GetParam());
  ASSERT_TRUE(c) << c.error().text();
  for (auto* request : {"&ram[(request)]", "&dma[(request)]"}) {
    auto broken = on_chip(*c, request, std::string(request).substr(0, 5) + "0]");
    ASSERT_FALSE(broken) << request;
    EXPECT_EQ(broken.error().kind(), ErrorKind::Mismatch);
    EXPECT_NE(broken.error().text().find("used again"), std::string::npos) << broken.error().text();
  }
}

void use_one_handle(schedule::Block& block, bool far, const target::Target& target) {
  for (auto& step : block) {
    if (auto* loop = std::get_if<schedule::Loop>(&step.v)) use_one_handle(loop->body, far, target);
    if (auto* branch = std::get_if<schedule::If>(&step.v)) use_one_handle(branch->then, far, target);
    auto* transfer = std::get_if<schedule::Transfer>(&step.v);
    if (!transfer) continue;
    auto& engine = target.engines[static_cast<size_t>(transfer->engine)];
    if ((engine.far == target.memories[2].level) == far) transfer->handle = 0;
  }
}

TEST_P(Transposed, AndRefusedByTheChecker) {
  TemporaryDirectory place;
  auto c = double_buffered(place, GetParam());
  ASSERT_TRUE(c) << c.error().text();
  for (bool far : {true, false}) {
    auto broken = c->schedule;
    for (auto& section : broken.training) use_one_handle(section.body, far, c->target);
    auto verdict = check::check(c->program.graph, c->plan, broken, c->target, {.budget = c->budget});
    ASSERT_FALSE(verdict) << far;
    EXPECT_NE(verdict.error().text().find("handle"), std::string::npos) << verdict.error().text();
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, Transposed, testing::Values("siracusa", "gap9"),
                         [](auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tessera::run
