#include "plan/allocation/model.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

namespace tessera::allocation {
namespace {

// A piece before columns exist, in the problem's own time and bytes.
struct Span {
  int64_t lower, upper, low, high;
};

constexpr int64_t kMost = int64_t{1} << 61;  // sums of sizes and paddings stay below it, so no sum here overflows

Result<void> check_gaps(const Buffer& buffer) {
  int64_t after = buffer.lower;
  for (const Gap& gap : buffer.gaps) {
    if (gap.lower < after || gap.upper < gap.lower || gap.upper > buffer.upper)
      return input_error(
                 "buffer {}: the gap [{}, {}) is not inside the lifetime [{}, {}) or not after the gap before it",
                 buffer.id, gap.lower, gap.upper, buffer.lower, buffer.upper)
          .hint("list gaps in order of time, without overlap");
    if (gap.window_lower.count < 0 || gap.window_upper < gap.window_lower || gap.window_upper > buffer.size)
      return input_error("buffer {}: the window [{}, {}) of a gap is not inside its {} bytes", buffer.id,
                         gap.window_lower.count, gap.window_upper.count, buffer.size.count);
    after = gap.upper;
  }
  return {};
}

Result<void> check_buffer(const Buffer& buffer) {
  if (buffer.size.count < 0) return input_error("buffer {}: negative size {}", buffer.id, buffer.size.count);
  if (buffer.lower > buffer.upper)
    return input_error("buffer {}: lower {} is above upper {}", buffer.id, buffer.lower, buffer.upper);
  if (buffer.alignment < 1) return input_error("buffer {}: alignment {} is not positive", buffer.id, buffer.alignment);
  if (buffer.offset && buffer.offset->count < 0)
    return input_error("buffer {}: negative offset {}", buffer.id, buffer.offset->count);
  if (buffer.offset && buffer.offset->count % buffer.alignment != 0)
    return input_error("buffer {}: the fixed offset {} is not a multiple of its alignment {}", buffer.id,
                       buffer.offset->count, buffer.alignment);
  return check_gaps(buffer);
}

Result<void> check(const Problem& problem) {
  int64_t total = 0;
  for (const Buffer& buffer : problem.buffers) {
    CHECK_OK(check_buffer(buffer));
    const int64_t offset = buffer.offset ? buffer.offset->count : 0;
    for (int64_t part : {buffer.size.count, buffer.alignment, offset}) {
      if (part > kMost - total)
        return input_error("buffer {}: the sizes up to here add up to more than {} bytes", buffer.id, kMost)
            .hint("no memory is that large: are the columns in the right order?");
      total += part;
    }
  }
  const int count = static_cast<int>(problem.buffers.size());
  const auto known = [&](int index) { return index >= 0 && index < count; };
  for (const auto& group : problem.share)
    for (int index : group)
      if (!known(index)) return input_error("a sharing group names buffer {} of {}", index, count);
  for (auto [a, b] : problem.apart)
    if (!known(a) || !known(b))
      return input_error("a pair that must stay apart names buffer {} or {} of {}", a, b, count);
  return {};
}

// Which buffers share one offset: the group of each, numbered in order of the first member.
std::vector<int> groups(const Problem& problem) {
  std::vector<int> parent(problem.buffers.size());
  std::iota(parent.begin(), parent.end(), 0);
  const auto find = [&](int i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  };
  for (const auto& group : problem.share)
    for (int index : group) {
      const int a = find(group.front()), b = find(index);
      parent[std::max(a, b)] = std::min(a, b);
    }
  std::vector<int> number(problem.buffers.size(), -1);
  int next = 0;
  for (int i = 0; i < static_cast<int>(parent.size()); ++i) {
    const int root = find(i);
    if (number[root] < 0) number[root] = next++;
    number[i] = number[root];
  }
  return number;
}

void add_spans(const Buffer& buffer, std::vector<Span>& spans) {
  const auto add = [&](int64_t lower, int64_t upper, int64_t low, int64_t high) {
    if (lower < upper && low < high) spans.push_back({lower, upper, low, high});
  };
  int64_t from = buffer.lower;
  for (const Gap& gap : buffer.gaps) {
    add(from, gap.lower, 0, buffer.size.count);
    add(gap.lower, gap.upper, gap.window_lower.count, gap.window_upper.count);
    from = gap.upper;
  }
  add(from, buffer.upper, 0, buffer.size.count);
}

// Members that stand on the offset itself are one stack, as high as the highest of them at each moment.
std::vector<Span> outline(const std::vector<Span>& spans) {
  std::vector<int64_t> times;
  std::vector<Span> result;
  for (const Span& span : spans) {
    if (span.low > 0)
      result.push_back(span);
    else
      times.insert(times.end(), {span.lower, span.upper});
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  const size_t windows = result.size();
  for (size_t k = 0; k + 1 < times.size(); ++k) {
    int64_t high = 0;
    for (const Span& span : spans)
      if (span.low == 0 && span.lower <= times[k] && times[k + 1] <= span.upper) high = std::max(high, span.high);
    if (high == 0) continue;
    if (result.size() > windows && result.back().upper == times[k] && result.back().high == high)
      result.back().upper = times[k + 1];
    else
      result.push_back({times[k], times[k + 1], 0, high});
  }
  return result;
}

// The columns, as indexes into `times`: column k is the moment [times[k], times[k + 1]).
std::vector<int> choose_columns(const std::vector<std::vector<Span>>& spans, const std::vector<int64_t>& times,
                                bool merge) {
  const auto index = [&](int64_t t) { return std::lower_bound(times.begin(), times.end(), t) - times.begin(); };
  std::vector<int> live(times.size() + 1, 0);
  std::vector<char> born(times.size(), 0), dies(times.size(), 0);
  for (const auto& item : spans)
    for (const Span& span : item) {
      const auto a = index(span.lower), b = index(span.upper);
      born[a] = dies[b] = 1;
      ++live[a], --live[b];
    }
  std::vector<int> columns;
  int alive = 0;
  bool fresh = false;
  for (size_t k = 0; k + 1 < times.size(); ++k) {
    alive += live[k];
    fresh = fresh || born[k];
    // Between a birth and the next death the live set only grows: the last moment contains the others.
    if (alive > 0 && (!merge || (fresh && dies[k + 1]))) {
      columns.push_back(static_cast<int>(k));
      fresh = false;
    }
  }
  return columns;
}

// The largest unit that divides everything, such that aligning a multiple of it gives a multiple of it.
int64_t common_unit(const Problem& problem) {
  int64_t unit = 0;
  for (const Buffer& buffer : problem.buffers) {
    unit = std::gcd(unit, std::gcd(buffer.size.count, buffer.offset ? buffer.offset->count : 0));
    for (const Gap& gap : buffer.gaps) unit = std::gcd(unit, std::gcd(gap.window_lower.count, gap.window_upper.count));
  }
  if (unit == 0) return 1;
  for (int64_t before = 0; before != unit;) {
    before = unit;
    for (const Buffer& buffer : problem.buffers)
      if (unit % buffer.alignment != 0) unit = std::gcd(unit, buffer.alignment);
  }
  return unit;
}

void to_columns(const std::vector<std::vector<Span>>& spans, bool merge, Model& model) {
  std::vector<int64_t> times;
  for (const auto& item : spans)
    for (const Span& span : item) times.insert(times.end(), {span.lower, span.upper});
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  const std::vector<int> columns = choose_columns(spans, times, merge);
  const auto column = [&](int64_t t) {
    const auto at = std::lower_bound(times.begin(), times.end(), t) - times.begin();
    return static_cast<int>(std::lower_bound(columns.begin(), columns.end(), at) - columns.begin());
  };
  model.columns = static_cast<int>(columns.size());
  for (size_t i = 0; i < spans.size(); ++i)
    for (const Span& span : spans[i]) {
      const Piece piece{column(span.lower), column(span.upper) - 1, span.low / model.unit, span.high / model.unit};
      if (piece.first > piece.last) continue;
      model.windows = model.windows || piece.low > 0;
      model.items[i].pieces.push_back(piece);
    }
}

bool meet_fully(const Item& a, const Item& b) {
  for (const Piece& p : a.pieces)
    for (const Piece& q : b.pieces)
      if (p.first <= q.last && q.first <= p.last && p.low == 0 && q.low == 0 && p.high == a.size && q.high == b.size)
        return true;
  return false;
}

// A pair that must stay apart lives together in a column of its own.
Result<void> keep_apart(const Problem& problem, Model& model) {
  std::set<std::pair<int, int>> done;
  for (auto [x, y] : problem.apart) {
    const int a = std::min(model.item_of[x], model.item_of[y]), b = std::max(model.item_of[x], model.item_of[y]);
    if (a == b)
      return input_error("buffers {} and {} must share an offset and must stay apart", problem.buffers[x].id,
                         problem.buffers[y].id);
    Item &one = model.items[a], &other = model.items[b];
    if (one.size == 0 || other.size == 0 || meet_fully(one, other) || !done.emplace(a, b).second) continue;
    one.pieces.push_back({model.columns, model.columns, 0, one.size});
    other.pieces.push_back({model.columns, model.columns, 0, other.size});
    ++model.columns;
  }
  return {};
}

Result<void> settle_items(const Problem& problem, Model& model) {
  std::vector<const Buffer*> fixed_by(model.items.size(), nullptr);
  for (size_t b = 0; b < problem.buffers.size(); ++b) {
    const Buffer& buffer = problem.buffers[b];
    Item& item = model.items[model.item_of[b]];
    item.size = std::max(item.size, buffer.size.count / model.unit);
    const int64_t alignment = buffer.alignment / std::gcd(buffer.alignment, model.unit);
    const int64_t step = alignment / std::gcd(alignment, item.alignment);
    if (step > kMost / item.alignment)
      return input_error("buffer {}: no offset suits the alignments of all that share it", buffer.id);
    item.alignment *= step;
    if (!buffer.offset) continue;
    const Buffer*& first = fixed_by[model.item_of[b]];
    if (first && *first->offset != *buffer.offset)
      return input_error("buffers {} and {} must share an offset but are fixed at {} and {}", first->id, buffer.id,
                         first->offset->count, buffer.offset->count);
    first = &buffer;
    item.fixed = buffer.offset->count / model.unit;
  }
  for (size_t i = 0; i < model.items.size(); ++i)
    if (model.items[i].is_fixed() && model.items[i].fixed % model.items[i].alignment != 0)
      return input_error("buffer {}: its fixed offset {} does not suit the alignment of a buffer that shares it",
                         fixed_by[i]->id, fixed_by[i]->offset->count);
  return {};
}

Result<void> check_fixed(const Problem& problem, const Model& model) {
  std::vector<const Buffer*> name(model.items.size(), nullptr);
  for (size_t b = 0; b < problem.buffers.size(); ++b) name[model.item_of[b]] = &problem.buffers[b];
  struct Block {
    int column;
    int64_t from, to;
    int item;
  };
  std::vector<Block> blocks;
  for (size_t i = 0; i < model.items.size(); ++i)
    for (const Piece& piece : model.items[i].pieces)
      if (const Item& item = model.items[i]; item.is_fixed())
        for (int c = piece.first; c <= piece.last; ++c)
          blocks.push_back({c, item.fixed + piece.low, item.fixed + piece.high, static_cast<int>(i)});
  std::sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) {
    return std::tie(a.column, a.from, a.item) < std::tie(b.column, b.from, b.item);
  });
  for (size_t k = 1; k < blocks.size(); ++k) {
    const Block &a = blocks[k - 1], &b = blocks[k];
    if (a.column == b.column && b.from < a.to && a.item != b.item)
      return input_error("buffers {} and {} are both fixed and overlap", name[a.item]->id, name[b.item]->id)
          .hint("free the offset of one of them");
  }
  return {};
}

}  // namespace

