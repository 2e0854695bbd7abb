// What tiles keep of each other goes where it belongs, from slot to slot and within one, for any number of cores.
#include <gtest/gtest.h>

#include <random>

#include "support/conv_cases.hpp"
#include "support/kernel_library.hpp"

namespace tessera::test {
namespace {

struct Arguments {
  const void* x;
  void* y;
  int32_t row, rows, lines, from_stride, to_stride;
};

// A tile of `lines` lines of so many rows, of which the last ones are the first of the next tile.
struct Tiles {
  int64_t lines, row, shared, before, after;
  static Tiles random(std::mt19937& rng) {
    Tiles t{among(rng, 1, 6), among(rng, 1, 5) * (rng() % 3 ? 4 : 1), among(rng, 1, 4), 0, 0};
    t.before = t.shared + among(rng, 0, 5);
    t.after = t.shared + among(rng, 0, 5);
    return t;
  }
  Arguments arguments(const uint8_t* from, uint8_t* to) const {
    auto number = [](int64_t n) { return static_cast<int32_t>(n); };
    return {from + (before - shared) * row,
            to,
            number(row),
            number(shared),
            number(lines),
            number(before * row),
            number(after * row)};
  }
  // What stands where, of the tile after: the others are not touched.
  void expect_kept(const std::vector<uint8_t>& old, const std::vector<uint8_t>& now) const {
    for (int64_t l = 0; l < lines; ++l)
      for (int64_t i = 0; i < shared * row; ++i)
        ASSERT_EQ(now[static_cast<size_t>(l * after * row + i)],
                  old[static_cast<size_t>((l * before + before - shared) * row + i)])
            << lines << " lines of " << shared << " rows of " << row << " bytes, " << before << " rows apart -> "
            << after << ": line " << l << ", byte " << i;
  }
  size_t bytes() const { return static_cast<size_t>(lines * row * std::max(before, after)); }
};

std::vector<uint8_t> random_bytes(std::mt19937& rng, size_t n) {
  std::vector<uint8_t> all(n);
  for (auto& byte : all) byte = static_cast<uint8_t>(rng());
  return all;
}

class Keep : public testing::TestWithParam<int> {};

TEST_P(Keep, FromSlotToSlot) {
  std::mt19937 rng(1);
  for (int round = 0; round < 300; ++round) {
    auto t = Tiles::random(rng);
    const auto from = random_bytes(rng, t.bytes());
    auto to = random_bytes(rng, t.bytes());
    const auto unknown = to;
    auto args = t.arguments(from.data(), to.data());
    fork(GetParam(), kernel("keep", "ts_keep", GetParam()), &args);
    ASSERT_NO_FATAL_FAILURE(t.expect_kept(from, to));
    for (int64_t l = 0; l < t.lines; ++l)
      for (int64_t i = l * t.after * t.row + t.shared * t.row; i < (l + 1) * t.after * t.row; ++i)
        ASSERT_EQ(to[static_cast<size_t>(i)], unknown[static_cast<size_t>(i)]) << "what comes meanwhile";
  }
}

TEST_P(Keep, WithinASlot) {
  std::mt19937 rng(2);
  for (int round = 0; round < 300; ++round) {
    auto t = Tiles::random(rng);
    auto slot = random_bytes(rng, t.bytes());
    const auto old = slot;
    auto args = t.arguments(slot.data(), slot.data());
    fork(GetParam(), kernel("keep", "ts_keep", GetParam()), &args);
    ASSERT_NO_FATAL_FAILURE(t.expect_kept(old, slot));
  }
}

struct ToPutTogether {
  const void* x;
  void *y, *came;
  int32_t row, kept, rest, lines, from_stride;
};

TEST_P(Keep, AndTheRestOfATileThatCameToTheOtherSlot) {
  std::mt19937 rng(3);
  for (int round = 0; round < 300; ++round) {
    const auto t = Tiles::random(rng);
    const auto rest = t.after - t.shared, line = t.after * t.row;
    auto tile = random_bytes(rng, t.bytes()), came = random_bytes(rng, static_cast<size_t>(t.lines * line));
    const auto old = tile, came_dense = came;
    auto number = [](int64_t n) { return static_cast<int32_t>(n); };
    ToPutTogether args{tile.data() + (t.before - t.shared) * t.row,
                       tile.data(),
                       came.data(),
                       number(t.row),
                       number(t.shared),
                       number(rest),
                       number(t.lines),
                       number(t.before * t.row)};
    fork(GetParam(), kernel("keep", "ts_put_together", GetParam()), &args);
    ASSERT_NO_FATAL_FAILURE(t.expect_kept(old, tile));
    for (int64_t l = 0; l < t.lines; ++l)
      for (int64_t i = 0; i < rest * t.row; ++i)
        ASSERT_EQ(tile[static_cast<size_t>(l * line + t.shared * t.row + i)],
                  came_dense[static_cast<size_t>(l * rest * t.row + i)])
            << "line " << l << ", byte " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Cores, Keep, testing::Values(1, 2, 3, 8));

}  // namespace
}  // namespace tessera::test
