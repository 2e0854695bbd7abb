#include "check/facts.hpp"

#include <algorithm>

namespace tessera::check {

namespace {

ops::KernelCall symbolic_call(const NodeFacts& facts, const ops::NodeContext& context) {
  int next = 0;
  auto variables = [&](size_t n) {
    std::vector<Expr> all;
    for (size_t i = 0; i < n; ++i) all.push_back(Expr::var(next++));
    return all;
  };
  size_t dims = facts.map.dims.size(), results = facts.map.outputs.size() + facts.map.scratch.size();
  ops::TileSymbols symbols;
  symbols.box.lo = variables(dims);
  symbols.box.len = variables(dims);
  symbols.first = variables(results);
  symbols.last = variables(results);
  return facts.op->kernel(context, symbols);
}

void add_view(Facts& facts, TensorId tensor, const Shape& view) {
  auto& known = facts.views[static_cast<size_t>(facts.content[static_cast<size_t>(tensor.index)])];
  if (std::ranges::find(known, view) == known.end()) known.push_back(view);
}

void follow_aliases(Facts& facts, const Node& node, int32_t index) {
  for (auto t : node.outputs)
    if (t) facts.maker[static_cast<size_t>(t.index)] = index;
  for (auto& alias : facts.nodes.back().aliases) {
    auto in = node.inputs[static_cast<size_t>(alias.input)], out = node.outputs[static_cast<size_t>(alias.output)];
    if (!in || !out) continue;
    auto source = facts.content[static_cast<size_t>(in.index)];
    if (alias.kind == ops::Alias::Kind::View)
      facts.content[static_cast<size_t>(out.index)] = source;
    else
      facts.replaced_by[static_cast<size_t>(source)] = out.index;
  }
}

}  // namespace

ops::Box part_made(const ops::TileMap& map, size_t output) {
  ops::Box space;
  for (auto& dim : map.dims) space.lo.push_back(0), space.len.push_back(dim.extent);
  return ops::region(map.outputs[output], space);
}

int64_t Facts::made_by(const Graph& graph, int32_t node, size_t output) const {
  if (kept_around(graph, node, output)) return count(part_made(nodes[static_cast<size_t>(node)].map, output).len);
  return graph.at(graph.nodes()[static_cast<size_t>(node)].outputs[output]).type.elements();
}

Result<Facts> gather(const Graph& graph) {
  Facts facts;
  auto count = graph.tensors().size();
  for (size_t t = 0; t < count; ++t) facts.content.push_back(static_cast<int32_t>(t));
  facts.replaced_by.assign(count, -1);
  facts.maker.assign(count, -1);
  facts.views.resize(count);
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    auto& node = graph.nodes()[n];
    ops::NodeContext context{graph, node};
    NodeFacts about;
    TRY(about.op, ops::definition(graph, node));
    if (about.op->aliases) about.aliases = about.op->aliases(context);
    if (about.op->tile_map) {
      TRY(about.map, about.op->tile_map(context));
      about.call = symbolic_call(about, context);
    }
    facts.nodes.push_back(std::move(about));
    follow_aliases(facts, node, static_cast<int32_t>(n));
    auto& map = facts.nodes.back().map;
    for (size_t i = 0; i < map.inputs.size(); ++i)
      if (facts.is_input_of(graph, static_cast<int32_t>(n), i)) add_view(facts, node.inputs[i], map.inputs[i].view);
    for (size_t o = 0; o < map.outputs.size(); ++o)
      if (facts.is_output_of(graph, static_cast<int32_t>(n), o)) add_view(facts, node.outputs[o], map.outputs[o].view);
  }
  return facts;
}

}  // namespace tessera::check
