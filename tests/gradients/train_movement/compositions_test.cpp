// Operators that are written out as nodes: the nodes compute what the operator's own reference says, and their
// gradients agree with central differences of that reference.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "ops/builder.hpp"
#include "simplify/simplify.hpp"
#include "support/gradient_check.hpp"
#include "train/backward.hpp"

namespace tessera::test {
namespace {

Result<ops::Array> reference_of(const OneNode& n, std::span<const ops::Array> inputs) {
  TRY(auto values, ops::evaluate(n.graph, inputs));
  return values[static_cast<size_t>(n.graph.outputs[0].index)];
}

double weighted(const ops::Array& y, const std::vector<float>& weights) {
  double sum = 0;
  for (size_t i = 0; i < y.v.size(); ++i) sum += static_cast<double>(weights[i]) * y.v[i];
  return sum;
}

// The graph with the node written out, and the gradients of the weighted sum of its output.
struct Written {
  Graph graph;
  std::map<TensorId, TensorId> gradients;
};
Result<Written> written_out(const OneNode& n, const std::vector<float>& weights) {
  Written w{n.graph, {}};
  auto inputs = w.graph.inputs;
  CHECK_OK(simplify::simplify(w.graph, simplify::Compositions::WithoutGradient));
  ops::Builder build(w.graph);
  auto y = w.graph.outputs[0];
  Shape shape = build.type(y).shape;
  auto product =
      build.node({"", "Mul"}, {y, build.constant(TensorData::f32(shape, weights), "weights")}, {}, "product");
  auto sum = build.node({"", "ReduceSum"}, {product}, {{"keepdims", int64_t{0}}}, "sum");
  CHECK_OK(build.status());
  CHECK_OK(train::add_backward(w.graph, sum, inputs, [&](TensorId t, TensorId gradient) -> Result<void> {
    w.gradients[t] = gradient;
    return {};
  }));
  CHECK_OK(simplify::simplify(w.graph));
  CHECK_OK(verify(w.graph));
  return w;
}

Result<std::string> compare(const OneNode& n, std::mt19937& rng) {
  if (!n.status) return std::unexpected(n.status.error());
  auto inputs = random_arrays(n, rng);
  TRY(auto expected, reference_of(n, inputs));
  std::vector<float> weights(expected.v.size());
  for (auto& w : weights) w = std::uniform_real_distribution<float>(-1, 1)(rng);
  TRY(auto w, written_out(n, weights));
  TRY(auto values, ops::evaluate(w.graph, inputs));
  auto& got = values[static_cast<size_t>(w.graph.outputs[0].index)];
  if (got.shape != expected.shape) return fmt::format("the shape is {}", to_string(got.shape));
  for (size_t i = 0; i < got.v.size(); ++i)
    if (!(std::abs(got.v[i] - expected.v[i]) <= 1e-5 * std::max(1.0, std::abs(expected.v[i]))))
      return fmt::format("element {} is {}, the reference says {}", i, got.v[i], expected.v[i]);
  for (size_t g = 0; g < inputs.size(); ++g) {
    if (!w.gradients.contains(n.graph.inputs[g])) return fmt::format("input {} has no gradient", g);
    auto& gradient = values[static_cast<size_t>(w.gradients[n.graph.inputs[g]].index)];
    for (size_t tried = 0; tried < std::min<size_t>(inputs[g].v.size(), 12); ++tried) {
      auto i = rng() % inputs[g].v.size();
      const double h = 1e-3, at = inputs[g].v[i];  // these are all linear in each operand
      inputs[g].v[i] = at + h;
      TRY(auto above, reference_of(n, inputs));
      inputs[g].v[i] = at - h;
      TRY(auto below, reference_of(n, inputs));
      inputs[g].v[i] = at;
      auto slope = (weighted(above, weights) - weighted(below, weights)) / (2 * h);
      if (!(std::abs(gradient.v[i] - slope) <= 1e-4 * std::max(1.0, std::abs(slope))))
        return fmt::format("input {} element {}: the gradient is {}, the slope {}", g, i, gradient.v[i], slope);
    }
  }
  return std::string();
}

std::string failure(const OneNode& n, std::mt19937& rng) {
  auto text = compare(n, rng);
  return text ? *text : text.error().text();
}

Operand floats(std::vector<float> values) {
  Shape shape{static_cast<int64_t>(values.size())};
  return {{DType::F32, shape}, TensorData::f32(shape, values)};
}

TEST(Compositions, tiles) {
  std::mt19937 rng(1);
  for (int i = 0; i < 20; ++i) {
    Shape shape(1 + rng() % 4);
    std::vector<int64_t> repeats;
    for (auto& extent : shape) extent = random_extent(rng, 5), repeats.push_back(1 + static_cast<int64_t>(rng() % 3));
    EXPECT_EQ(failure(one_node({"", "Tile"}, {f32(shape), i64s(repeats)}, {}), rng), "");
  }
}

TEST(Compositions, depth_and_space) {
  std::mt19937 rng(2);
  for (int i = 0; i < 20; ++i) {
    auto b = 1 + static_cast<int64_t>(rng() % 3), c = random_extent(rng, 3), h = random_extent(rng, 3);
    Attributes attributes{{"blocksize", b}, {"mode", std::string(i % 2 ? "CRD" : "DCR")}};
    EXPECT_EQ(failure(one_node({"", "DepthToSpace"}, {f32({2, c * b * b, h, 2})}, attributes), rng), "");
    EXPECT_EQ(failure(one_node({"", "SpaceToDepth"}, {f32({2, c, h * b, 2 * b})}, {{"blocksize", b}}), rng), "");
  }
}

TEST(Compositions, resizing_in_every_mode) {
  std::mt19937 rng(3);
  const char* modes[] = {"nearest", "linear", "cubic"};
  const char* coordinates[] = {"half_pixel",           "pytorch_half_pixel",   "align_corners",     "asymmetric",
                               "half_pixel_symmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"};
  const char* nearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  for (int i = 0; i < 63; ++i) {
    auto h = random_extent(rng, 7), w = random_extent(rng, 7);
    Attributes a{{"mode", std::string(modes[i % 3])},
                 {"coordinate_transformation_mode", std::string(coordinates[i / 3 % 7])},
                 {"nearest_mode", std::string(nearest[rng() % 4])},
                 {"extrapolation_value", 0.5f}};
    if (rng() % 3 == 0) a.set("exclude_outside", int64_t{1});
    if (rng() % 3 == 0 && i % 3) a.set("antialias", int64_t{1});
    std::vector<Operand> operands{f32({1, 2, h, w}), floats({0, 0, 0.1f, -0.2f, 1, 1, 0.9f, 1.2f})};
    if (rng() % 2) {
      operands.push_back({{}, {}, true});
      operands.push_back(i64s({1, 2, random_extent(rng, 9), random_extent(rng, 9)}));
    } else {
      operands.push_back(floats({1, 1, 1.5f, 2.25f}));
    }
    EXPECT_EQ(failure(one_node({"", "Resize"}, operands, a), rng), "")
        << i << " " << modes[i % 3] << " " << h << "x" << w;
  }
}

// Letters with extents of their own, put together at random: repeated, summed, kept.
TEST(Compositions, random_equations) {
  std::mt19937 rng(4);
  for (int i = 0; i < 40; ++i) {
    std::map<char, int64_t> extent;
    for (char c = 'a'; c < 'f'; ++c) extent[c] = random_extent(rng, 4);
    std::string equation, seen;
    std::vector<Operand> operands;
    for (unsigned o = 0, n = 1 + rng() % 3; o < n; ++o) {
      Shape shape;
      if (o) equation += ",";
      if (i % 4 == 0) {
        equation += "...";
        if (o == 0) shape = {2, 3};
        if (o == 1) shape = {3};
      }
      for (unsigned l = 0, letters = rng() % 4; l < letters; ++l) {
        char c = static_cast<char>('a' + rng() % 5);
        equation += c;
        seen += c;
        shape.push_back(extent[c]);
      }
      operands.push_back(f32(shape));
    }
    if (rng() % 4) {
      equation += i % 4 == 0 ? "->..." : "->";
      std::string kept;
      for (char c : seen)
        if (rng() % 2 && kept.find(c) == kept.npos) kept += c;
      equation += kept;
    }
    EXPECT_EQ(failure(one_node({"", "Einsum"}, operands, {{"equation", equation}}), rng), "") << equation;
  }
}

TEST(Compositions, a_slice_put_back) {
  std::mt19937 rng(5);
  for (int i = 0; i < 20; ++i) {
    Shape shape{random_extent(rng, 5) + 1, random_extent(rng, 6) + 2};
    auto step = 1 + static_cast<int64_t>(rng() % 3);
    bool back = rng() % 2;
    auto size = (shape[1] + step - 1) / step;
    auto n = one_node({"com.microsoft", "SliceGrad"},
                      {f32({shape[0], size}), i64s(shape), i64s({back ? -1 : 0}), i64s({back ? -1000 : 1000}),
                       i64s({1}), i64s({back ? -step : step})},
                      {});
    EXPECT_EQ(failure(n, rng), "");
  }
}

}  // namespace
}  // namespace tessera::test
