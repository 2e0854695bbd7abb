#include "plan/allocation/conflict.hpp"

#include <gtest/gtest.h>

#include "brute_force.hpp"
#include "instances.hpp"

namespace tessera::allocation {
namespace {

Problem without(const Problem& problem, const std::vector<int>& chosen, int dropped) {
  Problem rest;
  for (int b : chosen)
    if (b != dropped) rest.buffers.push_back(problem.buffers[b]);
  return rest;
}

TEST(Conflict, IsTheOverfullMoment) {
  const Problem problem{
      .buffers = {{"a", 0, 9, 4_B}, {"b", 0, 9, 4_B}, {"c", 0, 9, 4_B}, {"d", 0, 1, 1_B}, {"e", 3, 5, 2_B}}};
  const Conflict conflict = smallest_conflict(problem, 8_B).value();
  EXPECT_EQ(conflict.buffers, (std::vector{0, 1, 2}));
  EXPECT_TRUE(conflict.irreducible);
  EXPECT_TRUE(conflict.minimum);
  EXPECT_EQ(conflict.lower_bound, 12_B);
}

TEST(Conflict, IsEmptyWhereAllFits) {
  const Problem problem{.buffers = {{"a", 0, 9, 4_B}, {"b", 0, 9, 4_B}}};
  EXPECT_TRUE(smallest_conflict(problem, 8_B).value().buffers.empty());
}

// One byte below the optimum: the set does not fit, and without any one of its buffers the rest does.
TEST(Conflict, IsIrreducibleByBruteForce) {
  int beyond_sums = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const Problem problem = test::small_problem(seed, 8, {.alignment = true});
    const Bytes capacity = test::best_height(problem) - 1_B;
    const Conflict conflict = smallest_conflict(problem, capacity, {.steps = 100'000}).value();
    ASSERT_FALSE(conflict.buffers.empty()) << seed;
    EXPECT_TRUE(conflict.irreducible && conflict.minimum) << seed;
    EXPECT_GT(test::best_height(without(problem, conflict.buffers, -1)), capacity) << seed;
    for (int b : conflict.buffers)
      if (conflict.buffers.size() > 1) {
        EXPECT_LE(test::best_height(without(problem, conflict.buffers, b)), capacity) << seed;
      }
    int64_t sum = 0;
    for (int b : conflict.buffers) sum += problem.buffers[b].size.count;
    beyond_sums += sum <= capacity.count ? 1 : 0;
  }
  EXPECT_GT(beyond_sums, 0);  // some conflicts are not sums: padding makes them
}

// No subset with fewer buffers conflicts, as found by looking at all of them.
TEST(Conflict, IsMinimumByBruteForce) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const Problem problem = test::small_problem(seed, 7, {});
    const Bytes capacity = test::best_height(problem) - 1_B;
    const Conflict conflict = smallest_conflict(problem, capacity, {.steps = 100'000}).value();
    size_t fewest = problem.buffers.size();
    for (unsigned set = 1; set < 1u << problem.buffers.size(); ++set) {
      Problem part;
      for (size_t b = 0; b < problem.buffers.size(); ++b)
        if (set >> b & 1) part.buffers.push_back(problem.buffers[b]);
      if (test::best_height(part) > capacity) fewest = std::min(fewest, part.buffers.size());
    }
    EXPECT_TRUE(conflict.minimum) << seed;
    EXPECT_EQ(conflict.buffers.size(), fewest) << seed;
  }
}

}  // namespace
}  // namespace tessera::allocation
