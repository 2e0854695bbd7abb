#include "plan/tile_choices.hpp"

#include <algorithm>

#include "plan/sliding.hpp"

namespace tessera::plan {

namespace {

// Sizes to try along a dimension: evenly divided, in geometric steps, the finer the fewer dimensions there are to
// combine; multiples of four beside them, because kernels are blocked by four.
std::vector<int64_t> sizes(const ops::TileMap& map, size_t dim) {
  auto extent = map.dims[dim].extent;
  if (!map.dims[dim].divisible || extent == 1) return {extent};
  auto divisible = std::ranges::count_if(map.dims, [](auto& d) { return d.divisible && d.extent > 1; });
  double ratio = divisible == 1 ? 1.1 : divisible == 2 ? 1.3 : divisible == 3 ? 1.6 : divisible == 4 ? 2.1 : 3.0;
  std::vector<int64_t> out{1, extent};
  for (double size = 1; size < static_cast<double>(extent); size *= ratio) {
    auto parts = (extent + static_cast<int64_t>(size) - 1) / static_cast<int64_t>(size);
    auto even = (extent + parts - 1) / parts;
    out.push_back(even);
    if (even > 4) out.push_back(std::min(extent, (even + 3) / 4 * 4));
  }
  for (int64_t size = 4; size < extent; size *= 2) out.push_back(size);
  std::ranges::sort(out, std::greater{});
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

// Elements of an axis that all tiles touch, as a part of the axis.
double overlap_along(const ops::OperandMap& map, size_t axis, const std::vector<int64_t>& tile,
                     const std::vector<int64_t>& whole) {
  auto& [terms, offset, window] = map.axes[axis];
  if (terms.size() != 1) return 1;
  auto d = static_cast<size_t>(terms[0].dim);
  if (tile[d] >= whole[d] || (window == 1 && offset == 0)) return 1;
  const auto step = terms[0].coefficient, view = map.view[axis];
  int64_t sum = 0;
  for (int64_t lo = 0; lo < whole[d]; lo += tile[d]) {
    const auto from = std::clamp<int64_t>(offset + step * lo, 0, view);
    const auto last = std::min(lo + tile[d], whole[d]) - 1;
    sum += std::clamp<int64_t>(offset + window + step * last, from, view) - from;
  }
  return std::max(1.0, static_cast<double>(sum) / static_cast<double>(map.view[axis]));
}

}  // namespace

void for_each_tile(const ops::TileMap& map, const std::function<void(const std::vector<int64_t>&)>& visit) {
  std::vector<std::vector<int64_t>> choices;
  for (size_t d = 0; d < map.dims.size(); ++d) choices.push_back(sizes(map, d));
  std::vector<size_t> at(choices.size(), 0);
  std::vector<int64_t> tile(choices.size());
  while (true) {
    for (size_t d = 0; d < choices.size(); ++d) tile[d] = choices[d][at[d]];
    visit(tile);
    size_t d = choices.size();
    while (d > 0 && ++at[d - 1] == choices[d - 1].size()) at[--d] = 0;
    if (d == 0) return;
  }
}

std::vector<std::vector<int>> orders(const ops::TileMap& map, const std::vector<int64_t>& tile) {
  std::vector<int> running, resting, reduced;
  const ops::OperandMap* output = nullptr;
  for (auto& o : map.outputs)
    if (o.present && (!output || o.view.size() > output->view.size())) output = &o;
  for (size_t d = 0; d < tile.size(); ++d) {
    auto dim = static_cast<int>(d);
    if (tile[d] == map.dims[d].extent)
      resting.push_back(dim);
    else if (output && !output->uses(dim))
      reduced.push_back(dim);
    else
      running.push_back(dim);
  }
  std::vector<std::vector<int>> found;
  do {
    std::vector<int> order = resting;
    order.insert(order.end(), running.begin(), running.end());
    order.insert(order.end(), reduced.begin(), reduced.end());
    if (legal(map, make_loops(map, {{kL1, tile, order}}))) found.push_back(std::move(order));
  } while (running.size() <= 3 && std::ranges::next_permutation(running).found);
  return found;
}

std::vector<std::vector<int64_t>> outer_tiles(const ops::TileMap& map, const std::vector<int64_t>& tile) {
  const auto whole = whole_space(map);
  std::vector<std::vector<int64_t>> by_dim;
  for (size_t d = 0; d < tile.size(); ++d) {
    std::vector<int64_t> choices;
    auto count = (whole[d] + tile[d] - 1) / tile[d];
    for (int64_t k = 1; k < count; ++k)
      if (count % k == 0) choices.push_back(tile[d] * k);
    by_dim.push_back(std::move(choices));
  }
  std::vector<std::vector<int64_t>> out{whole};
  for (size_t a = 0; a < tile.size(); ++a)
    for (auto first : by_dim[a]) {
      auto one = whole;
      one[a] = first;
      out.push_back(one);
      for (size_t b = a + 1; b < tile.size(); ++b)
        for (auto second : by_dim[b]) {
          auto two = one;
          two[b] = second;
          out.push_back(std::move(two));
        }
    }
  if (std::ranges::find(out, tile) == out.end()) out.push_back(tile);
  return out;
}

double kernel_cycles(const TilingProblem& p, const Shape& tile) {
  return p.op->cycles(p.node, tile, p.cores) * (p.far_stacks ? p.op->far_stack : 1);
}

double kernel_cycles(const TilingProblem& p, const Loops& loops) {
  const auto whole = whole_space(p.map);
  auto& tile = loops.tile.back();
  std::vector<size_t> ragged;
  double tiles = 1;
  for (size_t d = 0; d < tile.size(); ++d) {
    auto count = loops.count(static_cast<int>(d));
    if (whole[d] % tile[d] != 0)
      ragged.push_back(d);
    else
      tiles *= static_cast<double>(count);
  }
  constexpr size_t kEdges = 3;
  while (ragged.size() > kEdges) {
    tiles *= static_cast<double>(loops.count(static_cast<int>(ragged.back())));
    ragged.pop_back();
  }
  double sum = 0;
  for (size_t which = 0; which < size_t{1} << ragged.size(); ++which) {
    auto part = tile;
    double times = tiles;
    for (size_t r = 0; r < ragged.size(); ++r) {
      auto d = ragged[r];
      bool edge = which >> r & 1;
      part[d] = edge ? whole[d] % tile[d] : tile[d];
      times *= edge ? 1.0 : static_cast<double>(loops.count(static_cast<int>(d)) - 1);
    }
    if (times > 0) sum += times * kernel_cycles(p, part);
  }
  return sum;
}

double fetched_from_l3(const TilingProblem& problem, const std::vector<Traveller>& travellers, const Loops& loops,
                       uint32_t keepers) {
  double most = 0;
  auto& outer = loops.tile[0];
  const auto view = whole_space(problem.map);
  for (size_t i = 0; i < travellers.size(); ++i) {
    auto& t = travellers[i];
    if (!passes_l2(t) || !t.in || t.scratch >= 0) continue;
    const auto slides = keepers >> i & 1 ? sliding(problem.map, *t.map, loops) : std::nullopt;
    double share = static_cast<double>(loops.total()) / static_cast<double>(period(*t.map, loops, 0));
    for (size_t d = 0; d < view.size(); ++d)
      if (t.map->uses(static_cast<int>(d))) share /= static_cast<double>((view[d] + outer[d] - 1) / outer[d]);
    for (size_t axis = 0; axis < t.map->axes.size(); ++axis)
      if (!slides || axis != slides->axis) share *= overlap_along(*t.map, axis, outer, view);
    most = std::max(most, share);
  }
  return most;
}

}  // namespace tessera::plan
