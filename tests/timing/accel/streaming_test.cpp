// What streaming a layer's weights costs, against what the link and the machine need alone:
//   compute: the time of a layer with everything resident, machine and DDR;
//   link:    what crosses for a layer, at the link's rate.
#include <gtest/gtest.h>

#include <map>

#include "accel/board_machine.hpp"
#include "accel/memory_models.hpp"
#include "accel/run.hpp"
#include "target/target.hpp"

namespace tessera::accel {
namespace {

using enum MemoryModelKind;

struct Where {
  const char* board;
  const char* model;
  int64_t past, tokens;  // past 0: a prompt
};
void PrintTo(const Where& w, std::ostream* out) {
  *out << w.board << " " << w.model << " " << w.tokens << " after " << w.past;
}

struct Times {
  double total = 0, busy = 0, link = 0;  // seconds
  double transfers = 0;
};

class Streaming : public testing::TestWithParam<Where> {
 protected:
  // Half the width of the presets and the same proportions.
  static Model small(const char* name) {
    auto m = find_model(name).value();
    m.hidden /= 2, m.intermediate /= 2, m.heads = m.group(), m.kv_heads = 1;
    return m;
  }
  Times run(MemoryModelKind kind, int64_t link, int64_t layers, bool overlap = true) {
    const auto& w = GetParam();
    const auto board = target::load_board(w.board, std::string(TESSERA_ROOT) + "/targets").value();
    const auto model = small(w.model);
    auto machine = machine_for(board, model, {}).value();
    machine.weights = *find_format(board.weight_type), machine.kv = *find_format(board.kv_type);
    machine.dma_overlaps = overlap;
    const DecoderOptions options{
        .layers = layers, .past = w.past, .tokens = w.tokens, .context = w.past + w.tokens, .head = false};
    const auto program = compile_decoder(model, machine, options).value();
    MemoryOptions memory{.kind = kind, .board = board, .regions = program.regions(), .host_bandwidth = link};
    memory.prefetch = overlap;
    auto model_of_memory = make_memory_model(memory).value();
    const auto r = run_program(program, *model_of_memory, {.host = false}).value();
    return {static_cast<double>(r.total.count) * 1e-12,
            static_cast<double>(program.machine.time_of(r.busy_cycles).count) * 1e-12,
            static_cast<double>(r.memory.link_bytes) / static_cast<double>(link),
            static_cast<double>(r.classes.at("memory"))};
  }
  // Of a layer in the middle.
  Times layer(MemoryModelKind kind, int64_t link, bool overlap = true) {
    const auto two = run(kind, link, 2, overlap), four = run(kind, link, 4, overlap);
    return {(four.total - two.total) / 2, (four.busy - two.busy) / 2, (four.link - two.link) / 2,
            (four.transfers - two.transfers) / 2};
  }
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

// The DDR's own time hides behind the link's, or the link's behind it; each transfer waits for the link's latency.
TEST_P(Streaming, WithoutOverlapLinkAndComputeAddUp) {
  const double latency = 1e-6;
  const auto alone = layer(Resident, kLinks[0], false);
  for (const int64_t rate : {4'750'000L, 100'000'000L, 1'500'000'000L, 6'000'000'000L}) {
    const auto t = layer(WeightStream, rate, false);
    EXPECT_GE(t.total, 0.999 * (alone.busy + t.link)) << rate;
    EXPECT_LE(t.total, 1.01 * (alone.total + t.link) + latency * t.transfers) << rate;
    if (t.link > 10 * alone.total) {
      EXPECT_NEAR(t.total / (alone.total + t.link), 1, 0.05) << rate;
    }
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

std::vector<Where> everywhere() {
  std::vector<Where> all;
  for (auto* board : {"custom_a7", "v80"})
    for (auto* model : {"clm-60m", "SmolLM2-135M"}) {
      for (int64_t past : {64, 512, 1024}) all.push_back({board, model, past, 1});
      all.push_back({board, model, 0, 64});
    }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Everywhere, Streaming, testing::ValuesIn(everywhere()));

}  // namespace
}  // namespace tessera::accel
