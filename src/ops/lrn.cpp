// LRN: every element over a power of the squares around it, along the channels; and its gradient.
#include <cmath>

#include "ops/arguments.hpp"
#include "ops/builder.hpp"
#include "ops/lines.hpp"
#include "ops/pointwise.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

enum Dim { Sample, Channel, Inner };

struct Lrn {
  Lines lines;  // samples, channels, space
  int64_t size = 1, before = 0, after = 0;
  float alpha = 1e-4f, beta = 0.75f, bias = 1;
};

Result<Lrn> describe(const NodeContext& n, size_t x) {
  auto& a = n.node.attributes;
  Lrn d{.size = a.integer("size", 0),
        .alpha = a.real("alpha", 1e-4f),
        .beta = a.real("beta", 0.75f),
        .bias = a.real("bias", 1)};
  if (d.size < 1) return n.error(fmt::format("size is {}; it must be given, and positive", d.size));
  auto& shape = n.in(x);
  if (shape.size() < 2)
    return n.error(fmt::format("'{}' is {}; it needs an axis of samples and one of channels", n.input(x).name,
                               to_string(n.input(x).type)));
  d.lines = {shape[0], shape[1], count(Shape(shape.begin() + 2, shape.end()))};
  d.before = (d.size - 1) / 2;
  d.after = d.size - 1 - d.before;
  return d;
}

// Beyond what ONNX names, the second output is what the power is of.
Result<std::vector<TensorType>> infer(const NodeContext& n) {
  CHECK_OK(takes(n, 1, 1));
  CHECK_OK(is_float(n, 0));
  CHECK_OK(describe(n, 0));
  return std::vector{n.input(0).type, n.input(0).type};
}

Result<std::vector<TensorType>> infer_grad(const NodeContext& n) {
  CHECK_OK(takes(n, 3, 3));
  for (size_t i = 0; i < 3; ++i) {
    CHECK_OK(is_float(n, i));
    CHECK_OK(same_shape(n, 0, i));
  }
  CHECK_OK(describe(n, 0));
  return std::vector{n.input(0).type};
}

// Results go channel by channel, inputs come with the channels around them.
TileMap space(const NodeContext& n, const Lines& l, int64_t before, int64_t after) {
  OperandMap result{
      true, {l.outer, l.axis, l.inner}, {AxisMap::along(Sample), AxisMap::along(Channel), AxisMap::along(Inner)}};
  OperandMap input = result;
  input.axes[1] = {{{Channel, 1}}, -before, before + 1 + after};
  TileMap map{.dims = {{"sample", l.outer}, {"channel", l.axis}, {"inner", l.inner}}};
  map.inputs.assign(n.node.inputs.size(), input);
  for (auto id : n.node.outputs) map.outputs.push_back(id ? result : untouched());
  return map;
}

std::vector<KernelCall::Field> tile_fields(const TileMap& map, const TileSymbols& tile, int64_t before, int64_t after) {
  auto input = region(map.inputs[0], tile.box, map);
  return {{"tile.samples", tile.box.len[Sample]},
          {"tile.channels", tile.box.len[Channel]},
          {"tile.inner", tile.box.len[Inner]},
          {"tile.all", input.len[1]},
          {"tile.skip", tile.box.lo[Channel] - input.lo[1]},
          {"tile.before", Expr(before)},
          {"tile.after", Expr(after)}};
}

Result<TileMap> tile_map(const NodeContext& n) {
  TRY(auto d, describe(n, 0));
  return space(n, d.lines, d.before, d.after);
}

// An element is in the window of those whose window reaches it: the other way round.
Result<TileMap> tile_map_grad(const NodeContext& n) {
  TRY(auto d, describe(n, 0));
  return space(n, d.lines, d.after, d.before);
}

KernelCall kernel(const NodeContext& n, const TileSymbols& tile) {
  auto d = describe(n, 0).value();
  auto fields = tile_fields(*tile_map(n), tile, d.before, d.after);
  fields.push_back(input_field("x", 0));
  if (n.has_output(0)) fields.push_back(output_field("y", 0));
  if (n.has_output(1)) fields.push_back(output_field("base", 1));
  fields.push_back({"bias", d.bias});
  fields.push_back({"scale", d.alpha / static_cast<float>(d.size)});
  fields.push_back({"beta", d.beta});
  return {"ts_lrn", "lrn", std::move(fields)};
}

