// On purpose nothing of the solver is included here: no columns, no units, no items.
#include "plan/allocation/validate.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace tessera::allocation {
namespace {

// Bytes [from, to) held during [begin, end).
struct Block {
  int64_t begin, end, from, to;
  int buffer;
};

std::string place(const Buffer& buffer, Bytes offset) {
  return fmt::format("{} (bytes [{}, {}), times [{}, {}))", buffer.id, offset.count, (offset + buffer.size).count,
                     buffer.lower, buffer.upper);
}

Result<void> check_offset(const Buffer& buffer, Bytes offset) {
  if (offset.count < 0) return mismatch("buffer {} stands at the negative offset {}", buffer.id, offset.count);
  if (offset.count % buffer.alignment != 0)
    return mismatch("buffer {} stands at {}, not a multiple of its alignment {}", buffer.id, offset.count,
                    buffer.alignment);
  if (buffer.offset && *buffer.offset != offset)
    return mismatch("buffer {} is fixed at {} but stands at {}", buffer.id, buffer.offset->count, offset.count);
  return {};
}

Result<void> check_relations(const Problem& problem, const Solution& solution) {
  const auto& buffers = problem.buffers;
  const auto& offsets = solution.offsets;
  for (const auto& group : problem.share)
    for (int member : group)
      if (offsets[member] != offsets[group.front()])
        return mismatch("buffers {} and {} must share an offset but stand at {} and {}", buffers[group.front()].id,
                        buffers[member].id, offsets[group.front()].count, offsets[member].count);
  for (auto [a, b] : problem.apart)
    if (offsets[a] < offsets[b] + buffers[b].size && offsets[b] < offsets[a] + buffers[a].size &&
        buffers[a].size.count > 0 && buffers[b].size.count > 0)
      return mismatch("buffers {} and {} must stay apart but overlap", place(buffers[a], offsets[a]),
                      place(buffers[b], offsets[b]));
  return {};
}

void add_blocks(const Buffer& buffer, int64_t offset, int index, std::vector<Block>& blocks) {
  const auto add = [&](int64_t begin, int64_t end, Bytes from, Bytes to) {
    if (begin < end && from < to) blocks.push_back({begin, end, offset + from.count, offset + to.count, index});
  };
  int64_t now = buffer.lower;
  for (const Gap& gap : buffer.gaps) {
    add(now, gap.lower, Bytes(0), buffer.size);
    add(gap.lower, gap.upper, gap.window_lower, gap.window_upper);
    now = gap.upper;
  }
  add(now, buffer.upper, Bytes(0), buffer.size);
}

// Buffers that share an offset may hold the same bytes: as one, they hold the union, cut into disjoint blocks.
std::vector<Block> unite(const std::vector<Block>& blocks) {
  std::vector<int64_t> times;
  for (const Block& block : blocks) times.insert(times.end(), {block.begin, block.end});
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  std::vector<Block> result;
  for (size_t k = 0; k + 1 < times.size(); ++k) {
    std::vector<Block> now;
    for (Block block : blocks)
      if (block.begin <= times[k] && times[k + 1] <= block.end) {
        block.begin = times[k], block.end = times[k + 1];
        now.push_back(block);
      }
    std::sort(now.begin(), now.end(), [](const Block& a, const Block& b) { return a.from < b.from; });
    const size_t start = result.size();
    for (const Block& block : now) {
      if (result.size() > start && block.from <= result.back().to)
        result.back().to = std::max(result.back().to, block.to);
      else
        result.push_back(block);
    }
  }
  return result;
}

std::vector<Block> all_blocks(const Problem& problem, const Solution& solution) {
  std::vector<int> group(problem.buffers.size());
  std::iota(group.begin(), group.end(), 0);
  // Groups that have a member in common are one; repeating settles chains of them.
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& members : problem.share)
      for (int member : members) {
        const int least = std::min(group[member], group[members.front()]);
        changed = changed || group[member] != least || group[members.front()] != least;
        group[member] = group[members.front()] = least;
      }
  }
  std::map<int, std::vector<Block>> shared;
  std::vector<char> shares(problem.buffers.size(), 0);
  for (const auto& members : problem.share)
    for (int member : members) shares[member] = 1;
  std::vector<Block> blocks;
  for (size_t b = 0; b < problem.buffers.size(); ++b)
    add_blocks(problem.buffers[b], solution.offsets[b].count, static_cast<int>(b),
               shares[b] ? shared[group[b]] : blocks);
  for (const auto& [_, members] : shared)
    for (const Block& block : unite(members)) blocks.push_back(block);
  return blocks;
}

// Time passes; a map holds the blocks of this moment by their first byte, disjoint as long as all is well.
Result<void> check_overlaps(const Problem& problem, const Solution& solution) {
  std::vector<Block> blocks = all_blocks(problem, solution);
  std::sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) { return a.begin < b.begin; });
  std::vector<const Block*> leaving;
  for (const Block& block : blocks) leaving.push_back(&block);
  std::sort(leaving.begin(), leaving.end(), [](const Block* a, const Block* b) { return a->end < b->end; });
  const auto clash = [&](const Block& a, const Block& b) {
    return mismatch("buffers {} and {} overlap", place(problem.buffers[a.buffer], solution.offsets[a.buffer]),
                    place(problem.buffers[b.buffer], solution.offsets[b.buffer]));
  };
  std::map<int64_t, const Block*> present;
  auto next_to_leave = leaving.begin();
  for (const Block& block : blocks) {
    for (; next_to_leave != leaving.end() && (*next_to_leave)->end <= block.begin; ++next_to_leave)
      present.erase((*next_to_leave)->from);
    const auto [at, fresh] = present.emplace(block.from, &block);
    if (!fresh) return clash(*at->second, block);
    if (at != present.begin() && std::prev(at)->second->to > block.from) return clash(*std::prev(at)->second, block);
    if (std::next(at) != present.end() && std::next(at)->first < block.to) return clash(*std::next(at)->second, block);
  }
  return {};
}

}  // namespace

Result<void> validate(const Problem& problem, const Solution& solution) {
  if (solution.offsets.size() != problem.buffers.size())
    return mismatch("{} offsets for {} buffers", solution.offsets.size(), problem.buffers.size());
  Bytes height{};
  for (size_t b = 0; b < problem.buffers.size(); ++b) {
    CHECK_OK(check_offset(problem.buffers[b], solution.offsets[b]));
    height = std::max(height, solution.offsets[b] + problem.buffers[b].size);
  }
  if (height != solution.height)
    return mismatch("the height is {}, not {} as claimed", height.count, solution.height.count);
  if (solution.lower_bound > solution.height)
    return mismatch("the lower bound {} is above the height {}", solution.lower_bound.count, solution.height.count);
  CHECK_OK(check_relations(problem, solution));
  return check_overlaps(problem, solution);
}

}  // namespace tessera::allocation
