// Traffic by operand and the memory map, on a real plan.
#include <gtest/gtest.h>

#include <set>

#include "report/memory_map.hpp"
#include "report/traffic.hpp"
#include "support/compiled.hpp"

namespace tessera::report {
namespace {

using test::compile_network;

// The optimizer's first tiles come in the training's entry point, and are the optimizer's.
void expect_sum(plan::Options options) {
  auto c = compile_network({.plan = std::move(options)});
  ASSERT_TRUE(c) << c.error().text();
  const auto training = traffic(c->schedule.training, c->target), update = traffic(c->schedule.optimizer, c->target);
  const auto own = training_traffic(c->schedule, c->target);
  std::vector<int64_t> sum(own.size()), of_training = sum;
  for (auto& moved : operand_traffic(c->schedule)) {
    auto& node = c->program.graph.at(moved.node);
    sum[static_cast<size_t>(moved.engine)] += moved.in_bytes + moved.out_bytes;
    if (node.phase == Phase::Training)
      of_training[static_cast<size_t>(moved.engine)] += moved.in_bytes + moved.out_bytes;
    const auto uses = [&](const std::vector<TensorId>& ids) {
      return std::ranges::find(ids, moved.tensor) != ids.end();
    };
    EXPECT_TRUE(!moved.tensor || uses(node.inputs) || uses(node.outputs))
        << node.name << " moves " << c->program.graph.at(moved.tensor).name;
  }
  for (size_t e = 0; e < own.size(); ++e) {
    EXPECT_EQ(sum[e], training[e].bytes + update[e].bytes);
    EXPECT_EQ(of_training[e], own[e].bytes);
  }
}

TEST(OperandTraffic, AddsUpToTheTrafficOfTheSchedule) {
  expect_sum({.home = plan::Home::L3, .l1 = Bytes(32 * 1024)});
  expect_sum({.l1 = Bytes(32 * 1024)});
}

MapSubject subject(const test::CompiledNetwork& c) {
  return {"simplemlp <&>", c.program.graph, c.plan, c.schedule, c.target};
}

TEST(MemoryMap, HoldsEveryBlockInsideItsArenaAndNoTwoAtOnce) {
  auto c = compile_network({.plan = {.l1 = Bytes(64 * 1024)}});
  ASSERT_TRUE(c) << c.error().text();
  const auto blocks = map_blocks(subject(*c));
  for (size_t i = 0; i < blocks.size(); ++i) {
    auto& a = blocks[i];
    auto arena = std::ranges::find(c->plan.arenas, a.level, &plan::Arena::level);
    ASSERT_NE(arena, c->plan.arenas.end());
    EXPECT_LE((a.offset + a.size).count, arena->size.count) << a.what;
    for (size_t j = 0; j < i; ++j) {
      auto& b = blocks[j];
      const bool together = a.level == b.level && a.life.first <= b.life.last && b.life.first <= a.life.last;
      const bool apart = a.offset + a.size <= b.offset || b.offset + b.size <= a.offset;
      const bool in_place = a.slots && b.slots;  // slots of neighbours may share what neither uses at once
      EXPECT_TRUE(!together || apart || in_place) << a.what << "\n" << b.what;
    }
  }
  for (auto& arena : c->plan.arenas) EXPECT_LE(peak_of(blocks, arena.level).live.count, arena.size.count + 0);
}

TEST(MemoryMap, DrawsEveryBlockWithATooltipAndMarksThePeak) {
  auto c = compile_network({});
  ASSERT_TRUE(c) << c.error().text();
  const auto svg = memory_map(subject(*c));
  std::set<int> levels;
  size_t drawn = 0;
  for (auto& block : map_blocks(subject(*c))) {
    if (block.size.count == 0) continue;
    ++drawn;
    levels.insert(block.level);
    EXPECT_NE(svg.find(block.name), std::string::npos) << block.name;
  }
  size_t titles = 0;
  for (size_t at = 0; (at = svg.find("<rect x=", at)) != std::string::npos; ++at) ++titles;
  EXPECT_EQ(titles, drawn);
  size_t peaks = 0;
  for (size_t at = 0; (at = svg.find("font-size=\"15\" fill=\"#c00\"", at)) != std::string::npos; ++at) ++peaks;
  EXPECT_EQ(peaks, levels.size());
  EXPECT_NE(svg.find("simplemlp &lt;&amp;&gt;"), std::string::npos);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

}  // namespace
}  // namespace tessera::report