KernelCall kernel_grad(const NodeContext& n, const TileSymbols& tile) {
  auto d = describe(n, 0).value();
  auto fields = tile_fields(*tile_map_grad(n), tile, d.after, d.before);
  for (auto& field : {input_field("dy", 0), input_field("x", 1), input_field("base", 2), output_field("dx", 0)})
    fields.push_back(field);
  fields.push_back({"scale", 2 * d.alpha * d.beta / static_cast<float>(d.size)});
  fields.push_back({"beta", d.beta});
  return {"ts_lrn_grad", "lrn", std::move(fields)};
}

template <int each, int per_neighbour>
double cycles(const NodeContext& n, std::span<const int64_t> tile, int cores) {
  auto size = n.node.attributes.integer("size", 1);
  return team_cycles(tile[0] * tile[1] * tile[2], each + per_neighbour * static_cast<double>(size), cores);
}

// Each neighbour of each element: (channel, its neighbour, position of both).
template <class Each>
void for_neighbours(const Lrn& d, Each each) {
  auto [samples, channels, inner] = d.lines;
  for (int64_t s = 0; s < samples; ++s)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t j = std::max<int64_t>(0, c - d.before); j <= std::min(channels - 1, c + d.after); ++j)
        for (int64_t i = 0; i < inner; ++i)
          each(static_cast<size_t>((s * channels + c) * inner + i),
               static_cast<size_t>((s * channels + j) * inner + i));
}

Result<std::vector<Array>> reference(const NodeContext& n, std::span<const Array> in) {
  TRY(auto d, describe(n, 0));
  Array y = in[0], base = in[0];
  for (auto& b : base.v) b = d.bias;
  for_neighbours(
      d, [&](size_t at, size_t j) { base.v[at] += d.alpha / static_cast<double>(d.size) * in[0].v[j] * in[0].v[j]; });
  for (size_t i = 0; i < y.v.size(); ++i) y.v[i] *= std::pow(base.v[i], -d.beta);
  return std::vector{std::move(y), std::move(base)};
}

Result<std::vector<Array>> reference_grad(const NodeContext& n, std::span<const Array> in) {
  TRY(auto d, describe(n, 0));
  auto &dy = in[0].v, &x = in[1].v, &base = in[2].v;
  Array dx = in[0];
  for (size_t i = 0; i < x.size(); ++i) dx.v[i] = dy[i] * std::pow(base[i], -d.beta);
  double scale = 2.0 * d.alpha * d.beta / static_cast<double>(d.size);
  for_neighbours(
      d, [&](size_t at, size_t j) { dx.v[j] -= scale * x[j] * dy[at] * x[at] * std::pow(base[at], -d.beta - 1); });
  return std::vector{std::move(dx)};
}

Result<std::vector<TensorId>> gradient(GradientContext& g) {
  auto& build = g.build;
  if (!g.wanted[0] || !g.d_outputs[0]) return std::vector<TensorId>{{}};
  auto x = g.node.inputs[0];
  auto base = build.output(g.node, 1, build.type(x), "base");
  auto dx =
      build.node({"com.microsoft", "LRNGrad"}, {g.d_outputs[0], x, base}, g.node.attributes, build.name(x) + "_grad");
  CHECK_OK(build.status());
  return std::vector{dx};
}

}  // namespace

namespace defined {

const Operator LRN{.domain = "",
                   .type = "LRN",
                   .summary = "x / (bias + alpha / size * sum of squares of neighbouring channels)^beta",
                   .verified = "onnx, torch",
                   .infer = infer,
                   .reference = reference,
                   .gradient = gradient,
                   .tile_map = tile_map,
                   .kernel = kernel,
                   .cycles = cycles<110, 6>};
const Operator LRNGrad{.domain = "com.microsoft",
                       .type = "LRNGrad",
                       .summary = "gradient of LRN from dY, X and the sums",
                       .verified = "torch",
                       .infer = infer_grad,
                       .reference = reference_grad,
                       .tile_map = tile_map_grad,
                       .kernel = kernel_grad,
                       .cycles = cycles<110, 90>};

}  // namespace defined
}  // namespace tessera::ops