Result<Model> compile(const Problem& problem, const Techniques& use) {
  CHECK_OK(check(problem));
  Model model;
  model.unit = common_unit(problem);
  model.item_of = groups(problem);
  const int count = model.item_of.empty() ? 0 : 1 + *std::max_element(model.item_of.begin(), model.item_of.end());
  model.items.resize(count);
  CHECK_OK(settle_items(problem, model));
  std::vector<std::vector<Span>> spans(count);
  std::vector<int> members(count, 0);
  for (size_t b = 0; b < problem.buffers.size(); ++b) {
    add_spans(problem.buffers[b], spans[model.item_of[b]]);
    ++members[model.item_of[b]];
  }
  for (int i = 0; i < count; ++i)
    if (members[i] > 1) spans[i] = outline(spans[i]);
  to_columns(spans, use.merge_times, model);
  CHECK_OK(keep_apart(problem, model));
  CHECK_OK(check_fixed(problem, model));
  return model;
}

std::vector<std::vector<int>> items_by_column(const Model& model) {
  std::vector<std::vector<int>> result(model.columns);
  for (int i = 0; i < static_cast<int>(model.items.size()); ++i)
    for (const Piece& piece : model.items[i].pieces)
      for (int c = piece.first; c <= piece.last; ++c)
        if (result[c].empty() || result[c].back() != i) result[c].push_back(i);
  return result;
}

