#include "ops/normalization.hpp"

#include <algorithm>
#include <cmath>

#include "ops/arguments.hpp"
#include "ops/builder.hpp"
#include "ops/pointwise.hpp"

namespace tessera::ops {
namespace {

enum Dim { Outer, Group, Pass, Row, Part, Run };

// Sums are made of blocks of about this many elements: few enough for the cores to share a group.
constexpr int64_t block = 64;

struct Blocks {
  int64_t rows, parts, inner;  // of one block
};
Blocks blocks_of(const NormShape& s) {
  Blocks b{};
  b.inner = std::clamp<int64_t>(s.inner, 1, block);
  b.parts = std::clamp<int64_t>(s.inner < block ? block / std::max<int64_t>(s.inner, 1) : 1, 1,
                                std::max<int64_t>(s.parts, 1));
  int64_t run = s.inner * s.parts;
  b.rows = std::clamp<int64_t>(run < block ? block / std::max<int64_t>(run, 1) : 1, 1, std::max<int64_t>(s.rows, 1));
  return b;
}
int64_t pieces(int64_t n, int64_t each) {
  return (n + each - 1) / each;
}

// Which passes there are, in the kernel's numbers: [first, end).
struct Passes {
  int64_t first, end;
  int64_t count() const { return end - first; }
};
Passes passes_of(const Normalization& d) {
  return {d.given ? 2 : d.around_zero ? 1 : 0, d.y >= 0 ? 3 : 2};
}
Passes passes_of(const NormalizationGrad& d) {
  bool params = d.dscale >= 0 || d.dbias >= 0;
  bool sums = (params && d.own()) || (d.dx >= 0 && !d.frozen);
  bool second = d.dx >= 0 || (params && !d.own());
  return {d.inv_std < 0 ? -2 : sums ? 0 : 1, second ? 2 : 1};
}

// The regions of everything a normalisation touches.
struct Space {
  NormShape s;
  Blocks b;
  Passes passes;

