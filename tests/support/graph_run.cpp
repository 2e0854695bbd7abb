#include "support/graph_run.hpp"

#include <stdexcept>

#include "support/tiled_run.hpp"

namespace tessera::test {

namespace {

using Values = std::vector<TensorData>;

Values starting_values(const Graph& graph, const std::map<TensorId, TensorData>& inputs) {
  Values values;
  for (auto& t : graph.tensors())
    values.push_back(t.role == Role::Activation ? TensorData{} : t.value.empty() ? TensorData::zeros(t.type) : t.value);
  for (auto& [id, data] : inputs) values[static_cast<size_t>(id.index)] = data;
  return values;
}

// One node in every way: its call is compiled once.
void run_node(const Graph& graph, NodeId id, std::span<const GraphRun> ways, std::mt19937& rng,
              std::vector<Values>& runs) {
  auto& node = graph.at(id);
  auto op = ops::definition(graph, node);
  if (!op) throw std::runtime_error(op.error().text());
  std::unique_ptr<TiledRun> run;
  if (!ops::is_view(**op)) run = std::make_unique<TiledRun>(graph, id);
  for (size_t way = 0; way < ways.size(); ++way) {
    auto& values = runs[way];
    Values operands, made;
    for (auto t : node.inputs) operands.push_back(t ? values[static_cast<size_t>(t.index)] : TensorData{});
    if (!run) {
      made = {operands[0].reshaped(graph.at(node.outputs[0]).type.shape)};
    } else if (ways[way].tiled) {
      auto tile = random_tile(run->map(), rng);
      made = (*run)(operands, tile, ways[way].cores, random_loops(run->map(), rng));
    } else {
      made = (*run)(operands, whole_tile(run->map()), ways[way].cores);
    }
    for (size_t o = 0; o < node.outputs.size(); ++o)
      if (node.outputs[o]) values[static_cast<size_t>(node.outputs[o].index)] = made[o];
  }
}

}  // namespace

std::vector<Values> run_graph(const Graph& graph, const std::map<TensorId, TensorData>& inputs,
                              std::span<const GraphRun> ways, std::mt19937& rng) {
  std::vector<Values> runs(ways.size(), starting_values(graph, inputs));
  for (int32_t n = 0; n < static_cast<int32_t>(graph.nodes().size()); ++n) run_node(graph, NodeId{n}, ways, rng, runs);
  return runs;
}

}  // namespace tessera::test
