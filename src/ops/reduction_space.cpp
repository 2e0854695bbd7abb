#include "ops/reduction_space.hpp"

#include <algorithm>

#include "ops/arguments.hpp"

namespace tessera::ops {

Result<Reduction> reduction(const NodeContext& n, size_t i) {
  auto& in = n.in(i);
  TRY(auto given, i == 0 ? optional_axes(n, 1) : n.node.attributes.integers("axes"));
  TRY(auto axes, axes_of(n, given.value_or(std::vector<int64_t>{}), in.size()));
  Reduction r;
  r.noop = axes.empty() && n.node.attributes.integer("noop_with_empty_axes", 0) != 0;
  bool keep = n.node.attributes.integer("keepdims", 1) != 0;
  for (size_t axis = 0; axis < in.size(); ++axis) {
    bool reduced = !r.noop && (axes.empty() || std::ranges::binary_search(axes, static_cast<int64_t>(axis)));
    r.reduced.push_back(reduced);
    r.kept_shape.push_back(reduced ? 1 : in[axis]);
    if (reduced) r.terms *= in[axis];
    if (!reduced || keep) r.out.push_back(r.kept_shape.back());
  }
  return r;
}

void add_space(KernelCall& call, const TileMap& map, const OperandMap& x, const OperandMap& result,
               const TileSymbols& t) {
  struct Group {
    std::string name;
    std::vector<Expr> size, stride;
  } kept{"kept", {}, {}}, reduced{"reduced", {}, {}};
  auto step = strides(x, t.box);
  for (size_t d = 0; d < map.dims.size(); ++d) {
    auto& group = result.uses(static_cast<int>(d)) ? kept : reduced;
    group.size.push_back(t.box.len[d]);
    group.stride.push_back(step[d]);
  }
  for (auto* group : {&kept, &reduced}) {
    if (group->size.empty()) {
      group->size.push_back(1);
      group->stride.push_back(0);
    }
    call.fields.push_back({group->name + "_rank", Expr(static_cast<int64_t>(group->size.size()))});
    call.fields.push_back({group->name, group->size});
    call.fields.push_back({group->name + "_stride", group->stride});
  }
}

Expr last_reduced_start(const TileMap& map, const OperandMap& result, const TileSymbols& t) {
  for (size_t d = map.dims.size(); d-- > 0;)
    if (!result.uses(static_cast<int>(d))) return t.box.lo[d];
  return 0;
}

ResultsAndTerms results_and_terms(const OperandMap& result, std::span<const int64_t> tile) {
  ResultsAndTerms n;
  for (size_t d = 0; d < tile.size(); ++d)
    if (result.uses(static_cast<int>(d)))
      n.results *= tile[d];
    else
      n.terms *= static_cast<double>(tile[d]);
  return n;
}

}  // namespace tessera::ops
