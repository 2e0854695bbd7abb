#include "ops/pointwise.hpp"

#include <cctype>

namespace tessera::ops {

namespace {

OperandMap flat(const Graph& graph, TensorId id, int64_t elements) {
  if (!id) return {.present = false, .view = {}, .axes = {}};
  int64_t own = graph.at(id).type.elements();
  return {true, {own}, {own == elements ? AxisMap::along(0) : AxisMap::whole(own)}};
}

}  // namespace

Result<void> same_shape(const NodeContext& n, size_t a, size_t b) {
  if (n.in(a) == n.in(b)) return {};
  return n
      .error(fmt::format("'{}' is {} and '{}' is {}; they must have one shape", n.input(a).name,
                         to_string(n.input(a).type), n.input(b).name, to_string(n.input(b).type)))
      .hint("this operator does not broadcast: give both the same shape, with a Reshape where only the axes differ");
}

Result<void> one_element(const NodeContext& n, size_t i) {
  if (count(n.in(i)) == 1) return {};
  return n.error(fmt::format("'{}' is {}; it must have one element", n.input(i).name, to_string(n.input(i).type)))
      .hint("give it the shape [] or [1]");
}

TileMap flat_space(const NodeContext& n, int64_t elements) {
  TileMap map{.dims = {{"i", elements}}};
  for (auto id : n.node.inputs) map.inputs.push_back(flat(n.graph, id, elements));
  for (auto id : n.node.outputs) map.outputs.push_back(flat(n.graph, id, elements));
  return map;
}

KernelCall::Field flat_count(const TileSymbols& tile) {
  return {"n", tile.box.len[0]};
}
KernelCall::Field input_field(std::string name, int index) {
  return {std::move(name), OperandRef{OperandRef::Kind::Input, index}};
}
KernelCall::Field output_field(std::string name, int index) {
  return {std::move(name), OperandRef{OperandRef::Kind::Output, index}};
}
KernelCall::Field scratch_field(std::string name, int index) {
  return {std::move(name), OperandRef{OperandRef::Kind::Scratch, index}};
}

double team_cycles(int64_t items, double each, int cores) {
  constexpr double fork_and_join = 60;
  return fork_and_join + each * static_cast<double>((items + cores - 1) / cores);
}

std::string kernel_name(std::string_view type) {
  std::string name = "ts";
  for (char c : type) {
    if (std::isupper(static_cast<unsigned char>(c))) name += '_';
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return name;
}

}  // namespace tessera::ops