  std::vector<Dimension> dims() const {
    return {{"outer", s.outer},
            {"group", s.groups},
            {"pass", passes.count()},
            {"row", pieces(s.rows, b.rows)},
            {"part", pieces(s.parts, b.parts)},
            {"run", pieces(s.inner, b.inner)}};
  }
  static AxisMap by(int dim, int64_t each) { return {{{dim, each}}, 0, each}; }
  OperandMap data() const {
    return {true,
            {s.outer, s.rows, s.groups, s.parts, s.inner},
            {AxisMap::along(Outer), by(Row, b.rows), AxisMap::along(Group), by(Part, b.parts), by(Run, b.inner)}};
  }
  // Untouched before the last pass: there the rows lie before the first one, and so nowhere. A tile of several passes
  // spans all rows, because statistics are reduced over passes first and rows then.
  OperandMap result() const {
    auto map = data();
    int64_t all = pieces(s.rows, b.rows) * b.rows;
    map.axes[1].terms.push_back({Pass, all});
    map.axes[1].offset = -(passes.count() - 1) * all;
    return map;
  }
  OperandMap per_group(int64_t each = 1) const {
    return {true, {s.outer, s.groups, each}, {AxisMap::along(Outer), AxisMap::along(Group), AxisMap::whole(each)}};
  }
  OperandMap per_param(NormParams params) const {
    if (params == NormParams::Group) return {true, {s.groups}, {AxisMap::along(Group)}};
    return {true, {s.groups, s.parts}, {AxisMap::along(Group), by(Part, b.parts)}};
  }
  // Sums of blocks are of no use after their pass: that they follow it, by no element, says so.
  OperandMap per_block(int64_t each) const {
    AxisMap pass{{{Pass, 0}}, 0, 1};
    return {true,
            {s.outer, s.groups, pieces(s.rows, b.rows), pieces(s.parts, b.parts), pieces(s.inner, b.inner), each, 1},
            {AxisMap::along(Outer), AxisMap::along(Group), AxisMap::along(Row), AxisMap::along(Part),
             AxisMap::along(Run), AxisMap::whole(each), pass}};
  }
};
template <class Described>
Space space_of(const Described& d) {
  return {d.shape, blocks_of(d.shape), passes_of(d)};
}

void put(std::vector<OperandMap>& maps, int at, OperandMap map) {
  if (at >= 0) maps[static_cast<size_t>(at)] = std::move(map);
}

TileMap empty_map(const NodeContext& n, const Space& space) {
  TileMap map{.dims = space.dims()};
  map.inputs.assign(n.node.inputs.size(), untouched());
  map.outputs.assign(n.node.outputs.size(), untouched());
  return map;
}

using Fields = std::vector<KernelCall::Field>;

void put_input(Fields& fields, std::string name, int at) {
  if (at >= 0) fields.push_back(input_field(std::move(name), at));
}
void put_output(Fields& fields, std::string name, int at) {
  if (at >= 0) fields.push_back(output_field(std::move(name), at));
}

Expr starts(const TileSymbols& tile, std::initializer_list<int> dims) {
  Expr all = 1;
  for (int d : dims) all = both(all, equal(tile.box.lo[static_cast<size_t>(d)], 0));
  return all;
}

// struct ts_norm_tile
template <class Described>
Fields tile_fields(const Space& space, const TileMap& map, const Described& d, const TileSymbols& tile) {
  auto box = region(space.data(), tile.box, map);
  Expr last = 1;
  for (int d : {Row, Part, Run}) {
    auto i = static_cast<size_t>(d);
    last = both(last, equal(tile.box.lo[i] + tile.box.len[i], map.dims[i].extent));
  }
  bool by_part = d.params == NormParams::Part;
  return {{"tile.outer", box.len[0]},
          {"tile.rows", box.len[1]},
          {"tile.groups", box.len[2]},
          {"tile.parts", box.len[3]},
          {"tile.inner", box.len[4]},
          {"tile.block_rows", Expr(space.b.rows)},
          {"tile.block_parts", Expr(space.b.parts)},
          {"tile.block_inner", Expr(space.b.inner)},
          {"tile.pass", tile.box.lo[Pass] + space.passes.first},
          {"tile.passes", tile.box.len[Pass]},
          {"tile.first", starts(tile, {Row, Part, Run})},
          {"tile.last", last},
          {"tile.group_step", by_part ? box.len[3] : Expr(1)},
          {"tile.part_step", Expr(int{by_part})},
          {"tile.epsilon", d.epsilon},
          {"tile.share", static_cast<float>(share_of(d.shape, d.rule))}};
}

// Of a call for a tile of the space, by what the passes cost an element; measured on the virtual chip.
double block_cycles(const Space& space, std::span<const int64_t> tile, int cores, double per_element, double passes) {
  auto elements = static_cast<double>(tile[Outer] * tile[Group]) *
                  static_cast<double>(std::min(tile[Row] * space.b.rows, space.s.rows)) *
                  static_cast<double>(std::min(tile[Part] * space.b.parts, space.s.parts)) *
                  static_cast<double>(std::min(tile[Run] * space.b.inner, space.s.inner));
  auto groups = tile[Outer] * tile[Group], blocks = groups * tile[Row] * tile[Part] * tile[Run];
  auto share = [&](int64_t items) { return static_cast<double>((items + cores - 1) / cores); };
  double each = elements / static_cast<double>(std::max<int64_t>(blocks, 1));
  double fraction = static_cast<double>(tile[Pass]) / static_cast<double>(space.passes.count());
  // Blocks that stand side by side are found together.
  auto lines = groups * tile[Row] * (tile[Run] > 1 ? tile[Part] : 1);
  double of_block = each * per_element + passes * 10, of_line = passes * 90;
  double of_group = 600 + 10 * static_cast<double>(tile[Row] * tile[Part] * tile[Run]);
  return 900 + fraction * (600 + share(blocks) * of_block + share(lines) * of_line + share(groups) * of_group);
}

}  // namespace

TileMap tile_map_of(const NodeContext& n, const Normalization& d) {
  auto space = space_of(d);
  auto map = empty_map(n, space);
  put(map.inputs, d.x, space.data());
  for (int at : {d.scale, d.bias}) put(map.inputs, at, space.per_param(d.params));
  bool running = d.new_mean >= 0 || d.new_variance >= 0;
  for (int at : {d.old_mean, d.old_variance})
    if (d.given || running) put(map.inputs, at, space.per_group());
  put(map.outputs, d.y, space.result());
  for (int at : {d.mean, d.inv_std, d.variance, d.new_mean, d.new_variance}) put(map.outputs, at, space.per_group());
  map.scratch.push_back({DType::F32, space.per_group(4)});  // struct ts_norm_stats
  if (!d.given) map.scratch.push_back({DType::F32, space.per_block(1)});
  return map;
}

KernelCall kernel_of(const NodeContext& n, const Normalization& d, const TileSymbols& tile) {
  auto space = space_of(d);
  auto fields = tile_fields(space, tile_map_of(n, d), d, tile);
  put_input(fields, "x", d.x);
  put_input(fields, "scale", d.scale);
  put_input(fields, "bias", d.bias);
  put_output(fields, "y", d.y);
  put_output(fields, "mean", d.mean);
  put_output(fields, "inv_std", d.inv_std);
  put_output(fields, "variance", d.variance);
  fields.push_back(scratch_field("stats", 0));
  if (!d.given) fields.push_back(scratch_field("blocks", 1));
  if (d.given || d.new_mean >= 0 || d.new_variance >= 0) {
    put_input(fields, "old_mean", d.old_mean);
    put_input(fields, "old_variance", d.old_variance);
  }
  put_output(fields, "new_mean", d.new_mean);
  put_output(fields, "new_variance", d.new_variance);
  fields.push_back({"given", Expr(int{d.given})});
  fields.push_back({"around_zero", Expr(int{d.around_zero})});
  fields.push_back({"rule", Expr(static_cast<int>(d.rule))});
  fields.push_back({"momentum", d.momentum});
  auto terms = static_cast<double>(d.shape.terms());
  fields.push_back({"unbiased", static_cast<float>(d.unbiased && terms > 1 ? terms / (terms - 1) : 1)});
  return {"ts_normalize", "normalize", std::move(fields)};
}

double cycles_of(const Normalization& d, std::span<const int64_t> tile, int cores) {
  auto space = space_of(d);
  double each = d.y < 0 ? 0 : d.params == NormParams::Part && d.shape.inner == 1 ? 12 : 5.4;
  if (!d.given) each += d.around_zero ? 4.8 : 7.8;
  return block_cycles(space, tile, cores, each, static_cast<double>(space.passes.count()));
}

// ---- the gradient

TileMap tile_map_of(const NodeContext& n, const NormalizationGrad& d) {
  auto space = space_of(d);
  auto map = empty_map(n, space);
  for (int at : {d.dy, d.x}) put(map.inputs, at, space.data());
  if (d.dx >= 0) put(map.inputs, d.scale, space.per_param(d.params));
  for (int at : {d.mean, d.inv_std}) put(map.inputs, at, space.per_group());
  put(map.outputs, d.dx, space.result());
  for (int at : {d.dscale, d.dbias}) put(map.outputs, at, d.own() ? space.per_group() : space.per_param(d.params));
  map.scratch.push_back({DType::F32, space.per_group(8)});  // struct ts_norm_stats, twice
  if (space.passes.first < 1) map.scratch.push_back({DType::F32, space.per_block(2)});
  return map;
}

KernelCall kernel_of(const NodeContext& n, const NormalizationGrad& d, const TileSymbols& tile) {
  auto space = space_of(d);
  auto fields = tile_fields(space, tile_map_of(n, d), d, tile);
  put_input(fields, "dy", d.dy);
  put_input(fields, "x", d.x);
  if (d.dx >= 0) put_input(fields, "scale", d.scale);
  put_input(fields, "mean", d.mean);
  put_input(fields, "inv_std", d.inv_std);
  put_output(fields, "dx", d.dx);
  put_output(fields, "dscale", d.dscale);
  put_output(fields, "dbias", d.dbias);
  fields.push_back(scratch_field("stats", 0));
  if (space.passes.first < 1) fields.push_back(scratch_field("blocks", 1));
  fields.push_back({"rule", Expr(static_cast<int>(d.rule))});
  fields.push_back({"variance", Expr(int{d.variance})});
  fields.push_back({"around_zero", Expr(int{d.around_zero})});
  fields.push_back({"frozen", Expr(int{d.frozen})});
  fields.push_back({"own", Expr(int{d.own()})});
  fields.push_back({"params_first", d.params == NormParams::Part ? starts(tile, {Outer, Row, Run})
                                                                 : starts(tile, {Outer, Row, Part, Run})});
  return {"ts_normalize_grad", "normalize", std::move(fields)};
}

double cycles_of(const NormalizationGrad& d, std::span<const int64_t> tile, int cores) {
  auto space = space_of(d);
  bool by_part = d.params == NormParams::Part && d.shape.inner == 1;
  double each = d.inv_std < 0 ? 8 : 0;
  if (space.passes.first < 1) each += by_part ? 15 : 8.5;
  if (d.dx >= 0) each += by_part ? 14 : 9.4;
  if (!d.own() && (d.dscale >= 0 || d.dbias >= 0)) each += 20;
  return block_cycles(space, tile, cores, each, static_cast<double>(space.passes.count()));
}

double share_of(const NormShape& shape, NormRule rule) {
  return rule == NormRule::L1 || rule == NormRule::L2 ? 1 : 1 / static_cast<double>(shape.terms());
}

std::vector<std::string> gradient_names(GradientContext& g, size_t inputs) {
  std::vector<std::string> names(inputs);
  for (size_t i = 0; i < inputs && i < g.wanted.size(); ++i)
    if (g.wanted[i] && g.node.inputs[i]) names[i] = g.build.name(g.node.inputs[i]) + "_grad";
  return names;
}

// ---- references

namespace {

// Of each element in turn: which statistic and which parameter.
struct Position {
  size_t statistic, param;
};
std::vector<Position> positions(const NormShape& s, NormParams params) {
  std::vector<Position> all;
  for (int64_t o = 0; o < s.outer; ++o)
    for (int64_t r = 0; r < s.rows; ++r)
      for (int64_t g = 0; g < s.groups; ++g)
        for (int64_t p = 0; p < s.parts; ++p)
          for (int64_t i = 0; i < s.inner; ++i)
            all.push_back({static_cast<size_t>(o * s.groups + g),
                           static_cast<size_t>(params == NormParams::Part ? g * s.parts + p : g)});
  return all;
}

struct Statistics {
  std::vector<double> mean, variance;
};
template <class Described>
Statistics statistics(const Described& d, const std::vector<Position>& at, const std::vector<double>& x) {
  auto n = static_cast<size_t>(d.shape.statistics());
  Statistics found{std::vector<double>(n), std::vector<double>(n)};
  double share = share_of(d.shape, d.rule);
  for (size_t e = 0; e < x.size() && !d.around_zero; ++e) found.mean[at[e].statistic] += x[e] * share;
  for (size_t e = 0; e < x.size(); ++e) {
    double apart = x[e] - found.mean[at[e].statistic];
    found.variance[at[e].statistic] += (d.rule == NormRule::L1 ? std::abs(apart) : apart * apart) * share;
  }
  return found;
}

double inverse(NormRule rule, double spread, double epsilon) {
  if (rule == NormRule::Variance) return 1 / std::sqrt(spread + epsilon);
  if (rule == NormRule::Deviation) return 1 / (std::sqrt(spread) + epsilon);
  return spread == 0 ? 0 : 1 / (rule == NormRule::L1 ? spread : std::sqrt(spread));
}

const std::vector<double>* values(std::span<const Array> in, int at) {
  return at >= 0 ? &in[static_cast<size_t>(at)].v : nullptr;
}

std::vector<Array> shaped_outputs(const NodeContext& n) {
  std::vector<Array> made(n.node.outputs.size());
  for (size_t o = 0; o < made.size(); ++o)
    if (n.has_output(o)) made[o] = {DType::F32, n.out(o), std::vector<double>(static_cast<size_t>(count(n.out(o))))};
  return made;
}

// Runs where the output is there.
template <class Each>
void fill(std::vector<Array>& made, int at, Each each) {
  if (at < 0) return;
  auto& v = made[static_cast<size_t>(at)].v;
  for (size_t i = 0; i < v.size(); ++i) v[i] = each(i);
}

}  // namespace

std::vector<Array> reference_of(const NodeContext& n, const Normalization& d, std::span<const Array> in) {
  auto at = positions(d.shape, d.params);
  auto& x = *values(in, d.x);
  auto *scale = values(in, d.scale), *bias = values(in, d.bias);
  auto *old_mean = values(in, d.old_mean), *old_variance = values(in, d.old_variance);
  auto found = d.given ? Statistics{*old_mean, *old_variance} : statistics(d, at, x);
  auto inv_std = [&](size_t i) { return inverse(d.rule, found.variance[i], d.epsilon); };
  auto made = shaped_outputs(n);
  fill(made, d.y, [&](size_t e) {
    double normal = (x[e] - found.mean[at[e].statistic]) * inv_std(at[e].statistic);
    return normal * (scale ? (*scale)[at[e].param] : 1) + (bias ? (*bias)[at[e].param] : 0);
  });
  fill(made, d.mean, [&](size_t i) { return found.mean[i]; });
  fill(made, d.inv_std, inv_std);
  fill(made, d.variance, [&](size_t i) { return found.variance[i]; });
  double momentum = d.momentum, terms = static_cast<double>(d.shape.terms());
  double unbiased = d.unbiased && terms > 1 ? terms / (terms - 1) : 1;
  fill(made, d.new_mean, [&](size_t i) { return momentum * (*old_mean)[i] + (1 - momentum) * found.mean[i]; });
  fill(made, d.new_variance,
       [&](size_t i) { return momentum * (*old_variance)[i] + (1 - momentum) * unbiased * found.variance[i]; });
  return made;
}

std::vector<Array> reference_of(const NodeContext& n, const NormalizationGrad& d, std::span<const Array> in) {
  auto at = positions(d.shape, d.params);
  auto &dy = *values(in, d.dy), &x = *values(in, d.x);
  auto *scale = values(in, d.scale), *mean = values(in, d.mean), *spread = values(in, d.inv_std);
  auto groups = static_cast<size_t>(d.shape.statistics());
  Statistics found{mean ? *mean : std::vector<double>(groups), {}};
  if (!spread) found = statistics(d, at, x);
  auto inv_std = [&](size_t i) {
    return spread && !d.variance ? (*spread)[i] : inverse(d.rule, (spread ? *spread : found.variance)[i], d.epsilon);
  };
  auto normal = [&](size_t e) { return (x[e] - found.mean[at[e].statistic]) * inv_std(at[e].statistic); };
  auto inward = [&](size_t e) { return dy[e] * (scale ? (*scale)[at[e].param] : 1); };
  std::vector<double> plain(groups), products(groups);
  double share = share_of(d.shape, d.rule);
  for (size_t e = 0; e < x.size() && !d.frozen; ++e) {
    if (!d.around_zero) plain[at[e].statistic] += inward(e) * share;
    products[at[e].statistic] += inward(e) * normal(e) * share;
  }
  auto made = shaped_outputs(n);
  fill(made, d.dx, [&](size_t e) {
    auto s = at[e].statistic;
    double through = d.rule == NormRule::L1 ? (x[e] > 0) - (x[e] < 0) : normal(e);
    return inv_std(s) * (inward(e) - plain[s] - through * products[s]);
  });
  for (size_t e = 0; e < x.size(); ++e) {
    if (d.dscale >= 0) made[static_cast<size_t>(d.dscale)].v[at[e].param] += dy[e] * normal(e);
    if (d.dbias >= 0) made[static_cast<size_t>(d.dbias)].v[at[e].param] += dy[e];
  }
  return made;
}

}  // namespace tessera::ops
