#include "ops/spread.hpp"

#include "ops/arguments.hpp"
#include "ops/pointwise.hpp"

namespace tessera::ops {

namespace {

std::vector<Shape> input_shapes(const NodeContext& n) {
  std::vector<Shape> shapes;
  for (size_t i = 0; i < n.node.inputs.size(); ++i) shapes.push_back(n.in(i));
  return shapes;
}

}  // namespace

Result<Shape> broadcast_inputs(const NodeContext& n) {
  auto shape = broadcast(input_shapes(n));
  if (!shape) return n.error(shape.error().message()).hint(shape.error().way_out());
  return *shape;
}

Result<void> one_type(const NodeContext& n, size_t first) {
  auto& a = n.input(first);
  for (size_t i = first + 1; i < n.node.inputs.size(); ++i)
    if (auto& b = n.input(i); a.type.dtype != b.type.dtype)
      return n
          .error(fmt::format("'{}' is {} and '{}' is {}; both must be of one type", a.name, name_of(a.type.dtype),
                             b.name, name_of(b.type.dtype)))
          .hint("insert a Cast");
  return {};
}

Result<TileMap> broadcast_map(const NodeContext& n) {
  auto s = collapse(n.out(0), input_shapes(n));
  constexpr size_t most = 8;  // TS_MAX_RANK of the kernels
  if (s.dims.size() > most) {
    std::vector<std::string> shapes;
    for (auto& shape : input_shapes(n)) shapes.push_back(to_string(shape));
    return n
        .error(fmt::format("broadcasting {} takes {} loops; the kernels have {}", fmt::join(shapes, " with "),
                           s.dims.size(), most))
        .hint("transpose the operands so that axes which are repeated together stand together");
  }
  return TileMap{.dims = std::move(s.dims), .inputs = std::move(s.operands), .outputs = {std::move(s.whole)}};
}

std::vector<KernelCall::Field> broadcast_fields(const NodeContext& n, const TileSymbols& tile) {
  auto s = collapse(n.out(0), input_shapes(n));
  std::vector<KernelCall::Field> fields;
  auto letter = [](size_t i) { return std::string(1, static_cast<char>('a' + i)); };
  for (size_t i = 0; i < s.operands.size(); ++i) fields.push_back(input_field(letter(i), static_cast<int>(i)));
  fields.push_back(output_field("y", 0));
  fields.push_back({"rank", Expr(static_cast<int64_t>(s.dims.size()))});
  fields.push_back({"extent", tile.box.len});
  for (size_t i = 0; i < s.operands.size(); ++i)
    fields.push_back({letter(i) + "_stride", strides(s.operands[i], tile.box)});
  return fields;
}

double broadcast_cycles(std::span<const int64_t> tile, double each, int cores) {
  int64_t elements = 1;
  for (auto t : tile) elements *= t;
  constexpr double per_run = 60;  // of stepping to the next run along the last dimension
  double runs = tile.back() == 0 ? 0 : static_cast<double>(elements / tile.back()) / cores;
  return team_cycles(elements, each, cores) + per_run * (runs + 1);
}

std::vector<std::vector<size_t>> spread_inputs(const Shape& shape, std::span<const Array> in) {
  std::vector<std::vector<size_t>> all;
  for (auto& a : in) all.push_back(spread(shape, a.shape));
  return all;
}

}  // namespace tessera::ops
