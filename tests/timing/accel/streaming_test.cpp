// What streaming a layer's weights costs, against what the link and the machine need alone:
//   compute: the time of a layer with everything resident, machine and DDR;
//   link:    what crosses for a layer, at the link's rate.
#include <gtest/gtest.h>

#include "support/layer_times.hpp"

namespace tessera::accel {
namespace {

using enum MemoryModelKind;
using test::Times;

struct Where {
  const char* board;
  const char* model;
  int64_t past, tokens;  // past 0: a prompt
};
void PrintTo(const Where& w, std::ostream* out) {
  *out << w.board << " " << w.model << " " << w.tokens << " after " << w.past;
}

target::Board board_named(const char* name) {
  return target::load_board(name, std::string(TESSERA_ROOT) + "/targets").value();
}

class Streaming : public testing::TestWithParam<Where> {
 protected:
  // Half the width of the presets and the same proportions.
  static Model small(const char* name) {
    auto m = find_model(name).value();
    m.hidden /= 2, m.intermediate /= 2, m.heads = m.group(), m.kv_heads = 1;
    return m;
  }
  static DecoderOptions options(int64_t layers = 0) {
    return {.layers = layers, .past = GetParam().past, .tokens = GetParam().tokens};
  }
  Times run(MemoryModelKind kind, int64_t link, int64_t layers) {
    return test::run_layers(board(), small(GetParam().model), {.kind = kind, .link = link}, options(layers));
  }
  Times layer(MemoryModelKind kind, int64_t link, bool overlap = true) {
    return test::layer_times(board(), small(GetParam().model), {kind, link, overlap}, options());
  }
  static target::Board board() { return board_named(GetParam().board); }
};

constexpr int64_t kLinks[] = {4'750'000,     100'000'000,   300'000'000,   500'000'000,   750'000'000,
                              850'000'000,   1'000'000'000, 1'200'000'000, 1'500'000'000, 2'000'000'000,
                              3'000'000'000, 6'000'000'000, 20'000'000'000};

TEST_P(Streaming, WithPrefetchTheLongerOfLinkAndComputeDecides) {
  const auto compute = layer(Resident, kLinks[0]).total;
  for (auto rate : kLinks) {
    const auto t = layer(WeightStream, rate);
    const double longer = std::max(t.link, compute), shorter = std::min(t.link, compute);
    EXPECT_LE(t.total, longer * (longer >= 2 * shorter ? 1.05 : 1.15)) << rate << ": " << t.link << ", " << compute;
    EXPECT_GE(t.total, longer * 0.998) << rate << ": " << t.link << ", " << compute;
  }
}

// Each transfer waits for the link's latency, which the link is charged with.
TEST_P(Streaming, WithoutOverlapLinkAndComputeAddUp) {
  const double latency = board().link ? static_cast<double>(board().link->latency_ns) * 1e-9 : 1e-6;
  const auto alone = layer(Resident, kLinks[0], false);
  for (const int64_t rate : {4'750'000L, 100'000'000L, 1'500'000'000L, 6'000'000'000L}) {
    const auto t = layer(WeightStream, rate, false);
    EXPECT_NEAR(t.total / (t.link_in_use + t.compute), 1, 0.01) << rate;
    EXPECT_GE(t.compute, alone.busy) << rate;
    EXPECT_LE(t.compute, 1.01 * alone.total) << rate;
    EXPECT_GT(t.link_in_use, t.link) << rate;
    EXPECT_LE(t.link_in_use, 1.001 * (t.link + latency * t.transfers)) << rate;
  }
}

TEST_P(Streaming, WarmRegimesAreMonotone) {
  for (int64_t layers : {1, 3})
    for (const int64_t rate : {4'750'000L, 500'000'000L, 1'000'000'000L, 1'500'000'000L, 6'000'000'000L}) {
      const auto resident = run(Resident, rate, layers), swap = run(KvSwap, rate, layers),
                 stream = run(WeightStream, rate, layers);
      EXPECT_LE(resident.total, swap.total) << rate;
      EXPECT_LE(swap.total, stream.total) << rate;
      if (GetParam().past) {
        EXPECT_EQ(resident.total, swap.total) << "all of it stays";
      }
    }
}

// Whole layers over a long context, where the DDR is nearly full with reads: what comes ahead waits in SRAM, and is
// written into the ring when the machine leaves the DDR alone.
TEST(FullSize, ALongContextLeavesTheDdrNoRoomForTheRing) {
  struct Cell {
    const char* model;
    int64_t past;
    double ratio;  // link / compute
  };
  const auto board = board_named("custom_a7");
  for (const auto& c : {Cell{"SmolLM2-135M", 8192, 0.8}, Cell{"SmolLM2-135M", 8192, 0.9},
                        Cell{"SmolLM2-135M", 8192, 1.0}, Cell{"clm-60m", 4096, 0.9}, Cell{"clm-60m", 4096, 1.0}}) {
    const auto model = find_model(c.model).value();
    const DecoderOptions options{.past = c.past, .tokens = 1};
    const auto compute = test::layer_times(board, model, {.kind = Resident}, options).total;
    const double bytes = 1.125 * static_cast<double>(model.layer_parameters());
    const auto rate = static_cast<int64_t>(bytes / (c.ratio * compute));
    const auto t = test::layer_times(board, model, {.kind = WeightStream, .link = rate}, options);
    EXPECT_NEAR(t.link / compute, c.ratio, 0.03) << c.model;
    EXPECT_LE(t.total, 1.15 * std::max(t.link, compute)) << c.model << " at " << rate;
    EXPECT_GE(t.total, 0.998 * std::max(t.link, compute)) << c.model << " at " << rate;
  }
}

// 125 microseconds from end to end, and a link about as fast as the DDR: the next lines are on their way long before
// they are read, each with its scales.
TEST(FullSize, ALatencyOfManyTilesIsCovered) {
  const auto board = board_named("nexys_video");
  const auto model = find_model("clm-60m").value();
  const DecoderOptions options{.past = 1024, .tokens = 1};
  const auto compute = test::layer_times(board, model, {.kind = Resident}, options).total;
  const double bytes = 1.125 * static_cast<double>(model.layer_parameters());
  for (double ratio : {0.4, 0.9, 1.0, 1.1, 1.3}) {
    const auto rate = static_cast<int64_t>(bytes / (ratio * compute));
    const auto t = test::layer_times(board, model, {.kind = WeightStream, .link = rate}, options);
    EXPECT_LE(t.total, 1.03 * std::max(t.link, compute)) << ratio;
  }
}

std::vector<Where> everywhere() {
  std::vector<Where> all;
  for (auto* board : {"nexys_video", "custom_a7", "v80"})
    for (auto* model : {"clm-60m", "SmolLM2-135M"}) {
      for (int64_t past : {64, 512, 1024}) all.push_back({board, model, past, 1});
      all.push_back({board, model, 0, 64});
    }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Everywhere, Streaming, testing::ValuesIn(everywhere()));

}  // namespace
}  // namespace tessera::accel
