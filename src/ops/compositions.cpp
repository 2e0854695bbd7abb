// Tile, DepthToSpace and SpaceToDepth: views, a transpose, or a repetition along axes of their own.
#include "ops/arguments.hpp"
#include "ops/builder.hpp"
#include "ops/movement.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

TensorId reshape(ExpandContext& c, TensorId x, const Shape& shape, const std::string& name) {
  return c.build.node({"", "Reshape"}, {x, c.build.integers(shape, name + ".shape")}, {}, name);
}

// ---- Tile

Result<std::vector<int64_t>> repeats(const NodeContext& n) {
  TRY(auto r, known_integers(n, 1, "repeats"));
  if (r.size() != n.in(0).size()) return n.error(fmt::format("has {} repeats for {} axes", r.size(), n.in(0).size()));
  for (auto times : r)
    if (times < 0) return n.error(fmt::format("repeats an axis {} times", times));
  return r;
}

Result<std::vector<TensorType>> infer_tile(const NodeContext& n) {
  CHECK_OK(takes(n, 2, 2));
  TRY(auto r, repeats(n));
  auto type = n.input(0).type;
  for (size_t a = 0; a < r.size(); ++a) type.shape[a] *= r[a];
  return std::vector{type};
}

Result<std::vector<Array>> reference_tile(const NodeContext& n, std::span<const Array> in) {
  Array y{in[0].dtype, n.out(0), {}};
  auto own = dense_steps(in[0].shape), dense = dense_steps(y.shape);
  for (size_t i = 0; i < static_cast<size_t>(count(y.shape)); ++i) {
    size_t at = 0;
    for (size_t a = 0; a < own.size(); ++a)
      at += i / dense[a] % static_cast<size_t>(y.shape[a]) % static_cast<size_t>(in[0].shape[a]) * own[a];
    y.v.push_back(in[0].v[at]);
  }
  return std::vector{std::move(y)};
}

// [2,3] by (1,4): [1,2,1,3] -> Expand [1,2,4,3] -> [2,12]
Result<std::vector<TensorId>> expand_tile(ExpandContext& c) {
  NodeContext n{c.build.graph(), c.node};
  TRY(auto r, repeats(n));
  auto name = n.output(0).name;
  Shape in = n.in(0), out = n.out(0), apart, repeated;
  for (size_t a = 0; a < r.size(); ++a) {
    if (r[a] != 1) apart.push_back(1), repeated.push_back(r[a]);
    apart.push_back(in[a]), repeated.push_back(in[a]);
  }
  auto y = reshape(c, c.node.inputs[0], apart, name + ".apart");
  y = c.build.node({"", "Expand"}, {y, c.build.integers(repeated, name + ".repeats")}, {}, name + ".repeated");
  y = reshape(c, y, out, name);
  CHECK_OK(c.build.status());
  return std::vector{y};
}

// ---- DepthToSpace and SpaceToDepth

Result<int64_t> block(const NodeContext& n) {
  CHECK_OK(takes(n, 1, 1));
  auto size = n.node.attributes.integer("blocksize", 0);
  if (n.in(0).size() != 4)
    return n.error(fmt::format("'{}' is {}; it must have four axes", n.input(0).name, to_string(n.input(0).type)));
  if (size < 1) return n.error(fmt::format("has the blocksize {}", size));
  return size;
}

Result<std::vector<TensorType>> infer_to_space(const NodeContext& n) {
  TRY(auto b, block(n));
  auto type = n.input(0).type;
  auto& s = type.shape;
  if (s[1] % (b * b) != 0) return n.error(fmt::format("{} channels do not divide into blocks of {} x {}", s[1], b, b));
  s = {s[0], s[1] / (b * b), s[2] * b, s[3] * b};
  return std::vector{type};
}

Result<std::vector<TensorType>> infer_to_depth(const NodeContext& n) {
  TRY(auto b, block(n));
  auto type = n.input(0).type;
  auto& s = type.shape;
  if (s[2] % b != 0 || s[3] % b != 0)
    return n.error(fmt::format("{} x {} do not divide into blocks of {}", s[2], s[3], b));
  s = {s[0], s[1] * b * b, s[2] / b, s[3] / b};
  return std::vector{type};
}

