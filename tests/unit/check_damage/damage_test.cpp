// Correct schedules, broken on purpose in every way and at every place: the checker refuses them all.
#include "unit/check_damage/damage.hpp"
#include "support/one_node.hpp"
#include "unit/check/compiled.hpp"

namespace tessera {
namespace {

using damage::Damage;
using handmade::Case;

struct Network {
  std::string name;
  Case (*make)();
  int64_t kinds = 25;  // that fit somewhere, at least
};
void PrintTo(const Network& n, std::ostream* out) {
  *out << n.name;
}

class DamageTest : public testing::TestWithParam<Network> {};

TEST_P(DamageTest, IsAlwaysCaught) {
  auto correct = GetParam().make();
  auto verdict = correct.judge();
  ASSERT_TRUE(verdict) << verdict.error().text();
  damage::Subject subject(correct);
  auto kinds = damage::damages_of_steps();
  for (auto& kind : damage::damages_of_plan()) kinds.push_back(kind);
  EXPECT_GE(kinds.size(), 25u);
  int64_t total = 0, fitting = 0;
  for (auto& kind : kinds) {
    int64_t places = 0;
    kind.everywhere(subject, [&](Case broken, std::string place) {
      ++places;
      EXPECT_FALSE(broken.judge()) << kind.name << " at " << place << " was not noticed";
    });
    total += places;
    fitting += places > 0;
    RecordProperty(std::string(kind.name), std::to_string(places));
    if (places > 0) fmt::print("{:6} {}\n", places, kind.name);
  }
  EXPECT_GE(fitting, GetParam().kinds);
  fmt::print("{}: {} damages of {} kinds\n", GetParam().name, total, fitting);
}

Case compile(Result<train::Program> program, const plan::Options& options) {
  EXPECT_TRUE(program) << program.error().text();
  auto c = compiled::compile(*program, options);
  EXPECT_TRUE(c) << c.error().text();
  return c ? *c : Case{};
}
Case single_buffered() {
  return compile(compiled::perceptron("mlp:61-9-5", 2), {.buffering = plan::Buffering::Single, .l1 = Bytes(640)});
}
Case double_buffered() {
  return compile(compiled::perceptron("mlp:17-13-7", 3), {.buffering = plan::Buffering::Double, .l1 = Bytes(1024)});
}
Case of_many_operators() {
  return compile(compiled::mixed(2, 3, 5), {.buffering = plan::Buffering::Double, .l1 = Bytes(400)});
}
Case of_data_that_moves() {
  return compile(compiled::moved(), {.buffering = plan::Buffering::Double, .l1 = Bytes(400)});
}
Case of_data_that_moves_from_far_away() {
  return compile(compiled::moved(6, 8, false),
                 {.buffering = plan::Buffering::Double, .home = plan::Home::L3, .l1 = Bytes(400)});
}
Case of_tiles_that_share_rows() {
  auto n = test::one_node({"", "Conv"}, {test::f32({1, 2, 24, 5}), test::f32({2, 2, 3, 3})},
                          {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  auto c = compile(train::inference_program(std::move(n.graph)),
                   {.buffering = plan::Buffering::Double, .home = plan::Home::L3, .l1 = Bytes(500), .l2 = Bytes(900)});
  EXPECT_TRUE(c.plan.nodes[0].inputs[0].hops[0].keeps);
  return c;
}
Case of_tiles_that_keep_rows(plan::Buffering buffering, Bytes l1) {
  auto n = test::one_node({"", "Conv"}, {test::f32({1, 2, 24, 5}), test::f32({2, 2, 3, 3})},
                          {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  auto c = compile(train::inference_program(std::move(n.graph)), {.buffering = buffering, .l1 = l1});
  EXPECT_TRUE(c.plan.nodes[0].inputs[0].hops[0].keeps);
  return c;
}
Case from_slot_to_slot() {
  return of_tiles_that_keep_rows(plan::Buffering::Double, Bytes(1000));
}
Case within_a_slot() {
  return of_tiles_that_keep_rows(plan::Buffering::Single, Bytes(1200));
}
Case of_tiles_put_together() {
  auto n = test::one_node({"", "Conv"}, {test::f32({1, 12, 24, 5}), test::f32({1, 12, 3, 3})},
                          {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  auto c =
      compile(train::inference_program(std::move(n.graph)), {.buffering = plan::Buffering::Double, .l1 = Bytes(6000)});
  EXPECT_TRUE(c.plan.nodes[0].inputs[0].hops[0].dense);
  return c;
}
Case untiled() {
  return compile(compiled::perceptron("mlp:6-5-3", 2), {.tiling = false});
}

INSTANTIATE_TEST_SUITE_P(Handmade, DamageTest,
                         testing::Values(Network{"relu", handmade::relu_in_tiles},
                                         Network{"hops", handmade::relu_from_l3},
                                         Network{"matmul", handmade::matmul_in_halves},
                                         Network{"update", handmade::accumulate_and_update}),
                         [](auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Compiled, DamageTest,
                         testing::Values(Network{"single", single_buffered}, Network{"twofold", double_buffered},
                                         Network{"operators", of_many_operators}, Network{"moved", of_data_that_moves},
                                         Network{"movedFar", of_data_that_moves_from_far_away},
                                         Network{"slides", of_tiles_that_share_rows},
                                         Network{"keeps", from_slot_to_slot}, Network{"keepsInPlace", within_a_slot},
                                         Network{"putTogether", of_tiles_put_together},
                                         Network{"untiled", untiled, 20}),
                         [](auto& info) { return info.param.name; });

}  // namespace
}  // namespace tessera
