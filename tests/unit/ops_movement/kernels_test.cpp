// Movement: each kernel against its reference, and the same bits however it is tiled; gradients against differences.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "support/gradient_check.hpp"
#include "support/random_cases.hpp"
#include "support/tiled_run.hpp"

namespace tessera::test {
namespace {

Shape some_shape(std::mt19937& rng, size_t least = 1) {
  Shape shape(least + rng() % (5 - least));
  for (auto& extent : shape) extent = random_extent(rng, 7);
  return shape;
}

size_t some_axis(std::mt19937& rng, const Shape& shape) {
  return rng() % shape.size();
}

const DType all_types[] = {DType::F32, DType::I64, DType::I32, DType::U8, DType::Bool};

Operand of(Shape shape, DType dtype) {
  return {{dtype, std::move(shape)}, {}};
}

TensorData random_indices(std::mt19937& rng, const Shape& shape, std::vector<int64_t> extents, DType dtype) {
  std::vector<int64_t> v(static_cast<size_t>(count(shape)));
  for (size_t i = 0; i < v.size(); ++i) {
    auto extent = extents[i % extents.size()];
    v[i] = static_cast<int64_t>(rng() % static_cast<unsigned>(2 * extent)) - extent;
  }
  return cast(TensorData::i64(shape, v), dtype);
}

// The kernel in tiles and, for floats, the gradient; `values` has what is not random.
void check(const OneNode& n, std::mt19937& rng, const std::map<size_t, TensorData>& values = {}) {
  ASSERT_TRUE(n.status) << n.status.error().text();
  auto inputs = random_inputs(n.graph, n.node, rng);
  for (auto& [i, value] : values) inputs[i] = value;
  EXPECT_EQ(kernel_failure(n, inputs, rng, 1e-6, 12), "");
  auto wanted = differentiable(n);
  if (std::ranges::none_of(wanted, [](bool w) { return w; })) return;
  auto arrays = random_arrays(n, rng);
  for (auto& [i, value] : values)
    for (size_t g = 0; g < n.graph.inputs.size(); ++g)
      if (n.graph.inputs[g] == n.graph.at(n.node).inputs[i]) {
        arrays[g].v.clear();
        for (int64_t e = 0; e < value.type().elements(); ++e) arrays[g].v.push_back(value.at(e));
      }
  EXPECT_EQ(gradient_failure(n, arrays, wanted, rng), "");
}

OneNode slice(std::mt19937& rng, DType dtype) {
  auto shape = some_shape(rng);
  std::vector<int64_t> starts, ends, axes, steps;
  for (size_t a = 0; a < shape.size(); ++a) {
    if (rng() % 3 == 0) continue;
    auto extent = static_cast<int>(shape[a]);
    int lo = static_cast<int>(rng() % static_cast<unsigned>(extent));
    int hi = lo + 1 + static_cast<int>(rng() % static_cast<unsigned>(extent - lo));
    bool backwards = rng() % 3 == 0;
    axes.push_back(static_cast<int64_t>(a) - (rng() % 2 ? static_cast<int64_t>(shape.size()) : 0));
    steps.push_back((1 + static_cast<int64_t>(rng() % 3)) * (backwards ? -1 : 1));
    starts.push_back(backwards ? (rng() % 4 ? hi - 1 : 1000) : (rng() % 2 ? lo : lo - extent));
    ends.push_back(backwards ? (lo == 0 ? -extent - 1 : lo - 1) : (rng() % 4 ? hi : INT64_MAX));
  }
  return one_node({"", "Slice"}, {of(shape, dtype), i64s(starts), i64s(ends), i64s(axes), i64s(steps)}, {});
}

TEST(Movement, slices) {
  std::mt19937 rng(1);
  for (int i = 0; i < 30; ++i) check(slice(rng, i < 20 ? DType::F32 : all_types[i % 5]), rng);
}

TEST(Movement, partsAtTheirPlaces) {
  std::mt19937 rng(2);
  for (int i = 0; i < 24; ++i) {
    auto shape = some_shape(rng);
    auto axis = some_axis(rng, shape);
    auto dtype = i < 20 ? DType::F32 : all_types[i % 5];
    auto part = shape, whole = shape;
    auto start = static_cast<int64_t>(rng() % 4);
    whole[axis] += start + static_cast<int64_t>(rng() % 4);
    auto n = one_node({"org.tessera", "Put"}, {of(part, dtype), of(whole, dtype)},
                      {{"axis", static_cast<int64_t>(axis)}, {"start", start}, {"extent", whole[axis]}});
    EXPECT_EQ(kernel_failure(n, random_inputs(n.graph, n.node, rng), rng, 0, 12), "");
  }
}

TEST(Movement, concatenations) {
  std::mt19937 rng(2);
  for (int i = 0; i < 24; ++i) {
    auto shape = some_shape(rng);
    auto axis = some_axis(rng, shape);
    std::vector<Operand> parts;
    for (unsigned p = 0, n = 2 + rng() % 11; p < n; ++p) {
      shape[axis] = random_extent(rng, 6);
      parts.push_back(of(shape, DType::F32));
    }
    auto n = one_node({"", "Concat"}, parts, {{"axis", static_cast<int64_t>(axis)}});
    EXPECT_EQ(gradient_failure(n, random_arrays(n, rng), differentiable(n), rng), "");
  }
}

TEST(Movement, pads) {
  std::mt19937 rng(3);
  for (int i = 0; i < 24; ++i) {
    auto shape = some_shape(rng);
    auto dtype = i < 20 ? DType::F32 : all_types[i % 5];
    std::vector<int64_t> before, after;
    for (auto extent : shape) {
      before.push_back(static_cast<int64_t>(rng() % 5) - 1);
      after.push_back(static_cast<int64_t>(rng() % 5) - 1);
      if (extent + before.back() + after.back() < 1) before.back() = after.back() = 0;
      if (rng() % 2) before.back() = after.back() = 0;
    }
    before.insert(before.end(), after.begin(), after.end());
    check(one_node({"", "Pad"}, {of(shape, dtype), i64s(before), of({}, dtype)}, {}), rng);
  }
}

TEST(Movement, gathers_and_their_gradients) {
  std::mt19937 rng(4);
  for (int i = 0; i < 24; ++i) {
    auto shape = some_shape(rng);
    auto axis = some_axis(rng, shape);
    auto index = random_shape(rng, 2, 6);
    auto type = rng() % 2 ? DType::I64 : DType::I32;
    Attributes attributes{{"axis", static_cast<int64_t>(axis)}};
    auto indices = random_indices(rng, index, {shape[axis]}, type);
    check(one_node({"", "Gather"}, {of(shape, i < 20 ? DType::F32 : all_types[i % 5]), of(index, type)}, attributes),
          rng, {{1, indices}});
    Shape picked = shape;
    picked.erase(picked.begin() + static_cast<long>(axis));
    picked.insert(picked.begin() + static_cast<long>(axis), index.begin(), index.end());
    check(one_node({"com.microsoft", "GatherGrad"}, {i64s(shape), of(index, type), f32(picked)}, attributes), rng,
          {{1, indices}});
  }
}

TEST(Movement, tuples_of_indices) {
  std::mt19937 rng(5);
  for (int i = 0; i < 24; ++i) {
    auto shape = some_shape(rng, 2);
    auto batch = rng() % 2, tuple = 1 + rng() % (shape.size() - batch);
    Shape index(shape.begin(), shape.begin() + static_cast<long>(batch));
    if (rng() % 2 || index.empty()) index.push_back(random_extent(rng, 5));
    index.push_back(static_cast<int64_t>(tuple));
    std::vector<int64_t> extents(shape.begin() + static_cast<long>(batch),
                                 shape.begin() + static_cast<long>(batch + tuple));
    auto indices = random_indices(rng, index, extents, DType::I64);
    check(
        one_node({"", "GatherND"}, {f32(shape), of(index, DType::I64)}, {{"batch_dims", static_cast<int64_t>(batch)}}),
        rng, {{1, indices}});
  }
}

TEST(Movement, scattered_slices) {
  std::mt19937 rng(6);
  const char* reductions[] = {"none", "add", "mul", "max", "min"};
  for (int i = 0; i < 30; ++i) {
    auto shape = some_shape(rng);
    auto tuple = 1 + rng() % shape.size();
    Shape index{random_extent(rng, 6), static_cast<int64_t>(tuple)}, updates{index[0]};
    updates.insert(updates.end(), shape.begin() + static_cast<long>(tuple), shape.end());
    std::vector<int64_t> extents(shape.begin(), shape.begin() + static_cast<long>(tuple));
    auto indices = random_indices(rng, index, extents, DType::I64);
    auto* reduction = reductions[i % 5];
    auto dtype = i < 20 ? DType::F32 : all_types[i % 3];
    auto n = one_node({"", "ScatterND"}, {of(shape, dtype), of(index, DType::I64), of(updates, dtype)},
                      {{"reduction", std::string(reduction)}});
    ASSERT_TRUE(n.status) << n.status.error().text();
    auto inputs = random_inputs(n.graph, n.node, rng);
    inputs[1] = indices;
    EXPECT_EQ(kernel_failure(n, inputs, rng, 1e-5, 12), "") << reduction;
  }
}

// Without two updates of one element, whose order would matter to the gradient.
TEST(Movement, gradients_of_scattering) {
  std::mt19937 rng(7);
  for (int i = 0; i < 20; ++i) {
    Shape shape{random_extent(rng, 7) + 2, random_extent(rng, 5)};
    std::vector<int64_t> rows(static_cast<size_t>(shape[0]));
    std::iota(rows.begin(), rows.end(), 0);
    std::ranges::shuffle(rows, rng);
    rows.resize(1 + rng() % rows.size());
    Shape index{static_cast<int64_t>(rows.size()), 1}, updates{index[0], shape[1]};
    std::string reduction = i % 2 ? "add" : "none";
    auto n = one_node({"", "ScatterND"}, {f32(shape), of(index, DType::I64), f32(updates)}, {{"reduction", reduction}});
    auto arrays = random_arrays(n, rng);
    arrays[1].v.assign(rows.begin(), rows.end());
    EXPECT_EQ(gradient_failure(n, arrays, {true, false, true}, rng), "");
    std::vector<double> elements;
    for (auto row : rows)
      for (int64_t c = 0; c < shape[1]; ++c) elements.push_back(static_cast<double>(row));
    auto e = one_node({"", "ScatterElements"}, {f32(shape), of(updates, DType::I64), f32(updates)},
                      {{"reduction", reduction}});
    arrays = random_arrays(e, rng);
    arrays[1].v = elements;
    EXPECT_EQ(gradient_failure(e, arrays, {true, false, true}, rng), "");
  }
}

TEST(Movement, elements_by_index) {
  std::mt19937 rng(8);
  const char* reductions[] = {"none", "add", "mul", "max", "min"};
  for (int i = 0; i < 30; ++i) {
    auto shape = some_shape(rng);
    auto axis = some_axis(rng, shape);
    Shape index = shape;
    for (auto& extent : index)
      if (rng() % 3 == 0) extent = 1 + static_cast<int64_t>(rng() % static_cast<unsigned>(extent));
    index[axis] = random_extent(rng, 8);
    auto dtype = i < 20 ? DType::F32 : all_types[i % 3];
    auto type = rng() % 2 ? DType::I64 : DType::I32;
    auto indices = random_indices(rng, index, {shape[axis]}, type);
    Attributes attributes{{"axis", static_cast<int64_t>(axis)}};
    check(one_node({"", "GatherElements"}, {of(shape, dtype), of(index, type)}, attributes), rng, {{1, indices}});
    check(one_node({"com.microsoft", "GatherElementsGrad"}, {f32(index), i64s(shape), of(index, type)}, attributes),
          rng, {{2, indices}});
    attributes.set("reduction", std::string(reductions[i % 5]));
    auto n = one_node({"", "ScatterElements"}, {of(shape, dtype), of(index, type), of(index, dtype)}, attributes);
    ASSERT_TRUE(n.status) << n.status.error().text();
    auto inputs = random_inputs(n.graph, n.node, rng);
    inputs[1] = indices;
    EXPECT_EQ(kernel_failure(n, inputs, rng, 1e-5, 12), "") << reductions[i % 5];
  }
}

}  // namespace
}  // namespace tessera::test
