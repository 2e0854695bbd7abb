// Hard instances: the public ones where they are present, and generated ones whose best height is known.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "instances.hpp"
#include "plan/allocation/allocate.hpp"
#include "plan/allocation/csv.hpp"
#include "plan/allocation/validate.hpp"

namespace tessera::allocation {
namespace {

const std::filesystem::path kPublic = TESSERA_ROOT "/../shared/data/allocation";
const std::filesystem::path kOwn = TESSERA_ROOT "/tests/data/allocation";

struct Expected {
  const char* name;
  int64_t height;  // reached with these steps when minimising
  int64_t steps;
};

class PublicInstance : public testing::TestWithParam<Expected> {
 protected:
  void SetUp() override {
    const auto file = kPublic / (std::string(GetParam().name) + ".1048576.csv");
    if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not here";
    problem_ = read_csv(file).value();
  }
  Problem problem_;
};

TEST_P(PublicInstance, FitsItsCapacity) {
  problem_.capacity = 1048576_B;
  const Solution solution = allocate(problem_, {.steps = 20'000}).value();
  EXPECT_LE(solution.height, *problem_.capacity);
  const auto valid = validate(problem_, solution);
  EXPECT_TRUE(valid) << valid.error().text();
}

TEST_P(PublicInstance, IsPackedAsLowAsKnown) {
  const Solution solution = allocate(problem_, {.minimize = true, .steps = GetParam().steps}).value();
  EXPECT_LE(solution.height.count, GetParam().height);
  const auto valid = validate(problem_, solution);
  EXPECT_TRUE(valid) << valid.error().text();
}

TEST_P(PublicInstance, HasAGoodAnswerEarly) {
  const int64_t best_known = std::string("CDJ").find(GetParam().name) == std::string::npos ? 1048576 : 1039360;
  const Solution solution = allocate(problem_, {.minimize = true, .steps = 5'000}).value();
  EXPECT_LE(solution.height.count, best_known + best_known / 50);
}

INSTANTIATE_TEST_SUITE_P(All, PublicInstance,
                         testing::Values(Expected{"A", 1048576, 10'000}, Expected{"B", 1048576, 10'000},
                                         Expected{"C", 1039360, 10'000}, Expected{"D", 1039360, 50'000},
                                         Expected{"F", 1048576, 10'000}, Expected{"H", 1048576, 10'000},
                                         Expected{"J", 1039360, 300'000}),
                         [](const auto& info) { return info.param.name; });

struct Generated {
  const char* file;
  int buffers;
  int64_t height;
  uint64_t seed;
  int loose;
  Problem make() const { return test::perfect_packing(buffers, height, seed, loose); }
};

const Generated kGenerated[] = {
    {"perfect_40.65536.csv", 40, 65536, 1, 0},       {"perfect_80.1048576.csv", 80, 1048576, 2, 0},
    {"perfect_160.1048576.csv", 160, 1048576, 3, 0}, {"loose_200.1048576.csv", 200, 1048576, 4, 8},
    {"loose_400.1048576.csv", 400, 1048576, 5, 15},
};

std::string as_csv(const Problem& problem) {
  std::string text = "id,lower,upper,size\n";
  for (const Buffer& buffer : problem.buffers)
    text += fmt::format("{},{},{},{}\n", buffer.id, buffer.lower, buffer.upper, buffer.size.count);
  return text;
}

TEST(GeneratedInstances, AreWhatTheGeneratorMakes) {
  for (const Generated& one : kGenerated) {
    std::ifstream in(kOwn / one.file);
    std::stringstream text;
    text << in.rdbuf();
    EXPECT_EQ(text.str(), as_csv(one.make())) << one.file;
  }
}

TEST(GeneratedInstances, FitTheRectangleTheyWereCutFrom) {
  for (const Generated& one : kGenerated) {
    Problem problem = read_csv(kOwn / one.file).value();
    problem.capacity = Bytes(one.height);
    const Solution solution = allocate(problem, {.steps = 100'000}).value();
    EXPECT_LE(solution.height.count, one.height) << one.file;
    const auto valid = validate(problem, solution);
    EXPECT_TRUE(valid) << valid.error().text();
  }
}

TEST(LargeProblems, AreValidAndNoWorseThanFirstFit) {
  for (int buffers : {100, 1000, 10'000})
    for (int live : {10, 40}) {
      const Problem problem = test::random_problem(buffers, live, 9);
      const Solution simple = first_fit_by_size(problem).value(), solution = allocate(problem, {.steps = 2000}).value();
      EXPECT_TRUE(validate(problem, simple));
      EXPECT_TRUE(validate(problem, solution));
      EXPECT_LE(solution.height, simple.height);
      EXPECT_EQ(solution.lower_bound, std::max(solution.lower_bound, simple.lower_bound));
    }
}

TEST(LargeProblems, MayBeDense) {
  const Problem problem = test::random_problem(4000, 4000, 3);  // more conflicts than are ever listed
  const Solution solution = allocate(problem, {.steps = 0}).value();
  const auto valid = validate(problem, solution);
  EXPECT_TRUE(valid) << valid.error().text();
}

}  // namespace
}  // namespace tessera::allocation
