// ReduceSum, ReduceMean and com.microsoft.ReduceSumTraining: one reduction over any axes; what is combined and how it
// ends is the only difference.
#include <algorithm>

#include "ops/arguments.hpp"
#include "ops/broadcast.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

enum class Combine : int64_t { Sum = 0, Mean = 1 };  // as in runtime/kernels/reduction.h

struct Reduction {
  std::vector<bool> reduced;  // by axis
  bool keep = true;
  int64_t terms = 1;  // of each output element
  Shape kept_shape;   // with 1 for a reduced axis
  Shape out;
};

Combine combination(const NodeContext& n) {
  return n.node.op.type == "ReduceMean" ? Combine::Mean : Combine::Sum;
}

Result<Reduction> reduction(const NodeContext& n) {
  CHECK_OK(takes(n, 1, 2));
  auto& in = n.in(0);
  TRY(auto given, optional_axes(n, 1));
  TRY(auto axes, axes_of(n, given.value_or(std::vector<int64_t>{}), in.size()));
  bool all = axes.empty() && n.node.attributes.integer("noop_with_empty_axes", 0) == 0;
  Reduction r;
  r.keep = n.node.attributes.integer("keepdims", 1) != 0;
  for (size_t i = 0; i < in.size(); ++i) {
    bool reduced = all || std::ranges::binary_search(axes, static_cast<int64_t>(i));
    r.reduced.push_back(reduced);
    r.kept_shape.push_back(reduced ? 1 : in[i]);
    if (reduced) r.terms *= in[i];
    if (!reduced || r.keep) r.out.push_back(r.kept_shape.back());
  }
  return r;
}

Result<std::vector<TensorType>> infer(const NodeContext& n) {
  CHECK_OK(takes(n, 1, 2));
  CHECK_OK(is_one_of(n, 0, {DType::F32, DType::I64, DType::I32}));
  TRY(auto r, reduction(n));
  return std::vector<TensorType>{{n.input(0).type.dtype, r.out}};
}

Result<std::vector<Array>> reference(const NodeContext& n, std::span<const Array> in) {
  TRY(auto r, reduction(n));
  Array y{in[0].dtype, r.out, std::vector<double>(static_cast<size_t>(count(r.out)))};
  auto to = spread(in[0].shape, r.kept_shape);
  for (size_t i = 0; i < to.size(); ++i) y.v[to[i]] += in[0].v[i];
  if (combination(n) == Combine::Mean)
    for (auto& v : y.v) {
      v /= static_cast<double>(r.terms);
      if (y.dtype != DType::F32) v = static_cast<double>(static_cast<int64_t>(v));
    }
  return std::vector{std::move(y)};
}

// Every term gets the gradient of its sum; of a mean, its share.
Result<std::vector<TensorId>> gradient(GradientContext& g) {
  std::vector<TensorId> d(g.node.inputs.size());
  if (!g.wanted[0]) return d;
  auto& build = g.build;
  NodeContext n{build.graph(), g.node};
  TRY(auto r, reduction(n));
  bool mean = combination(n) == Combine::Mean;
  Shape shape = build.type(g.node.inputs[0]).shape;
  auto name = build.name(g.node.inputs[0]) + "_grad";
  auto dy = g.d_outputs[0];
  if (mean && r.terms != 1)
    dy = build.node({"", "Mul"}, {dy, build.scalar(1.0f / static_cast<float>(r.terms), name + ".share")}, {},
                    name + ".scaled");
  if (r.out != r.kept_shape)
    dy = build.node({"", "Reshape"}, {dy, build.integers(r.kept_shape, name + ".kept")}, {}, name + ".reshaped");
  if (r.kept_shape != shape) dy = build.node({"", "Expand"}, {dy, build.integers(shape, name + ".shape")}, {}, name);
  CHECK_OK(build.status());
  d[0] = dy;
  return d;
}

// ---- the device

// A reduction is a broadcast the other way round: the output is repeated along the dimensions that are summed.
Result<TileMap> tile_map(const NodeContext& n) {
  if (n.input(0).type.dtype != DType::F32)
    return n.error(fmt::format("reduces {} on the device; only f32 has a kernel", name_of(n.input(0).type.dtype)))
        .hint("fold integer arithmetic on shapes into constants before training");
  TRY(auto r, reduction(n));
  auto space = collapse(n.in(0), std::span(&r.kept_shape, 1));
  TileMap map{.dims = space.dims, .inputs = {space.whole}, .outputs = {space.operands[0]}};
  if (n.node.inputs.size() > 1) map.inputs.push_back(untouched());
  return walkable(n, std::move(map));
}

KernelCall kernel(const NodeContext& n, const TileSymbols& t) {
  auto map = *tile_map(n);
  auto r = *reduction(n);
  auto step = strides(map.inputs[0], t.box);
  struct Group {
    std::vector<Expr> size, stride;
  } kept, reduced;
  for (size_t d = 0; d < map.dims.size(); ++d) {
    auto& group = map.outputs[0].uses(static_cast<int>(d)) ? kept : reduced;
    group.size.push_back(t.box.len[d]);
    group.stride.push_back(step[d]);
  }
  for (auto* group : {&kept, &reduced})
    if (group->size.empty()) {
      group->size.push_back(1);
      group->stride.push_back(0);
    }
  return {"ts_reduce",
          "reduction",
          {{"x", OperandRef{OperandRef::Kind::Input, 0}},
           {"y", OperandRef{OperandRef::Kind::Output, 0}},
           {"op", Expr(static_cast<int64_t>(combination(n)))},
           {"kept_rank", Expr(static_cast<int64_t>(kept.size.size()))},
           {"kept", kept.size},
           {"kept_stride", kept.stride},
           {"reduced_rank", Expr(static_cast<int64_t>(reduced.size.size()))},
           {"reduced", reduced.size},
           {"reduced_stride", reduced.stride},
           {"first", t.first[0]},
           {"last", t.last[0]},
           {"divisor", static_cast<float>(r.terms)}}};
}

// A core has whole output elements: with fewer of them than cores, the others wait.
double cycles(const NodeContext& n, std::span<const int64_t> tile, int cores) {
  auto map = *tile_map(n);
  int64_t results = 1;
  double terms = 1;
  for (size_t d = 0; d < tile.size(); ++d)
    if (map.outputs[0].uses(static_cast<int>(d)))
      results *= tile[d];
    else
      terms *= static_cast<double>(tile[d]);
  auto share = static_cast<double>((results + cores - 1) / cores);
  double per_term = share >= 4 ? 4 : 7;
  return 120 + share * (terms * per_term + 30);
}

constexpr Operator reducing(std::string_view domain, std::string_view type, std::string_view summary,
                            std::string_view verified) {
  return {.domain = domain,
          .type = type,
          .since = 1,
          .summary = summary,
          .verified = verified,
          .infer = infer,
          .reference = reference,
          .gradient = gradient,
          .tile_map = tile_map,
          .kernel = kernel,
          .cycles = cycles,
          .known = 0b10};
}

}  // namespace

namespace defined {

const Operator ReduceSum =
    reducing("", "ReduceSum", "sums over axes (attribute or input; all where none are named)", "onnx, differences");
const Operator ReduceMean =
    reducing("", "ReduceMean", "means over axes (attribute or input; all where none are named)", "onnx, differences");
const Operator ReduceSumTraining =
    reducing("com.microsoft", "ReduceSumTraining", "ReduceSum with axes as input", "reference, differences");

}  // namespace defined
}  // namespace tessera::ops
