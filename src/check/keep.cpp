#include <tuple>

#include "check/machine.hpp"

namespace tessera::check {

using namespace schedule;

// What goes from slot to slot stands in the first of them, as named, and no transfer has anything to do with it. What
// it becomes is found by moving it as the cores do: where one slot is both, a wrong order would show.
Result<void> Machine::step(const Keep& k) {
  if (!k.tensor || static_cast<size_t>(k.tensor.index) >= s_.graph.tensors().size())
    return refuse("region", "kept rows of tensor {}, which does not exist", k.tensor.index);
  auto& name = s_.name(k.tensor.index);
  const auto row = value(k.row), rows = value(k.rows), lines = value(k.lines);
  const auto from_stride = value(k.from_stride), to_stride = value(k.to_stride);
  constexpr int64_t kTooMuch = int64_t{1} << 20;  // no product of three of these overflows
  for (auto number : {row, rows, lines})
    if (number <= 0 || number > kTooMuch)
      return refuse("place", "'{}' keeps {} lines of {} rows of {} bytes", name, lines, rows, row);
  const auto line = row * rows;
  for (auto stride : {from_stride, to_stride})
    if (lines > 1 && (stride < line || stride > kTooMuch * kTooMuch))
      return refuse("place", "'{}' keeps lines of {} bytes, {} apart", name, line, stride);
  // Cores that move rows within a slot have columns of their own: nothing may come to other columns.
  for (auto bytes : {value(k.from.byte), value(k.to.byte), from_stride, to_stride})
    if (bytes % row != 0)
      return refuse("place", "'{}' keeps rows of {} bytes, {} are not whole ones", name, row, bytes);
  TRY(auto from, spot(k.from, (lines - 1) * from_stride + line, "what is kept of '" + name + "'"));
  TRY(auto to, spot(k.to, (lines - 1) * to_stride + line, "the place of what is kept of '" + name + "'"));
  if (from.buffer->level != 0 || to.buffer->level != 0)
    return refuse("place", "'{}' is kept in {} and {}: the cores move what stands in {}", name,
                  s_.level_name(from.buffer->level), s_.level_name(to.buffer->level), s_.level_name(0));
  const Stretch source{0, from.at, line, lines, from_stride}, place{0, to.at, line, lines, to_stride};
  CHECK_OK(judge_kept(k, source, place));
  return move_kept(k, source, place);
}

// As the cores do it: what is kept goes aside, and when all of that is there, back to its place, and the rest to its
// own. What they are told once is meant for both, and what they are not told stands where they know it to be. (Lines
// that are as far apart as before may go straight to their place: what is kept of one ends within it, and is read by no
// other.)
Result<void> Machine::step(const PutTogether& p) {
  auto& [kept, rest] = p;
  const auto row = value(kept.row), kept_rows = value(kept.rows), rows = value(rest.rows), lines = value(kept.lines);
  auto place = [&](const Place& a) { return std::tuple(a.buffer.index, value(a.slot)); };
  const bool meant_alike =
      kept.tensor == rest.tensor && value(rest.row) == row && value(rest.lines) == lines &&
      value(kept.to_stride) == (kept_rows + rows) * row && value(rest.to_stride) == value(kept.to_stride) &&
      value(rest.from_stride) == rows * row && place(kept.from) == place(kept.to) && place(rest.to) == place(kept.to) &&
      place(rest.from) != place(kept.to) && value(rest.to.byte) == value(kept.to.byte) + kept_rows * row;
  const bool within =
      lines == 1 || value(kept.from.byte) - value(kept.to.byte) + kept_rows * row <= value(kept.from_stride);
  if (!meant_alike || !within) return refuse("place", "the parts of '{}' do not meet", s_.name(kept.tensor.index));
  auto aside = kept, back = kept;
  aside.to = rest.from, aside.to.byte = rest.from.byte + lines * rows * row;
  aside.to_stride = back.from_stride = kept_rows * row;
  back.from = aside.to;
  CHECK_OK(step(aside));
  CHECK_OK(step(back));
  return rows == 0 ? Result<void>{} : step(rest);
}

Result<void> Machine::judge_kept(const Keep& k, const Stretch& from, const Stretch& to) {
  auto& name = s_.name(k.tensor.index);
  for (auto handle : busy_) {
    auto& other = flights_[static_cast<size_t>(handle)];
    if (overlap(from, other.writes()) || overlap(to, other.writes()) || overlap(to, other.reads()))
      return refuse("in flight", "what is kept of '{}' at {} meets the transfer of '{}' on handle {}", name,
                    range(0, from.at, from.end() - from.at), s_.name(other.tensor.index), handle);
  }
  const auto box = box_of(k.region);
  const auto bytes = from.line * from.lines, size = size_of(s_.graph.at(k.tensor).type.dtype);
  std::string problem;
  bool possible = false;
  for (auto& view : s_.facts.views[static_cast<size_t>(s_.facts.content[static_cast<size_t>(k.tensor.index)])]) {
    if (!inside(box, view)) continue;
    possible = true;
    if (volume(box) * size != bytes)
      return refuse("region", "'{}' names {} bytes and keeps {}", name, volume(box) * size, bytes);
    const Flight seen{.direction = Transfer::Direction::In, .tensor = k.tensor, .far = from, .near = {0, 0, bytes}};
    if (source_holds(seen, view, box, &problem)) return {};
  }
  if (!possible) return refuse("region", "'{}' keeps a region outside of the tensor", name);
  return refuse("source", "what is kept of '{}': {}", name, problem);
}

Result<void> Machine::move_kept(const Keep& k, const Stretch& from, const Stretch& to) {
  for (auto number : {from.at, to.at, from.line, from.stride, to.stride})
    if (number % granule_ != 0) {
      needs_bytes_ = true;
      return refuse("granule", "what is kept of '{}' is not aligned", s_.name(k.tensor.index));
    }
  const bool last_first = to.stride > from.stride;
  for (int64_t i = 0; i < from.lines; ++i) {
    const auto l = last_first ? from.lines - 1 - i : i;
    shadow(0).move((from.at + l * from.stride) / granule_, (to.at + l * to.stride) / granule_, from.line / granule_);
  }
  return {};
}

}  // namespace tessera::check
