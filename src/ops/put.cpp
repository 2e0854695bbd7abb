// Put: x takes its place along an axis of a larger tensor, which keeps everything else that stands there. A Concat is
// one Put for each of its parts, and each of them moves by DMA alone.
//
//   Put(a, -) {axis 1, start 0, extent 5} -> y,   Put(b, y) {axis 1, start 3, extent 5}   =   Concat(a, b)
#include <algorithm>

#include "ops/arguments.hpp"
#include "ops/movement.hpp"
#include "ops/pointwise.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

struct Spot {
  size_t axis = 0;
  int64_t start = 0, extent = 1;
};
Result<Spot> spot(const NodeContext& n) {
  TRY(auto axis, axis_of(n, n.node.attributes.integer("axis", 0), n.in(0).size()));
  Spot s{static_cast<size_t>(axis), n.node.attributes.integer("start", 0), n.node.attributes.integer("extent", 0)};
  if (s.start < 0 || s.start + n.in(0)[s.axis] > s.extent)
    return n.error(fmt::format("puts {} from {} on into an axis of {}", to_string(n.in(0)), s.start, s.extent));
  return s;
}

Result<std::vector<TensorType>> infer(const NodeContext& n) {
  CHECK_OK(takes(n, 1, 2));
  TRY(auto s, spot(n));
  auto type = n.input(0).type;
  type.shape[s.axis] = s.extent;
  if (n.has_input(1) && n.input(1).type != type)
    return n.error(
        fmt::format("'{}' is {}; it must be {}", n.input(1).name, to_string(n.input(1).type), to_string(type)));
  return std::vector{type};
}

Result<std::vector<Array>> reference(const NodeContext& n, std::span<const Array> in) {
  TRY(auto s, spot(n));
  Array y{in[0].dtype, n.out(0), std::vector<double>(static_cast<size_t>(count(n.out(0))))};
  if (n.has_input(1)) y.v = in[1].v;
  auto [outer, extent, inner] = around(n.out(0), s.axis);
  auto run = n.in(0)[s.axis] * inner;
  for (int64_t o = 0; o < outer; ++o)
    std::copy_n(in[0].v.begin() + o * run, run, y.v.begin() + (o * extent + s.start) * inner);
  return std::vector{std::move(y)};
}

std::vector<Alias> aliases(const NodeContext&) {
  return {{Alias::Kind::InPlace, 1, 0}};
}

// Rows of what stands before the axis, columns of the rest. What x does not reach is not touched.
Result<TileMap> tile_map(const NodeContext& n) {
  TRY(auto s, spot(n));
  auto [rows, extent, inner] = around(n.out(0), s.axis);
  auto columns = n.in(0)[s.axis] * inner;
  TileMap map{.dims = {{"row", rows}, {"column", columns}}};
  map.inputs.resize(n.node.inputs.size(), untouched());
  map.inputs[0] = {true, {rows, columns}, {AxisMap::along(0), AxisMap::along(1)}};
  map.outputs = {{true, {rows, extent * inner}, {AxisMap::along(0), AxisMap{{{1, 1}}, s.start * inner, 1}}}};
  return map;
}

KernelCall kernel(const NodeContext& n, const TileSymbols& t) {
  return {"ts_copy",
          "copy",
          {input_field("x", 0),
           output_field("y", 0),
           {"element", Expr(size_of(n.output(0).type.dtype))},
           {"rank", Expr(1)},
           {"size", std::vector<Expr>{t.box.len[0] * t.box.len[1]}},
           {"x_stride", std::vector<Expr>{1}}}};
}

double cycles(const NodeContext& n, std::span<const int64_t> tile, int cores) {
  const int64_t flat[] = {tile[0] * tile[1]};
  return copy_cycles(n, flat, cores);
}

}  // namespace

namespace defined {

const Operator Put{.domain = "org.tessera",
                   .type = "Put",
                   .summary = "a part of a Concat at its place, beside those that stand there",
                   .verified = "reference",
                   .types = any_type,
                   .infer = infer,
                   .reference = reference,
                   .aliases = aliases,
                   .tile_map = tile_map,
                   .kernel = kernel,
                   .cycles = cycles,
                   .copies = true};

}  // namespace defined
}  // namespace tessera::ops
