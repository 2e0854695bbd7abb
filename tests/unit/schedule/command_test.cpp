#include "schedule/command.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tessera::schedule {
namespace {

target::DmaEngine engine(int rank, int64_t max_bytes) {
  target::DmaEngine e;
  e.max_rank = rank;
  e.max_bytes = Bytes(max_bytes);
  return e;
}

struct Region {
  ops::OperandMap map;
  ops::Box box;
};

Region random_region(std::mt19937& random) {
  auto pick = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<unsigned>(n)); };
  Region r;
  auto rank = 1 + pick(4);
  for (int64_t a = 0; a < rank; ++a) {
    // A long last axis now and then, so that lines and bytes are cut into chunks.
    auto extent = 1 + pick(a + 1 == rank && count(r.map.view) < 20 && pick(6) == 0 ? 40000 : 6);
    r.map.view.push_back(extent);
    r.map.axes.push_back(ops::AxisMap::whole(extent));
    auto len = pick(2) ? extent : 1 + pick(extent);
    r.box.len.push_back(len);
    r.box.lo.push_back(pick(extent - len + 1));
  }
  return r;
}

ops::SymbolicBox symbolic(const ops::Box& box) {
  ops::SymbolicBox out;
  for (size_t a = 0; a < box.lo.size(); ++a) {
    out.lo.push_back(box.lo[a]);
    out.len.push_back(box.len[a]);
  }
  return out;
}

// By far element, where it lands in the near memory; -1: it does not travel.
using Landing = std::vector<int64_t>;

// Walks the commands as an engine would.
void land(const Command& c, int64_t max_bytes, Landing& where, std::vector<int64_t> index = {}) {
  if (index.size() < c.loops.size()) {
    auto n = c.loops[index.size()].count.constant().value();
    EXPECT_LE(n, c.loops[index.size()].most);
    for (int64_t i = 0; i < n; ++i) {
      auto deeper = index;
      deeper.push_back(i);
      land(c, max_bytes, where, deeper);
    }
    return;
  }
  int64_t far = c.far_byte.constant().value(), near = c.near_byte.constant().value(), line = c.line.constant().value(),
          lines = c.lines.constant().value();
  for (size_t l = 0; l < index.size(); ++l) {
    far += index[l] * c.loops[l].far_step.constant().value();
    near += index[l] * c.loops[l].near_step.constant().value();
  }
  if (c.chunked >= 0) {
    auto done = index[static_cast<size_t>(c.chunked)] * c.chunk;
    (c.chunks_lines ? lines : line) = std::min(c.chunk, (c.chunks_lines ? lines : line) - done);
  }
  EXPECT_GT(line, 0);
  EXPECT_GT(lines, 0);
  EXPECT_LE(line * lines, max_bytes);
  for (int64_t l = 0; l < lines; ++l)
    for (int64_t b = 0; b < line; b += 4) {
      auto& at = where[static_cast<size_t>((far + l * c.far_stride.constant().value() + b) / 4)];
      EXPECT_EQ(at, -1) << "moved twice";
      at = (near + l * line + b) / 4;
    }
}

// The reference: element by element, dense in the near memory; where only a part of the region comes, in its place.
Landing expected(const Region& r, const ops::Box& part) {
  Landing where(static_cast<size_t>(count(r.map.view)), -1);
  auto total = count(r.box.len);
  for (int64_t e = 0; e < total; ++e) {
    int64_t rest = e, far = 0, stride = 1;
    bool comes = true;
    for (size_t a = r.map.view.size(); a-- > 0;) {
      auto at = r.box.lo[a] + rest % r.box.len[a];
      comes = comes && at >= part.lo[a] && at < part.lo[a] + part.len[a];
      far += at * stride;
      rest /= r.box.len[a];
      stride *= r.map.view[a];
    }
    if (comes) where[static_cast<size_t>(far)] = e;
  }
  return where;
}

