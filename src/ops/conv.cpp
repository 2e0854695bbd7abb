// Conv and ConvTranspose of one to three spatial axes, in groups, with every stride, dilation and padding. Each is the
// gradient of the other's data.
#include "ops/conv.hpp"

#include "ops/activation.hpp"
#include "ops/arguments.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

bool transposed(const NodeContext& n) {
  return n.node.op.type == "ConvTranspose";
}

bool fused(const NodeContext& n) {
  return n.node.op.type == "FusedConv";
}

Result<Convolution> checked(const NodeContext& n) {
  CHECK_OK(takes(n, 2, fused(n) ? 4 : 3));
  TRY(auto c, transposed(n) ? transposed_convolution(n, 0, 1) : convolution(n, 0, 1));
  if (!n.has_input(2)) return c;
  CHECK_OK(is_float(n, 2));
  auto channels = c.groups * (transposed(n) ? c.c : c.m);
  if (n.in(2) != Shape{channels})
    return n.error(fmt::format("the bias is {}; it must have one element for each of {} output channels",
                               to_string(n.input(2).type), channels));
  return c;
}

ConvSpace space(const NodeContext& n) {
  return conv_space(*checked(n), transposed(n) ? ConvProduct::Large : ConvProduct::Small);
}

Result<std::vector<TensorType>> infer(const NodeContext& n) {
  TRY(auto c, checked(n));
  return std::vector<TensorType>{{DType::F32, transposed(n) ? c.large() : c.small()}};
}

Result<std::vector<Array>> reference(const NodeContext& n, std::span<const Array> in) {
  TRY(auto c, checked(n));
  auto y = transposed(n) ? conv_reference(c, ConvProduct::Large, {.small = &in[0], .weights = &in[1]})
                         : conv_reference(c, ConvProduct::Small, {.large = &in[0], .weights = &in[1]});
  if (n.has_input(2)) add_channel_bias(y, in[2]);
  if (!fused(n)) return std::vector{std::move(y)};
  TRY(bool relu, fused_relu(n));
  for (auto& v : y.v)
    if (relu && v < 0) v = 0;
  return std::vector{std::move(y)};
}

Result<std::vector<TensorId>> gradient(GradientContext& g) {
  auto& build = g.build;
  NodeContext n{build.graph(), g.node};
  bool back = transposed(n);
  TRY(auto c, checked(n));
  auto x = g.node.inputs[0], w = g.node.inputs[1], dy = g.d_outputs[0];
  auto name = [&](size_t i) { return build.name(g.node.inputs[i]) + "_grad"; };
  std::vector<TensorId> d(g.node.inputs.size());
  if (g.wanted.size() > 2 && g.wanted[2]) d[2] = conv_bias(build, dy, name(2));
  if (g.wanted[1]) d[1] = back ? conv_weights(build, c, x, dy, w, name(1)) : conv_weights(build, c, dy, x, w, name(1));
  if (g.wanted[0]) d[0] = back ? conv_small(build, c, dy, w, name(0)) : conv_large(build, c, dy, w, name(0));
  CHECK_OK(build.status());
  return d;
}

Result<TileMap> tile_map(const NodeContext& n) {
  if (fused(n)) CHECK_OK(fused_relu(n));
  return conv_data_map(n, space(n), 0, 1, 2);
}

KernelCall kernel(const NodeContext& n, const TileSymbols& t) {
  auto call = conv_data_call(n, space(n), t, 0, 1, 2);
  if (fused(n)) call.fields.push_back({"relu", Expr(*fused_relu(n) ? 1 : 0)});
  return call;
}

// With a sum of its own, or as a user's model has it.
Result<std::vector<TensorId>> expand(ExpandContext& e) {
  TensorId addend = e.node.inputs.size() > 3 ? e.node.inputs[3] : TensorId{};
  return without_activation(e, {"", "Conv"}, 3, addend);
}

// A bias beside a product of matrices and an activation are another pass over what was made.
double cycles(const NodeContext& n, std::span<const int64_t> tile, int cores) {
  auto s = space(n);
  double passes = (fused(n) ? 1 : 0) + (s.matrices() && n.has_input(2) ? 1 : 0), made = passes > 0 ? 1 : 0;
  for (auto d : {s.n, s.g, transposed(n) ? s.c : s.m, s.place[0], s.place[1], s.place[2]})
    made *= static_cast<double>(tile[static_cast<size_t>(d)]);
  return conv_cycles(s, tile, cores) + 10 * passes * made / cores;
}

int64_t macs(const NodeContext& n) {
  return checked(n)->macs();
}

constexpr Operator sliding(std::string_view type, std::string_view summary) {
  return {.domain = "",
          .type = type,
          .since = 1,
          .summary = summary,
          .verified = "onnx, torch",
          .whole = "a window",
          .infer = infer,
          .reference = reference,
          .gradient = gradient,
          .tile_map = tile_map,
          .kernel = kernel,
          .cycles = cycles,
          .far_stack = 1.55,
          .macs = macs};
}

}  // namespace

namespace defined {

const Operator Conv = sliding("Conv", "convolution over 1 to 3 axes: groups, strides, dilations, pads, auto_pad");
const Operator ConvTranspose =
    sliding("ConvTranspose", "transposed convolution over 1 to 3 axes: also output_padding, output_shape");

const Operator FusedConv{.domain = "com.microsoft",
                         .type = "FusedConv",
                         .summary = "Conv, a sum and an activation (Relu is done by the kernel)",
                         .verified = "reference",
                         .whole = "a window",
                         .infer = infer,
                         .reference = reference,
                         .tile_map = tile_map,
                         .kernel = kernel,
                         .cycles = cycles,
                         .far_stack = 1.55,
                         .macs = macs,
                         .expand = expand};

}  // namespace defined
}  // namespace tessera::ops
