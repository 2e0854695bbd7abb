#include "plan/succession.hpp"

#include <algorithm>

#include "ops/operator.hpp"

namespace tessera::plan {

namespace {

// Every tile writes what it alone has read, and no tile comes back.
bool replaces(const ops::TileMap& map, const ops::OperandMap& in, const ops::OperandMap& out) {
  if (!in.present || !out.present || !(in == out)) return false;
  for (size_t d = 0; d < map.dims.size(); ++d)
    if (map.dims[d].extent > 1 && !out.uses(static_cast<int>(d))) return false;
  return std::ranges::all_of(out.axes, [](const ops::AxisMap& a) {
    return a.terms.empty() || (a.terms.size() == 1 && a.terms[0].coefficient == 1 && a.offset == 0 && a.window == 1);
  });
}

}  // namespace

Result<std::vector<Succession>> successions(const train::Program& program) {
  auto& graph = program.graph;
  std::vector<Succession> found;
  auto passing = [&](TensorId t) {
    return t && graph.at(t).role == Role::Activation && !std::ranges::count(graph.outputs, t);
  };
  for (auto& node : graph.nodes()) {
    TRY(auto* op, ops::definition(graph, node));
    ops::NodeContext context{graph, node};
    if (!op->tile_map || ops::is_view(*op) || (op->aliases && !op->aliases(context).empty())) continue;
    TRY(auto map, op->tile_map(context));
    for (size_t o = 0; o < map.outputs.size(); ++o)
      for (size_t i = 0; i < map.inputs.size(); ++i) {
        auto in = node.inputs[i], out = node.outputs[o];
        if (!passing(in) || !passing(out) || graph.at(in).type.bytes() != graph.at(out).type.bytes()) continue;
        if (std::ranges::count(node.inputs, in) != 1 || !replaces(map, map.inputs[i], map.outputs[o])) continue;
        found.push_back({in, out});
      }
  }
  return found;
}

}  // namespace tessera::plan