TEST(Command, EveryByteOfARegionLandsWhereItBelongs) {
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    auto r = random_region(random);
    auto rank = 1 + static_cast<int>(random() % 2);
    auto c = command_for(Container::whole(r.map), symbolic(r.box), r.box.len, 4, engine(rank, 131064));
    Landing where(static_cast<size_t>(count(r.map.view)), -1);
    land(c, 131064, where);
    ASSERT_EQ(where, expected(r, r.box)) << "round " << round << " view " << to_string(r.map.view) << " lo "
                                         << to_string(r.box.lo) << " len " << to_string(r.box.len);
  }
}

// A box cut in two along an axis.
std::array<ops::Box, 2> cut(const ops::Box& box, size_t axis, std::mt19937& random) {
  auto first = box, second = box;
  first.len[axis] = static_cast<int64_t>(random() % static_cast<unsigned>(box.len[axis] + 1));
  second.lo[axis] += first.len[axis];
  second.len[axis] -= first.len[axis];
  return {first, second};
}

TEST(Command, ThePartsOfARegionMakeItWhole) {
  std::mt19937 random(8);
  for (int round = 0; round < 800; ++round) {
    auto r = random_region(random);
    std::vector<size_t> axes{random() % r.box.lo.size()};
    std::vector<ops::Box> parts;
    for (auto& part : cut(r.box, axes[0], random)) parts.push_back(part);
    if (round % 2) {  // and one of them along another axis
      axes.push_back(random() % r.box.lo.size());
      const auto last = parts.back();
      parts.pop_back();
      for (auto& part : cut(last, axes[1], random)) parts.push_back(part);
    }
    Landing where(static_cast<size_t>(count(r.map.view)), -1);
    for (auto& part : parts) {
      if (count(part.len) == 0) continue;
      auto c = command_for(Container::whole(r.map), symbolic(part), part.len, 4, engine(1 + round / 2 % 2, 131064),
                           PartOf{symbolic(r.box), axes});
      Landing alone(where.size(), -1);
      land(c, 131064, alone);
      ASSERT_EQ(alone, expected(r, part)) << "round " << round;
      land(c, 131064, where);
    }
    ASSERT_EQ(where, expected(r, r.box)) << "round " << round;
  }
}

TEST(Command, LinesOfAMatrixAreOneCommand) {
  ops::OperandMap map{true, {128, 784}, {ops::AxisMap::whole(128), ops::AxisMap::whole(784)}};
  auto c = command_for(Container::whole(map), {{64, 0}, {64, 392}}, {64, 392}, 4, engine(2, 131064));
  EXPECT_TRUE(c.loops.empty());
  EXPECT_EQ(c.line.constant(), 1568);
  EXPECT_EQ(c.lines.constant(), 64);
  EXPECT_EQ(c.far_stride.constant(), 3136);
  EXPECT_EQ(c.far_byte.constant(), 64 * 3136);
}

TEST(Command, WholeRowsMergeIntoOneLine) {
  ops::OperandMap map{true, {8, 16}, {ops::AxisMap::whole(8), ops::AxisMap::whole(16)}};
  auto c = command_for(Container::whole(map), {{2, 0}, {4, 16}}, {4, 16}, 4, engine(2, 131064));
  EXPECT_EQ(c.line.constant(), 256);
  EXPECT_EQ(c.lines.constant(), 1);
}

// The first tile is fetched before the loop, with its numbers, and waited for inside, by formulas.
TEST(Command, ATransferHasAsManyPiecesHoweverMuchIsKnownOfItsTile) {
  ops::OperandMap map{true, {4, 5, 6}, {}};
  auto from = Container::whole(map);
  from.spanned = {false, false, false};
  ops::SymbolicBox known{{0, 0, 0}, {4, 5, 6}};
  ops::SymbolicBox formulas{{0, 0, 0}, {min(Expr::var(0), 4), min(Expr::var(0), 5), min(Expr::var(0), 6)}};
  auto a = command_for(from, known, {4, 5, 6}, 4, engine(2, 131064));
  auto b = command_for(from, formulas, {4, 5, 6}, 4, engine(2, 131064));
  EXPECT_EQ(a.loops.size(), b.loops.size());
  EXPECT_EQ(a.pieces().constant(), 4);
  EXPECT_EQ(b.pieces().eval(std::vector<int64_t>{6}), 4);
}

}  // namespace
}  // namespace tessera::schedule
