// Correct packings are broken on purpose, one rule at a time.
#include "plan/allocation/validate.hpp"

#include <gtest/gtest.h>

#include "instances.hpp"
#include "plan/allocation/allocate.hpp"

namespace tessera::allocation {
namespace {

Problem two(Buffer a, Buffer b) {
  a.id = "a", b.id = "b";
  return {.buffers = {a, b}};
}

void expect_complaint(const Problem& problem, std::vector<Bytes> offsets, const std::string& words) {
  Solution solution{.offsets = std::move(offsets)};
  for (size_t b = 0; b < problem.buffers.size(); ++b)
    solution.height = std::max(solution.height, solution.offsets[b] + problem.buffers[b].size);
  const auto verdict = validate(problem, solution);
  if (words.empty()) {
    EXPECT_TRUE(verdict) << verdict.error().text();
    return;
  }
  ASSERT_FALSE(verdict) << words;
  EXPECT_NE(verdict.error().message().find(words), std::string::npos) << verdict.error().message();
  EXPECT_EQ(verdict.error().exit_code(), 1);
}

TEST(Validator, SeesOverlapToTheByteAndTheMoment) {
  const Problem together = two({.lower = 0, .upper = 5, .size = 4_B}, {.lower = 4, .upper = 9, .size = 4_B});
  expect_complaint(together, {0_B, 4_B}, "");
  expect_complaint(together, {0_B, 3_B},
                   "buffers a (bytes [0, 4), times [0, 5)) and b (bytes [3, 7), times [4, 9)) overlap");
  expect_complaint(together, {3_B, 0_B}, "overlap");
  expect_complaint(together, {0_B, 0_B}, "overlap");
  const Problem in_turn = two({.lower = 0, .upper = 4, .size = 4_B}, {.lower = 4, .upper = 9, .size = 4_B});
  expect_complaint(in_turn, {0_B, 0_B}, "");
}

TEST(Validator, SeesABufferInsideAnother) {
  const Problem nested = two({.lower = 0, .upper = 9, .size = 100_B}, {.lower = 3, .upper = 4, .size = 2_B});
  expect_complaint(nested, {0_B, 50_B}, "overlap");
  expect_complaint(nested, {0_B, 100_B}, "");
}

TEST(Validator, SeesAlignmentAndFixedOffsets) {
  const Problem aligned =
      two({.lower = 0, .upper = 1, .size = 4_B, .alignment = 8}, {.lower = 2, .upper = 3, .size = 1_B});
  expect_complaint(aligned, {4_B, 0_B}, "not a multiple of its alignment 8");
  expect_complaint(aligned, {Bytes(-8), 0_B}, "negative offset");
  const Problem fixed =
      two({.lower = 0, .upper = 1, .size = 4_B, .offset = 16_B}, {.lower = 2, .upper = 3, .size = 1_B});
  expect_complaint(fixed, {8_B, 0_B}, "buffer a is fixed at 16 but stands at 8");
}

TEST(Validator, SeesRelations) {
  Problem shared = two({.lower = 0, .upper = 5, .size = 4_B}, {.lower = 4, .upper = 9, .size = 2_B});
  shared.share = {{0, 1}};
  expect_complaint(shared, {0_B, 0_B}, "");
  expect_complaint(shared, {0_B, 4_B}, "must share an offset");
  Problem apart = two({.lower = 0, .upper = 1, .size = 4_B}, {.lower = 5, .upper = 6, .size = 4_B});
  apart.apart = {{0, 1}};
  expect_complaint(apart, {0_B, 3_B}, "must stay apart");
  expect_complaint(apart, {0_B, 4_B}, "");
}

TEST(Validator, KnowsGapsAndWindows) {
  Buffer holey{.lower = 0, .upper = 9, .size = 8_B, .gaps = {{.lower = 3, .upper = 6}}};
  expect_complaint(two(holey, {.lower = 3, .upper = 6, .size = 8_B}), {0_B, 0_B}, "");
  expect_complaint(two(holey, {.lower = 3, .upper = 7, .size = 8_B}), {0_B, 0_B}, "overlap");
  holey.gaps[0].window_upper = 2_B;
  expect_complaint(two(holey, {.lower = 3, .upper = 6, .size = 6_B}), {0_B, 2_B}, "");
  expect_complaint(two(holey, {.lower = 3, .upper = 6, .size = 6_B}), {0_B, 1_B}, "overlap");
}

TEST(Validator, SeesAThirdBufferUnderASharedPair) {
  Problem problem{.buffers = {{"a", 0, 9, 10_B}, {"b", 2, 3, 2_B}, {"c", 4, 5, 3_B}}, .share = {{0, 1}}};
  expect_complaint(problem, {0_B, 0_B, 5_B}, "overlap");
  expect_complaint(problem, {0_B, 0_B, 10_B}, "");
}

TEST(Validator, SeesFalseClaims) {
  const Problem problem = two({.lower = 0, .upper = 1, .size = 4_B}, {.lower = 0, .upper = 1, .size = 4_B});
  Solution solution{.offsets = {0_B, 4_B}, .height = 8_B, .lower_bound = 8_B};
  EXPECT_TRUE(validate(problem, solution));
  solution.height = 7_B;
  EXPECT_FALSE(validate(problem, solution));
  solution.height = 8_B, solution.lower_bound = 9_B;
  EXPECT_FALSE(validate(problem, solution));
  solution.offsets.pop_back();
  EXPECT_FALSE(validate(problem, solution));
}

// In a perfect packing every move of a buffer is a collision or higher than claimed.
TEST(Validator, SeesEveryMoveInAPerfectPacking) {
  const Problem problem = test::perfect_packing(40, 65536, 1);
  const Solution good = allocate(problem, {.minimize = true, .steps = 100'000}).value();
  ASSERT_EQ(good.height, 65536_B);
  for (size_t b = 0; b < problem.buffers.size(); ++b)
    for (Bytes move : {Bytes(-1024), Bytes(1024), Bytes(1)}) {
      Solution bad = good;
      bad.offsets[b] += move;
      EXPECT_FALSE(validate(problem, bad)) << b << " by " << move.count;
    }
}

}  // namespace
}  // namespace tessera::allocation
