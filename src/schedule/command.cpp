#include "schedule/command.hpp"

#include <algorithm>

namespace tessera::schedule {

Expr Command::pieces() const {
  Expr n = 1;
  for (auto& loop : loops) n = n * loop.count;
  return n;
}

int64_t Command::most_pieces() const {
  int64_t n = 1;
  for (auto& loop : loops) n *= loop.most;
  return n;
}

namespace {

struct Outer {
  size_t axis;
  Expr len;
  int64_t most;
  Expr stride;  // bytes, in the far memory
};

Expr ceil_div(const Expr& a, int64_t b) {
  return (a + (b - 1)) / b;
}

void chunk_bytes(Command& c, int64_t longest_line) {
  auto limit = kLongestLine;
  c.chunked = static_cast<int>(c.loops.size());
  c.chunk = limit;
  c.loops.push_back({"part", ceil_div(c.line, limit), (longest_line + limit - 1) / limit, limit, limit});
}

void chunk_lines(Command& c, int64_t most_lines, int64_t rows) {
  c.chunked = static_cast<int>(c.loops.size());
  c.chunks_lines = true;
  c.chunk = rows;
  c.loops.push_back(
      {"part", ceil_div(c.lines, rows), (most_lines + rows - 1) / rows, c.far_stride * rows, c.line * rows});
}

}  // namespace

Expr inner_bytes(const ops::SymbolicBox& box, size_t axis, int64_t element_size) {
  Expr bytes = element_size;
  for (size_t a = axis + 1; a < box.len.size(); ++a) bytes = bytes * box.len[a];
  return bytes;
}

Container Container::whole(const ops::OperandMap& map) {
  Container c;
  for (auto extent : map.view) {
    c.box.lo.push_back(0);
    c.box.len.push_back(extent);
  }
  return c;
}

Command command_for(const Container& from, const ops::SymbolicBox& box, const std::vector<int64_t>& largest,
                    int64_t element_size, const target::DmaEngine& engine, const std::optional<PartOf>& part) {
  Command c;
  const auto part_at = [&](size_t a) { return part && std::ranges::find(part->axes, a) != part->axes.end(); };
  const auto part_inside = [&](size_t a) {
    return part && std::ranges::any_of(part->axes, [&](size_t p) { return a < p; });
  };
  c.line = element_size;
  c.far_byte = 0;
  Expr stride = element_size;
  int64_t longest_line = element_size;
  bool contiguous = true;
  std::vector<Outer> outer;  // innermost first
  for (size_t a = box.lo.size(); a-- > 0;) {
    if (!same(box.lo[a], from.box.lo[a])) c.far_byte = c.far_byte + (box.lo[a] - from.box.lo[a]) * stride;
    if (contiguous) {
      c.line = c.line * box.len[a];
      longest_line *= largest[a];
      contiguous = from.spanned ? (*from.spanned)[a] : same(box.len[a], from.box.len[a]);
      if (part_at(a)) contiguous = false;
    } else if (from.spanned ? largest[a] != 1 : box.len[a].constant() != 1) {
      outer.push_back({a, box.len[a], largest[a], stride});
    }
    stride = stride * from.box.len[a];
  }
  size_t inner = engine.max_rank >= 2 && longest_line <= engine.max_bytes.count && !outer.empty() ? 1 : 0;
  if (inner && part_inside(outer[0].axis)) inner = 0;  // lines are dense in the near memory
  if (inner) {
    c.lines = outer[0].len;
    c.far_stride = outer[0].stride;
  }
  // What stands inside a loop is dense in the near memory: a step passes over all of it.
  for (size_t o = outer.size(); o-- > inner;) {
    Expr inside = c.line * c.lines;
    for (size_t below = inner; below < o; ++below) inside = inside * outer[below].len;
    if (part_inside(outer[o].axis)) inside = inner_bytes(part->tile, outer[o].axis, element_size);
    c.loops.push_back({"line" + std::to_string(outer[o].axis), outer[o].len, outer[o].most, outer[o].stride, inside});
  }
  for (size_t a = 0; a < box.lo.size(); ++a)
    if (part_at(a) && !same(box.lo[a], part->tile.lo[a]))
      c.near_byte = c.near_byte + (box.lo[a] - part->tile.lo[a]) * inner_bytes(part->tile, a, element_size);
  auto most_lines = inner ? outer[0].most : 1;
  const auto longest = engine.near == "L1" ? kLongestLine : std::max(kLongestLine, engine.max_bytes.count);
  if (!inner && longest_line > longest) chunk_bytes(c, longest_line);
  if (inner && longest_line * most_lines > engine.max_bytes.count)
    chunk_lines(c, most_lines, engine.max_bytes.count / longest_line);
  return c;
}

}  // namespace tessera::schedule
