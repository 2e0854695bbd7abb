// Promise 4, where it counts: the emitted C gives the same bits however it is tiled, buffered, spread over cores, and
// whenever its transfers take effect.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <random>

#include "check/check.hpp"
#include "emit/emit.hpp"
#include "plan/make_plan.hpp"
#include "random_network.hpp"
#include "run/host.hpp"
#include "schedule/build.hpp"
#include "train/build.hpp"
#include "train/zoo.hpp"

namespace tessera::test {
namespace {

namespace fs = std::filesystem;

// How one of the many runs of a network goes.
struct Mode {
  plan::Options plan;
  bool sanitize = false;
  std::string text() const {
    return fmt::format("tiling {} buffering {} halos {} l1 {} cores {} sanitize {}", plan.tiling,
                       static_cast<int>(plan.buffering), static_cast<int>(plan.halos),
                       plan.l1 ? format_bytes(*plan.l1) : "all", plan.cores, sanitize);
  }
};

class Workshop {
 public:
  Workshop() : folder_(fs::temp_directory_path() / fmt::format("tessera-bits-{}", ::getpid())) {
    fs::create_directories(folder_);
  }
  ~Workshop() { fs::remove_all(folder_); }

  Result<std::string> bits(const train::Program& program, Mode mode, uint64_t seed) {
    TRY(auto plan, planned(program, mode));
    TRY(auto schedule, schedule::build(program.graph, plan, target_));
    CHECK_OK(check::check(program.graph, plan, schedule, target_));
    emit::HarnessOptions harness{.steps = 2, .accumulate = 2, .data = train::synthetic_samples(program, 4, seed)};
    TRY(auto project, emit::emit(program, plan, schedule, target_, harness));
    auto directory = folder_ / "project";
    fs::remove_all(directory);
    CHECK_OK(emit::write_project(project, directory));
    TRY(auto result,
        run::run_host(directory,
                      {.sanitize = mode.sanitize, .seed = seed, .optimize = false, .objects = folder_ / "objects"}));
    return result.bits;
  }

 private:
  // A budget that is too small names the smallest that works; that one must work.
  Result<plan::Plan> planned(const train::Program& program, Mode& mode) {
    auto plan = plan::make_plan(program, target_, mode.plan);
    if (plan || plan.error().kind() != ErrorKind::DoesNotFit) return plan;
    auto hint = plan.error().way_out();
    auto at = hint.find("--l1 ");
    if (at == std::string::npos) return plan;
    TRY(mode.plan.l1, parse_bytes(hint.substr(at + 5)));
    return plan::make_plan(program, target_, mode.plan);
  }

  fs::path folder_;
  target::Target target_ = target::load_target("siracusa", TESSERA_ROOT "/targets").value();
};

std::vector<Mode> sample_of_modes(std::mt19937_64& random) {
  auto pick = [&](auto list) { return list[random() % list.size()]; };
  std::vector<Mode> modes;
  for (int i = 0; i < 8; ++i) {
    Mode mode;
    mode.plan.tiling = i > 0;
    mode.plan.buffering = std::vector{plan::Buffering::Single, plan::Buffering::Double,
                                      plan::Buffering::Auto}[static_cast<size_t>(i) % 3];
    mode.plan.l1 = Bytes(pick(std::vector<int64_t>{2048, 2048, 3000, 4096, 8192, 20000, 65536, 262144}));
    mode.plan.cores = pick(std::vector<int>{1, 2, 3, 8});
    mode.plan.halos = i % 4 == 2 ? plan::Halos::Fetch : plan::Halos::Keep;
    mode.sanitize = i % 4 == 3;
    modes.push_back(mode);
  }
  return modes;
}

// Four shards, so that they run side by side.
class Bits : public testing::TestWithParam<int> {};

// The same bits as untiled on one core, whatever the mode.
void expect_same_bits(Workshop& workshop, const RandomNetwork& network, uint64_t seed) {
  auto program = train::training_program(network.graph, {}, {.loss = network.loss, .learning_rate = 0.05f});
  ASSERT_TRUE(program) << "seed " << seed << ": " << program.error().text() << "\n" << to_string(network.graph);
  auto reference = workshop.bits(*program, {.plan = {.tiling = false, .cores = 1}}, seed);
  ASSERT_TRUE(reference) << "seed " << seed << ": " << reference.error().text() << "\n" << to_string(program->graph);
  std::mt19937_64 random(seed);
  for (auto& mode : sample_of_modes(random)) {
    auto bits = workshop.bits(*program, mode, seed);
    ASSERT_TRUE(bits) << "seed " << seed << ", " << mode.text() << ": " << bits.error().text();
    ASSERT_EQ(*bits, *reference) << "seed " << seed << ", " << mode.text() << "\n" << to_string(program->graph);
  }
}

// How many networks a shard tries: TESSERA_NETWORKS=75 makes them 300 in all.
int networks() {
  const char* asked = std::getenv("TESSERA_NETWORKS");
  return asked ? std::atoi(asked) : 20;
}

TEST_P(Bits, RandomNetworksAreTheSameInEveryMode) {
  Workshop workshop;
  for (int i = 0; i < networks() && !HasFatalFailure(); ++i) {
    auto seed = static_cast<uint64_t>(GetParam() * networks() + i + 1);
    expect_same_bits(workshop, random_network(seed), seed);
  }
}

INSTANTIATE_TEST_SUITE_P(Shard, Bits, testing::Range(0, 4));

TEST(Normalization, IsTheSameInEveryMode) {
  Workshop workshop;
  for (uint64_t seed = 1; seed <= 8 && !HasFatalFailure(); ++seed)
    expect_same_bits(workshop, normalizing_network(seed), seed);
}

// Every combination there is, one test for each number of cores.
class Simplemlp : public testing::TestWithParam<int> {};

TEST_P(Simplemlp, IsTheSameInEveryCombination) {
  Workshop workshop;
  auto program =
      train::training_program(train::zoo_model("simplemlp", 1).value(), {}, {.loss = train::Loss::CrossEntropy});
  ASSERT_TRUE(program) << program.error().text();
  auto reference = workshop.bits(*program, {.plan = {.tiling = false, .cores = 1}}, 1);
  ASSERT_TRUE(reference) << reference.error().text();
  for (bool tiling : {true, false})
    for (auto buffering : {plan::Buffering::Single, plan::Buffering::Double, plan::Buffering::Auto})
      for (auto l1 : {2048, 8192, 65536, 262144})
        for (bool sanitize : {false, true}) {
          Mode mode{.plan = {.tiling = tiling, .buffering = buffering, .l1 = Bytes(l1), .cores = GetParam()},
                    .sanitize = sanitize};
          auto bits = workshop.bits(*program, mode, 1);
          ASSERT_TRUE(bits) << mode.text() << ": " << bits.error().text();
          EXPECT_EQ(*bits, *reference) << mode.text();
        }
}

INSTANTIATE_TEST_SUITE_P(Cores, Simplemlp, testing::Values(1, 2, 3, 8));

}  // namespace
}  // namespace tessera::test
