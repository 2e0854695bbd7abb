// What the planner and the scheduler make is right, in every mode.
#include <functional>
#include <random>

#include "unit/check/compiled.hpp"

namespace tessera {
namespace {

struct Mode {
  std::string name;
  bool tiling = true;
  plan::Buffering buffering = plan::Buffering::Auto;
  int64_t l1 = 0;
};
void PrintTo(const Mode& mode, std::ostream* out) {
  *out << mode.name;
}

class Compiled : public testing::TestWithParam<Mode> {
 protected:
  void expect_right(Result<train::Program> program) {
    ASSERT_TRUE(program) << program.error().text();
    plan::Options options{.tiling = GetParam().tiling, .buffering = GetParam().buffering};
    if (GetParam().l1 > 0) options.l1 = Bytes(GetParam().l1);
    auto c = compiled::compile(*program, options);
    if (!c && c.error().kind() == ErrorKind::DoesNotFit) GTEST_SKIP() << c.error().text();
    ASSERT_TRUE(c) << c.error().text();
    auto verdict = c->judge();
    EXPECT_TRUE(verdict) << verdict.error().text();
  }
};

TEST_P(Compiled, SmallPerceptron) {
  expect_right(compiled::perceptron("mlp:12-9-5", 3));
}
TEST_P(Compiled, PrimeSizesAndBatch) {
  expect_right(compiled::perceptron("mlp:37-23-11-7", 7));
}
TEST_P(Compiled, SizesOfOne) {
  expect_right(compiled::perceptron("mlp:1-1-3", 1));
}
TEST_P(Compiled, SimpleMlp) {
  expect_right(compiled::perceptron("simplemlp", 4));
}
TEST_P(Compiled, ProductsSoftmaxAndReductions) {
  expect_right(compiled::mixed());
}

// Slots that take what came as what goes, from every memory to every other.
TEST_P(Compiled, DataThatMoves) {
  for (auto home : {plan::Home::Auto, plan::Home::L2, plan::Home::L3})
    for (auto [rows, columns] : {std::pair{6, 8}, std::pair{23, 14}, std::pair{2, 90}}) {
      auto program = compiled::moved(rows, columns);
      ASSERT_TRUE(program) << program.error().text();
      for (int64_t l2 : {0, 3000, 6000}) {
        plan::Options options{.tiling = GetParam().tiling, .buffering = GetParam().buffering, .home = home};
        if (GetParam().l1 > 0) options.l1 = Bytes(GetParam().l1);
        if (l2 > 0) options.l2 = Bytes(l2);
        auto c = compiled::compile(*program, options);
        if (!c && c.error().kind() == ErrorKind::DoesNotFit) continue;
        ASSERT_TRUE(c) << c.error().text();
        auto verdict = c->judge();
        EXPECT_TRUE(verdict) << rows << " x " << columns << ", L2 " << l2 << ": " << verdict.error().text();
      }
    }
}

// Two slots for everything ask for more at once than a small engine takes.
TEST(Requests, AreNoMoreThanTheEngineHasInFlight) {
  auto program = compiled::mixed();
  ASSERT_TRUE(program) << program.error().text();
  for (int in_flight : {5, 6, 8}) {
    handmade::Case c;
    c.graph = program->graph;
    c.target = compiled::siracusa();
    c.target.engines[0].in_flight = in_flight;
    plan::Options options{.buffering = plan::Buffering::Double, .l1 = Bytes(400)};
    auto plan = plan::make_plan(*program, c.target, options);
    ASSERT_TRUE(plan) << plan.error().text();
    c.plan = *plan;
    auto schedule = schedule::build(c.graph, c.plan, c.target);
    ASSERT_TRUE(schedule) << schedule.error().text();
    c.schedule = *schedule;
    c.options.budget = {*options.l1};
    auto verdict = c.judge();
    EXPECT_TRUE(verdict) << in_flight << ": " << verdict.error().text();
  }
}

// Shapes that do not divide, batches of one and seven, budgets down to the smallest that works.
TEST_P(Compiled, RandomPerceptrons) {
  std::mt19937 random(7);
  auto pick = [&](std::vector<int64_t> from) { return from[random() % from.size()]; };
  for (int i = 0; i < 12; ++i) {
    auto name = fmt::format("mlp:{}", pick({1, 2, 5, 17, 31, 64}));
    for (auto layers = pick({1, 2, 3}); layers-- > 0;) name += fmt::format("-{}", pick({1, 3, 7, 16, 29}));
    name += fmt::format("-{}", pick({2, 5, 10}));
    auto program = compiled::perceptron(name, pick({1, 2, 7}));
    ASSERT_TRUE(program) << name << ": " << program.error().text();
    plan::Options options{.tiling = GetParam().tiling, .buffering = GetParam().buffering};
    for (int64_t l1 : {256, 400, 1000, 5000, 100000}) {
      options.l1 = Bytes(l1);
      auto c = compiled::compile(*program, options);
      if (!c && c.error().kind() == ErrorKind::DoesNotFit) continue;
      ASSERT_TRUE(c) << name << ": " << c.error().text();
      auto verdict = c->judge();
      EXPECT_TRUE(verdict) << name << " in " << l1 << ": " << verdict.error().text();
    }
  }
}

using plan::Buffering;
INSTANTIATE_TEST_SUITE_P(
    Modes, Compiled,
    testing::Values(Mode{"untiled", false}, Mode{"automatic"}, Mode{"single", true, Buffering::Single},
                    Mode{"twofold", true, Buffering::Double}, Mode{"single2k", true, Buffering::Single, 2048},
                    Mode{"twofold2k", true, Buffering::Double, 2048}, Mode{"automatic4k", true, Buffering::Auto, 4096},
                    Mode{"twofold8k", true, Buffering::Double, 8192}),
    [](auto& info) { return info.param.name; });

// What the optimizer's first node finds in L1 was fetched at the end of the training: without that there is nothing.
TEST(AcrossEntries, TheOptimizerFindsWhatTheTrainingFetched) {
  auto program = compiled::perceptron("simplemlp", 4);
  ASSERT_TRUE(program) << program.error().text();
  auto c = compiled::compile(*program, {});
  ASSERT_TRUE(c) << c.error().text();
  ASSERT_TRUE(c->judge()) << c->judge().error().text();
  auto last = c->schedule.training.back().node.index;
  auto ahead = [&](const schedule::Step& step) {
    auto* transfer = std::get_if<schedule::Transfer>(&step.v);
    return transfer && c->schedule.buffers[static_cast<size_t>(transfer->near.buffer.index)].life.last > last;
  };
  int found = 0;
  std::function<void(schedule::Block&)> drop = [&](schedule::Block& block) {
    found += static_cast<int>(std::erase_if(block, ahead));
    for (auto& step : block) {
      if (auto* loop = std::get_if<schedule::Loop>(&step.v)) drop(loop->body);
      if (auto* condition = std::get_if<schedule::If>(&step.v)) drop(condition->then);
    }
  };
  auto& section = c->schedule.training.back();
  drop(section.body);
  ASSERT_GT(found, 0);
  for (int i = 0; i < found; ++i) {  // and what waited for them, at its end
    ASSERT_TRUE(std::holds_alternative<schedule::Wait>(section.body.back().v));
    section.body.pop_back();
  }
  auto verdict = c->judge();
  ASSERT_FALSE(verdict);
  EXPECT_NE(verdict.error().text().find("_update"), std::string::npos) << verdict.error().text();
}

}  // namespace
}  // namespace tessera