std::vector<Part> split(const Model& model, bool on) {
  // Union of columns: an item ties together all the columns it touches.
  std::vector<int> parent(model.columns);
  std::iota(parent.begin(), parent.end(), 0);
  const auto find = [&](int c) {
    while (parent[c] != c) c = parent[c] = parent[parent[c]];
    return c;
  };
  const auto join = [&](int a, int b) { parent[std::max(find(a), find(b))] = std::min(find(a), find(b)); };
  for (const Item& item : model.items)
    for (const Piece& piece : item.pieces) {
      join(item.pieces.front().first, piece.first);
      for (int c = piece.first; c < piece.last; ++c) join(c, c + 1);
    }
  if (!on)
    for (int c = 0; c + 1 < model.columns; ++c) join(c, c + 1);
  std::vector<int> part_of(model.columns, -1), number(model.columns, 0);
  std::vector<Part> parts;
  for (int c = 0; c < model.columns; ++c) {
    const int root = find(c);
    if (part_of[root] < 0) {
      part_of[root] = static_cast<int>(parts.size());
      parts.push_back({});
      parts.back().model.unit = model.unit;
    }
    part_of[c] = part_of[root];
    number[c] = parts[part_of[c]].model.columns++;
  }
  for (int i = 0; i < static_cast<int>(model.items.size()); ++i) {
    if (model.items[i].pieces.empty()) continue;
    Part& part = parts[part_of[model.items[i].pieces.front().first]];
    Item item = model.items[i];
    for (Piece& piece : item.pieces) {
      piece.first = number[piece.first];
      piece.last = number[piece.last];
      part.model.windows = part.model.windows || piece.low > 0;
    }
    part.model.items.push_back(std::move(item));
    part.origin.push_back(i);
  }
  return parts;
}

}  // namespace tessera::allocation
