// Reshape, Flatten, Squeeze, Unsqueeze, Identity: the same bytes under another shape. No kernel, no transfer.
#include <algorithm>

#include "ops/arguments.hpp"
#include "ops/builder.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

std::vector<TensorType> reshaped(const NodeContext& n, Shape shape) {
  return {{n.input(0).type.dtype, std::move(shape)}};
}

// The shape of a Reshape: 0 keeps the input's extent (unless allowzero), one -1 takes what is left.
Result<Shape> requested_shape(const NodeContext& n, std::vector<int64_t> wanted) {
  bool zero_is_zero = n.node.attributes.integer("allowzero", 0) != 0;
  auto& in = n.in(0);
  std::optional<size_t> open;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] < -1) return n.error(fmt::format("asks for the extent {} at axis {}", wanted[i], i));
    if (wanted[i] == 0 && !zero_is_zero) {
      if (i >= in.size()) return n.error(fmt::format("copies axis {} of an input with the shape {}", i, to_string(in)));
      wanted[i] = in[i];
    }
    if (wanted[i] == -1) {
      if (open) return n.error(fmt::format("leaves axes {} and {} open; one -1 is allowed", *open, i));
      open = i;
    }
  }
  if (open) {
    wanted[*open] = 1;
    int64_t rest = count(wanted);
    wanted[*open] = rest == 0 ? 0 : count(in) / rest;
  }
  if (count(wanted) != count(in))
    return n.error(
        fmt::format("cannot give {} ({} elements) the shape {}", to_string(in), count(in), to_string(wanted)));
  return wanted;
}

Result<std::vector<TensorType>> infer_reshape(const NodeContext& n) {
  CHECK_OK(takes(n, 2, 2));
  TRY(auto wanted, known_integers(n, 1, "shape"));
  TRY(auto shape, requested_shape(n, std::move(wanted)));
  return reshaped(n, std::move(shape));
}

Result<std::vector<TensorType>> infer_flatten(const NodeContext& n) {
  CHECK_OK(takes(n, 1, 1));
  auto& in = n.in(0);
  auto rank = static_cast<int64_t>(in.size());
  int64_t axis = n.node.attributes.integer("axis", 1);
  if (axis < -rank || axis > rank)
    return n.error(fmt::format("axis {} is outside of a tensor with {} axes", axis, rank));
  auto split = in.begin() + (axis < 0 ? axis + rank : axis);
  return reshaped(n, {count(Shape(in.begin(), split)), count(Shape(split, in.end()))});
}

Result<std::vector<TensorType>> infer_squeeze(const NodeContext& n) {
  CHECK_OK(takes(n, 1, 2));
  auto& in = n.in(0);
  TRY(auto given, optional_axes(n, 1));
  TRY(auto axes, axes_of(n, given.value_or(std::vector<int64_t>{}), in.size()));
  Shape shape;
  for (size_t i = 0; i < in.size(); ++i) {
    bool named = std::ranges::binary_search(axes, static_cast<int64_t>(i));
    if (named && in[i] != 1) return n.error(fmt::format("axis {} of {} is not 1", i, to_string(in)));
    if (!(given ? named : in[i] == 1)) shape.push_back(in[i]);
  }
  return reshaped(n, std::move(shape));
}

Result<std::vector<TensorType>> infer_unsqueeze(const NodeContext& n) {
  CHECK_OK(takes(n, 1, 2));
  TRY(auto given, optional_axes(n, 1));
  if (!given) return n.error("has no axes");
  TRY(auto axes, axes_of(n, *given, n.in(0).size() + given->size()));
  Shape shape = n.in(0);
  for (auto axis : axes) shape.insert(shape.begin() + axis, 1);
  return reshaped(n, std::move(shape));
}

Result<std::vector<TensorType>> infer_identity(const NodeContext& n) {
  CHECK_OK(takes(n, 1, 1));
  return std::vector{n.input(0).type};
}

Result<std::vector<Array>> reference(const NodeContext& n, std::span<const Array> inputs) {
  return std::vector<Array>{{inputs[0].dtype, n.out(0), inputs[0].v}};
}

Result<std::vector<TensorId>> gradient(GradientContext& g) {
  std::vector<TensorId> d_inputs(g.node.inputs.size());
  auto& build = g.build;
  auto x = g.node.inputs[0];
  auto name = build.name(x) + "_grad";
  if (!g.wanted[0]) return d_inputs;
  Shape shape = build.type(x).shape;
  d_inputs[0] = build.type(g.d_outputs[0]).shape == shape
                    ? g.d_outputs[0]
                    : build.node({"", "Reshape"}, {g.d_outputs[0], build.integers(shape, name + ".shape")}, {}, name);
  CHECK_OK(build.status());
  return d_inputs;
}

std::vector<Alias> aliases(const NodeContext&) {
  return {{Alias::Kind::View, 0, 0}};
}

constexpr Operator view(std::string_view type, int since, std::string_view summary, decltype(Operator::infer) infer) {
  return {.domain = "",
          .type = type,
          .since = since,
          .summary = summary,
          .verified = "onnx, torch",
          .types = any_type,
          .infer = infer,
          .reference = reference,
          .gradient = gradient,
          .aliases = aliases,
          .known = 0b10};
}

}  // namespace

namespace defined {

const Operator Reshape = view("Reshape", 5, "the same elements under another shape (0, -1, allowzero)", infer_reshape);
const Operator Flatten = view("Flatten", 1, "two axes: those before `axis` and those from it on", infer_flatten);
const Operator Squeeze = view("Squeeze", 1, "drops axes of 1 (axes as attribute or input)", infer_squeeze);
const Operator Unsqueeze = view("Unsqueeze", 1, "inserts axes of 1 (axes as attribute or input)", infer_unsqueeze);
const Operator Identity = view("Identity", 1, "the input under another name", infer_identity);

}  // namespace defined
}  // namespace tessera::ops
