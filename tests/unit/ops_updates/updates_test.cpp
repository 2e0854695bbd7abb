// The optimizers' steps: every form against the double-precision reference, in tiles and on any number of cores.
#include <gtest/gtest.h>

#include <cmath>

#include "support/expect_error.hpp"
#include "support/tiled_run.hpp"

namespace tessera::test {
namespace {

constexpr int tilings = 4;
const std::string preview = "ai.onnx.preview.training", microsoft = "com.microsoft";

TensorData floats(std::mt19937& rng, const Shape& shape, float least, float most) {
  std::vector<float> values(static_cast<size_t>(count(shape)));
  for (auto& v : values) v = std::uniform_real_distribution<float>(least, most)(rng);
  return TensorData::f32(shape, values);
}
TensorData step(int64_t t) {
  return TensorData::i64({1}, std::span(&t, 1));
}

struct Case {
  OpName op;
  Attributes attributes;
  size_t states, outputs;
};

std::vector<Case> counted_cases() {
  std::vector<Case> cases;
  for (auto* mode : {"standard", "nesterov"})
    for (float l2 : {0.0f, 0.125f})
      cases.push_back({{preview, "Momentum"},
                       {{"alpha", 0.9f}, {"beta", 0.75f}, {"mode", std::string(mode)}, {"norm_coefficient", l2}},
                       1,
                       2});
  for (float decay : {0.0f, 0.25f})
    cases.push_back({{preview, "Adagrad"}, {{"decay_factor", decay}, {"epsilon", 1e-3f}}, 1, 2});
  cases.push_back({{preview, "Adam"}, {{"norm_coefficient", 0.1f}, {"norm_coefficient_post", 0.01f}}, 2, 3});
  cases.push_back({{preview, "Adam"}, {{"alpha", 0.0f}, {"beta", 0.5f}}, 2, 3});
  for (int64_t mode : {0, 1})
    for (int64_t corrects : {0, 1})
      cases.push_back({{microsoft, "AdamWOptimizer"},
                       {{"adam_mode", mode}, {"correct_bias", corrects}, {"weight_decay", 0.1f}},
                       2,
                       4});
  return cases;
}

TEST(Updates, EveryFormAgreesWithItsReferenceAtEveryStep) {
  std::mt19937 rng(5);
  for (auto& c : counted_cases())
    for (int64_t t : {0, 1, 2, 7, 100, 100'000})
      for (Shape shape : {Shape{}, Shape{1}, Shape{3, 11}}) {
        // At step 0 only the preview forms mean something.
        if (t == 0 && c.op.domain == microsoft) continue;
        std::vector<Operand> operands{f32({1}), {{DType::I64, {1}}, {}}, f32(shape), f32(shape)};
        std::vector<TensorData> values{TensorData::f32({1}, std::array{0.3f}), step(t), floats(rng, shape, -1, 1),
                                       floats(rng, shape, -1, 1)};
        for (size_t s = 0; s < c.states; ++s) {
          operands.push_back(f32(shape));
          const bool squares = c.op.type == "Adagrad" || s == 1;
          values.push_back(floats(rng, shape, squares ? 0.01f : -1, 1));
        }
        auto n = one_node(c.op, operands, c.attributes, c.outputs);
        ASSERT_TRUE(n.status) << n.status.error().text();
        EXPECT_EQ(kernel_failure(n, values, rng, 2e-6, tilings), "") << to_string(c.op) << " step " << t;
      }
}

TEST(Updates, PlainDescentInEveryForm) {
  std::mt19937 rng(12);
  for (Shape shape : {Shape{}, Shape{3, 11}})
    for (auto& n : {one_node({"", "SGD"}, {f32(shape), f32(shape)}, {{"lr", 0.3f}}),
                    one_node({"", "SGD"}, {f32(shape), f32(shape), f32({1})}, {}),
                    one_node({microsoft, "SGDOptimizer"}, {f32({}), f32(shape), f32(shape)}, {}),
                    one_node({microsoft, "SGDOptimizer"}, {f32({}), f32(shape), f32(shape)}, {{"weight_decay", 0.2f}}),
                    one_node({microsoft, "SGDOptimizerV2"}, {f32({1}), f32(shape), f32(shape)}, {}, 2)})
      EXPECT_EQ(kernel_failure(n, random_inputs(n.graph, n.node, rng), rng, 1e-6, tilings), "");
}

TEST(Updates, AHeldBackUpdateChangesNothing) {
  std::mt19937 rng(3);
  for (uint8_t signal : {0, 1}) {
    const Shape shape{5, 4};
    std::vector<Operand> operands{f32({1}), f32(shape), f32(shape), {{DType::Bool, {1}}, {}}};
    auto n = one_node({microsoft, "SGDOptimizerV2"}, operands, {}, 2);
    std::vector<TensorData> values{TensorData::f32({1}, std::array{0.5f}), floats(rng, shape, -1, 1),
                                   floats(rng, shape, -1, 1),
                                   TensorData::of<uint8_t>({DType::Bool, {1}}, std::array{signal})};
    EXPECT_EQ(kernel_failure(n, values, rng, 1e-6, tilings), "");
    TiledRun run(n.graph, n.node);
    auto made = run(values, whole_tile(run.map()), 8);
    EXPECT_EQ(made[0].as<uint8_t>()[0], signal);
    EXPECT_EQ(made[1].at(3) == values[1].at(3), signal == 0);
  }
}

// 1 - 0.999^t has few digits left where it is computed carelessly; PyTorch works it out in double precision.
TEST(Updates, TheBiasCorrectionHasAllItsDigits) {
  for (int64_t t : {1, 2, 3, 10, 300, 1000, 10'000, 1'000'000}) {
    const Shape one{1};
    auto n = one_node({microsoft, "AdamWOptimizer"},
                      {f32(one), {{DType::I64, {1}}, {}}, f32(one), f32(one), f32(one), f32(one)},
                      {{"weight_decay", 0.0f}}, 4);
    auto number = [](float v) { return TensorData::f32({1}, std::array{v}); };
    std::vector<TensorData> values{number(1), step(t), number(0), number(0.5f), number(0.25f), number(0.125f)};
    TiledRun run(n.graph, n.node);
    const double got = run(values, whole_tile(run.map()), 1)[1].at(0);
    const double m = 0.9 * 0.25 + 0.1 * 0.5, v = 0.999 * 0.125 + 0.001 * 0.25, steps = static_cast<double>(t);
    const double wanted = -m / (1 - std::pow(0.9, steps)) / (std::sqrt(v / (1 - std::pow(0.999, steps))) + 1e-8);
    EXPECT_NEAR(got, wanted, 4e-7 * std::abs(wanted)) << t;
  }
}

TEST(Updates, TheCounterCounts) {
  std::mt19937 rng(1);
  auto n = one_node({"org.tessera", "Increment"}, {{{DType::I64, {1}}, {}}}, {});
  EXPECT_EQ(kernel_failure(n, std::vector{step(41)}, rng, 0, 1), "");
}

TEST(Updates, RefusalsNameTheNode) {
  auto refused = [](const OneNode& n, const std::vector<std::string>& parts) { expect_error(n.status, parts); };
  const Operand i64{{DType::I64, {1}}, {}};
  refused(one_node({preview, "Momentum"}, {f32({1}), i64, f32({4}), f32({5}), f32({4})}, {}, 2), {"[4]", "[5]"});
  refused(
      one_node({preview, "Momentum"}, {f32({1}), i64, f32({4}), f32({4}), f32({4})}, {{"mode", std::string("x")}}, 2),
      {"mode", "nesterov"});
  refused(one_node({preview, "Adam"}, {f32({1}), i64, f32({4}), f32({4}), f32({4}), f32({4})}, {{"beta", 1.5f}}, 3),
          {"beta", "1.5"});
  refused(one_node({microsoft, "AdamWOptimizer"}, {f32({2}), i64, f32({4}), f32({4}), f32({4}), f32({4})}, {}, 4),
          {"one element"});
}

}  // namespace
}  // namespace tessera::test
