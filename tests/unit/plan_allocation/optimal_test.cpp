// Small problems are solved to the optimum, as found by trying everything; and no technique changes that.
#include <gtest/gtest.h>

#include "brute_force.hpp"
#include "instances.hpp"
#include "plan/allocation/allocate.hpp"
#include "plan/allocation/validate.hpp"

namespace tessera::allocation {
namespace {

using test::best_height;
using test::Kinds;
using test::small_problem;

constexpr int64_t kEnough = 5'000'000;

void expect_optimal(const Problem& problem, Bytes best, const Techniques& use, const std::string& what) {
  Options options;
  options.minimize = true;
  options.steps = kEnough;
  options.use = use;
  auto solution = allocate(problem, options);
  ASSERT_TRUE(solution) << what << ": " << solution.error().text();
  auto valid = validate(problem, *solution);
  ASSERT_TRUE(valid) << what << ": " << valid.error().text();
  EXPECT_EQ(solution->height.count, best.count) << what;
  EXPECT_EQ(solution->lower_bound.count, best.count) << what << " (steps " << solution->steps << ")";
}

struct Family {
  const char* name;
  Kinds kinds;
};

const Family kFamilies[] = {
    {"plain", {}},
    {"aligned", {.alignment = true}},
    {"fixed", {.fixed = true}},
    {"gaps", {.gaps = true}},
    {"shared", {.share = true}},
    {"apart", {.apart = true}},
    {"everything", {.alignment = true, .fixed = true, .gaps = true, .share = true, .apart = true}},
};

TEST(Optimum, OfTwoThousandPlainProblemsOfUpToEightBuffers) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    const Problem problem = small_problem(seed, 8, {});
    expect_optimal(problem, best_height(problem), {}, "plain " + std::to_string(seed));
    if (HasFatalFailure()) return;
  }
}

TEST(Optimum, OfProblemsWithEveryKindOfConstraint) {
  int beyond_live_sum = 0;
  for (const Family& family : kFamilies)
    for (uint64_t seed = 1; seed <= 400; ++seed) {
      const Problem problem = small_problem(seed, 7, family.kinds);
      const Bytes best = best_height(problem);
      expect_optimal(problem, best, {}, family.name + std::to_string(seed));
      if (HasFatalFailure()) return;
      beyond_live_sum += best > first_fit_by_size(problem).value().lower_bound ? 1 : 0;
    }
  EXPECT_GT(beyond_live_sum, 100);  // so the proof is often one by search, not by the bound
}

struct Switch {
  const char* name;
  bool Techniques::*technique;
};

const Switch kSwitches[] = {
    {"decompose", &Techniques::decompose},     {"merge_times", &Techniques::merge_times},
    {"subset_sums", &Techniques::subset_sums}, {"local_search", &Techniques::local_search},
    {"symmetry", &Techniques::symmetry},       {"dominance", &Techniques::dominance},
    {"inference", &Techniques::inference},     {"learning", &Techniques::learning},
    {"portfolio", &Techniques::portfolio},
};

TEST(Techniques, ChangeNoAnswerWhenOneIsOff) {
  for (const Switch& one : kSwitches) {
    Techniques use;
    use.*one.technique = false;
    for (const Family& family : kFamilies)
      for (uint64_t seed = 1; seed <= 60; ++seed) {
        const Problem problem = small_problem(seed, 7, family.kinds);
        expect_optimal(problem, best_height(problem), use,
                       std::string("without ") + one.name + ", " + family.name + std::to_string(seed));
        if (HasFatalFailure()) return;
      }
  }
}

TEST(Techniques, ChangeNoAnswerWhenAllAreOff) {
  Techniques none;
  for (const Switch& one : kSwitches) none.*one.technique = false;
  for (const Family& family : kFamilies)
    for (uint64_t seed = 1; seed <= 60; ++seed) {
      const Problem problem = small_problem(seed, 6, family.kinds);
      expect_optimal(problem, best_height(problem), none,
                     std::string("plain search, ") + family.name + std::to_string(seed));
      if (HasFatalFailure()) return;
    }
}

TEST(Techniques, ChangeNoAnswerWhenOnlyOneIsOn) {
  for (const Switch& one : kSwitches) {
    Techniques use;
    for (const Switch& other : kSwitches) use.*other.technique = &other == &one;
    for (uint64_t seed = 1; seed <= 60; ++seed) {
      const Problem problem = small_problem(seed, 6, kFamilies[6].kinds);
      expect_optimal(problem, best_height(problem), use, std::string("only ") + one.name + std::to_string(seed));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Windows, GiveValidPackingsAndTrueBounds) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    const Problem problem =
        small_problem(seed, 9, {.alignment = true, .gaps = true, .windows = true, .share = seed % 2 == 0});
    auto solution = allocate(problem, {.minimize = true, .steps = 2000});
    ASSERT_TRUE(solution);
    auto valid = validate(problem, *solution);
    ASSERT_TRUE(valid) << seed << ": " << valid.error().text();
  }
}

TEST(Answers, AreTheSameEveryTime) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Problem problem = test::random_problem(60, 20, seed);
    EXPECT_EQ(allocate(problem, {.minimize = true, .steps = 3000}).value(),
              allocate(problem, {.minimize = true, .steps = 3000}).value());
  }
}

TEST(Answers, ComeInImprovingOrder) {
  std::vector<Solution> seen;
  Options options{.minimize = true, .steps = 20'000};
  options.improved = [&](const Solution& better) { seen.push_back(better); };
  const Problem problem = test::perfect_packing(60, 1 << 16, 3);
  const Solution last = allocate(problem, options).value();
  ASSERT_FALSE(seen.empty());
  for (size_t k = 1; k < seen.size(); ++k) EXPECT_LT(seen[k].height, seen[k - 1].height);
  for (const Solution& solution : seen) EXPECT_TRUE(validate(problem, solution));
  EXPECT_EQ(seen.back().height, last.height);
}

TEST(Answers, ExistForNothing) {
  const Solution nothing = allocate({}).value();
  EXPECT_EQ(nothing.height, 0_B);
  EXPECT_TRUE(nothing.optimal());
  Problem empty{.buffers = {{"never", 5, 5, 64_B}, {"none", 0, 9, 0_B}}};
  const Solution solution = allocate(empty).value();
  EXPECT_EQ(solution.height, 64_B);  // it is never alive, but its bytes are within the memory
  EXPECT_TRUE(validate(empty, solution));
}

}  // namespace
}  // namespace tessera::allocation