bool column_first(const NodeContext& n) {
  return n.node.attributes.text("mode", "DCR") == "CRD";
}

// Calls each(element of the tensor with few channels, element of that with many).
template <class Each>
void for_each_block(const Shape& space, int64_t b, bool crd, Each each) {
  auto channels = space[1], h = space[2] / b, w = space[3] / b;
  auto at = [](int64_t n, int64_t c, int64_t y, int64_t x, int64_t cs, int64_t ys, int64_t xs) {
    return static_cast<size_t>(((n * cs + c) * ys + y) * xs + x);
  };
  for (int64_t n = 0; n < space[0]; ++n)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t y = 0; y < space[2]; ++y)
        for (int64_t x = 0; x < space[3]; ++x) {
          auto part = y % b * b + x % b;
          auto deep = crd ? c * b * b + part : part * channels + c;
          each(at(n, c, y, x, channels, space[2], space[3]), at(n, deep, y / b, x / b, channels * b * b, h, w));
        }
}

Result<std::vector<Array>> reference_to_space(const NodeContext& n, std::span<const Array> in) {
  TRY(auto b, block(n));
  Array y{in[0].dtype, n.out(0), std::vector<double>(in[0].v.size())};
  for_each_block(n.out(0), b, column_first(n), [&](size_t to, size_t from) { y.v[to] = in[0].v[from]; });
  return std::vector{std::move(y)};
}

Result<std::vector<Array>> reference_to_depth(const NodeContext& n, std::span<const Array> in) {
  TRY(auto b, block(n));
  Array y{in[0].dtype, n.out(0), std::vector<double>(in[0].v.size())};
  for_each_block(n.in(0), b, false, [&](size_t from, size_t to) { y.v[to] = in[0].v[from]; });
  return std::vector{std::move(y)};
}

Result<std::vector<TensorId>> rearranged(ExpandContext& c, const Shape& apart, const std::vector<int64_t>& perm) {
  auto name = c.build.name(c.node.outputs[0]);
  Shape out = c.build.type(c.node.outputs[0]).shape;
  auto y = reshape(c, c.node.inputs[0], apart, name + ".blocks");
  y = c.build.node({"", "Transpose"}, {y}, {{"perm", perm}}, name + ".moved");
  y = reshape(c, y, out, name);
  CHECK_OK(c.build.status());
  return std::vector{y};
}

Result<std::vector<TensorId>> expand_to_space(ExpandContext& c) {
  NodeContext n{c.build.graph(), c.node};
  TRY(auto b, block(n));
  Shape x = n.in(0);
  auto channels = x[1] / (b * b);
  if (column_first(n)) return rearranged(c, {x[0], channels, b, b, x[2], x[3]}, {0, 1, 4, 2, 5, 3});
  return rearranged(c, {x[0], b, b, channels, x[2], x[3]}, {0, 3, 4, 1, 5, 2});
}

Result<std::vector<TensorId>> expand_to_depth(ExpandContext& c) {
  NodeContext n{c.build.graph(), c.node};
  TRY(auto b, block(n));
  Shape x = n.in(0);
  return rearranged(c, {x[0], x[1], x[2] / b, b, x[3] / b, b}, {0, 3, 5, 1, 2, 4});
}

}  // namespace

namespace defined {

const Operator Tile{.domain = "",
                    .type = "Tile",
                    .since = 6,
                    .summary = "repeats the tensor along its axes",
                    .verified = "onnx, torch",
                    .types = any_type,
                    .infer = infer_tile,
                    .reference = reference_tile,
                    .expand = expand_tile,
                    .known = 0b10};
const Operator DepthToSpace{.domain = "",
                            .type = "DepthToSpace",
                            .since = 1,
                            .summary = "channels to blocks of pixels (DCR, CRD)",
                            .verified = "onnx, torch",
                            .types = any_type,
                            .infer = infer_to_space,
                            .reference = reference_to_space,
                            .expand = expand_to_space};
const Operator SpaceToDepth{.domain = "",
                            .type = "SpaceToDepth",
                            .since = 1,
                            .summary = "blocks of pixels to channels",
                            .verified = "onnx, torch",
                            .types = any_type,
                            .infer = infer_to_depth,
                            .reference = reference_to_depth,
                            .expand = expand_to_depth};

}  // namespace defined
}  // namespace tessera::ops
