#include "check/machine.hpp"

namespace tessera::check {

using namespace schedule;

Result<void> Machine::step(const Transfer& t) {
  TRY(auto flight, judge_command(t));
  CHECK_OK(judge_engine(t, flight));
  CHECK_OK(judge_traffic(flight));
  CHECK_OK(judge_region(t, flight));
  auto handle = value(t.handle);
  if (handle < 0 || handle >= s_.schedule.handles)
    return refuse("handle", "transfer of '{}' on handle {} of {}", s_.name(t.tensor.index), handle,
                  s_.schedule.handles);
  if (flights_[static_cast<size_t>(handle)].busy)
    return refuse("handle", "transfer of '{}' on handle {}, which still moves '{}'", s_.name(t.tensor.index), handle,
                  s_.name(flights_[static_cast<size_t>(handle)].tensor.index));
  if (++on_engine_[static_cast<size_t>(t.engine)] > s_.target.engines[static_cast<size_t>(t.engine)].in_flight)
    return refuse("engine", "{} has room for {} transfers in flight",
                  s_.target.engines[static_cast<size_t>(t.engine)].name,
                  s_.target.engines[static_cast<size_t>(t.engine)].in_flight);
  flight.busy = true;
  flights_[static_cast<size_t>(handle)] = flight;
  busy_.push_back(static_cast<int>(handle));
  ++verdict_.transfers;
  verdict_.bytes += flight.near.line;
  return {};
}

// The command with its formulas evaluated; both ends lie in their buffers.
Result<Machine::Flight> Machine::judge_command(const Transfer& t) {
  if (!t.tensor || static_cast<size_t>(t.tensor.index) >= s_.graph.tensors().size())
    return refuse("region", "a transfer of tensor {}, which does not exist", t.tensor.index);
  auto& name = s_.name(t.tensor.index);
  auto line = value(t.line), lines = value(t.lines), stride = value(t.far_stride);
  if (line <= 0 || lines <= 0) return refuse("engine", "transfer of '{}': {} lines of {} bytes", name, lines, line);
  if (lines > 1 && stride < line)
    return refuse("engine", "transfer of '{}': lines of {} bytes, {} apart", name, line, stride);
  if (lines == 1) stride = 0;
  constexpr int64_t kTooMuch = int64_t{1} << 30;  // no product of two of these overflows
  if (line > kTooMuch || lines > kTooMuch || stride > kTooMuch)
    return refuse("place", "transfer of '{}': {} lines of {} bytes, {} apart", name, lines, line, stride);
  TRY(auto far, spot(t.far, (lines - 1) * stride + line, "far end of the transfer of '" + name + "'"));
  TRY(auto near, spot(t.near, line * lines, "near end of the transfer of '" + name + "'"));
  Flight f{.engine = t.engine, .direction = t.direction, .tensor = t.tensor};
  f.far = {far.buffer->level, far.at, line, lines, stride};
  f.near = {near.buffer->level, near.at, line * lines, 1, 0};
  f.far_spot = far;
  f.near_spot = near;
  return f;
}

Result<void> Machine::judge_engine(const Transfer& t, const Flight& f) {
  if (t.engine < 0 || static_cast<size_t>(t.engine) >= s_.target.engines.size())
    return refuse("engine", "engine {} of {}", t.engine, s_.target.engines.size());
  auto index = static_cast<size_t>(t.engine);
  auto& engine = s_.target.engines[index];
  auto& name = s_.name(t.tensor.index);
  if (f.far.level != engine_far_[index] || f.near.level != engine_near_[index])
    return refuse("engine", "{} moves between {} and {}, not {} and {}: transfer of '{}'", engine.name, engine.far,
                  engine.near, s_.level_name(f.far.level), s_.level_name(f.near.level), name);
  if ((f.far.lines > 1 ? 2 : 1) > engine.max_rank)
    return refuse("engine", "{} moves one line a command, transfer of '{}' has {}", engine.name, name, f.far.lines);
  if (f.near.line > engine.max_bytes.count)
    return refuse("engine", "{} moves {} bytes a command, transfer of '{}' has {}", engine.name, engine.max_bytes.count,
                  name, f.near.line);
  if (f.far.at % engine.alignment != 0 || f.near.at % engine.alignment != 0 || f.far.stride % engine.alignment != 0)
    return refuse("engine", "{} needs addresses aligned to {}: transfer of '{}' {} -> {}, stride {}", engine.name,
                  engine.alignment, name, f.far.at, f.near.at, f.far.stride);
  if (f.far.line % engine.length_alignment != 0)
    return refuse("engine", "{} needs lengths aligned to {}: transfer of '{}', lines of {}", engine.name,
                  engine.length_alignment, name, f.far.line);
  return {};
}

// Nobody writes what a transfer in flight reads, nor touches what it writes.
Result<void> Machine::judge_traffic(const Flight& f) {
  for (auto handle : busy_) {
    auto& other = flights_[static_cast<size_t>(handle)];
    for (auto [mine, theirs] : {std::pair{&f.writes(), &other.writes()}, std::pair{&f.writes(), &other.reads()},
                                std::pair{&f.reads(), &other.writes()}})
      if (overlap(*mine, *theirs))
        return refuse("in flight", "transfer of '{}' at {} meets the transfer of '{}' on handle {}",
                      s_.name(f.tensor.index), range(mine->level, mine->at, mine->end() - mine->at),
                      s_.name(other.tensor.index), handle);
  }
  return {};
}

// The bytes that the command moves are those of the region that it names, in order; of a region that takes several
// commands, those that belong at its place in the slot. The region is a box of the tensor's elements under the shape in
// which some node sees them.
Result<void> Machine::judge_region(const Transfer& t, Flight& f) {
  auto content = s_.facts.content[static_cast<size_t>(t.tensor.index)];
  auto& name = s_.name(t.tensor.index);
  auto box = box_of(t.region);
  auto size = size_of(s_.graph.at(t.tensor).type.dtype);
  std::string problem;
  bool possible = false;
  for (auto& view : s_.facts.views[static_cast<size_t>(content)]) {
    if (!inside(box, view)) continue;
    possible = true;
    auto named = volume(box) * size, first = f.near.at - f.near_spot.stand.offset.count;
    if (f.near.line % size != 0 || first % size != 0 || named < f.near.line ||
        (named > f.near.line && first + f.near.line > named))
      return refuse("region", "transfer of '{}' names {} bytes and moves {}", name, named, f.near.line);
    f.skip = named > f.near.line ? first : 0;
    if (!source_holds(f, view, box, &problem)) continue;
    if (!arrive(f, view, box, &problem)) return refuse("write-back", "transfer of '{}': {}", name, problem);
    return {};
  }
  if (!possible) return refuse("region", "transfer of '{}' names a region outside of the tensor", name);
  return refuse("source", "transfer of '{}': {}", name, problem);
}

namespace {

// Calls f(far address, near address, byte of the tensor, bytes) for the longest pieces that are one run everywhere.
template <class F>
void for_each_piece(const Stretch& far, const Stretch& near, int64_t skip, int64_t size, const Shape& view,
                    const ops::Box& box, F f) {
  int64_t moved = 0;
  auto run = [&](int64_t first, int64_t n) {
    auto offset = first * size, left = std::min(n * size, near.line - moved);
    while (left > 0) {
      auto within = moved % far.line, bytes = std::min(left, far.line - within);
      if (!f(far.at + moved / far.line * far.stride + within, near.at + moved, offset, bytes)) return false;
      moved += bytes;
      offset += bytes;
      left -= bytes;
    }
    return moved < near.line;
  };
  for_each_run(view, box, run, skip / size);
}

}  // namespace

bool Machine::source_holds(const Flight& f, const Shape& view, const ops::Box& box, std::string* problem) {
  auto content = s_.facts.content[static_cast<size_t>(f.tensor.index)];
  auto number = number_of(content, -1);
  auto level = f.reads().level;
  auto& memory = shadow(level);
  bool in = f.direction == Transfer::Direction::In, good = true;
  for_each_piece(f.far, f.near, f.skip, size_of(s_.graph.at(f.tensor).type.dtype), view, box,
                 [&](int64_t far, int64_t near, int64_t offset, int64_t bytes) {
                   Granules g;
                   if (!granules(in ? far : near, offset, bytes, bytes_of(content), g)) return good = false;
                   auto wrong = memory.differs(g.at, g.n, tag_of(number, g.first));
                   if (wrong < 0) return true;
                   if (problem->empty())
                     *problem =
                         fmt::format("{} holds {}, not {}", range(level, (g.at + wrong) * granule_, granule_),
                                     describe(memory.at(g.at + wrong)), describe(tag_of(number, g.first + wrong)));
                   return good = false;
                 });
  return good;
}

bool Machine::arrive(const Flight& f, const Shape& view, const ops::Box& box, std::string* problem) {
  auto content = s_.facts.content[static_cast<size_t>(f.tensor.index)];
  auto number = number_of(content, -1);
  auto level = f.writes().level;
  auto& memory = shadow(level);
  bool in = f.direction == Transfer::Direction::In, good = true;
  auto* home = (in ? f.near_spot : f.far_spot).buffer;
  bool to_home = home->storage.index >= 0;
  if (to_home && home->storage != s_.plan.storage_of[static_cast<size_t>(f.tensor.index)]) {
    *problem = fmt::format("it goes to '{}', where it does not live", home->name);
    return false;
  }
  for_each_piece(f.far, f.near, f.skip, size_of(s_.graph.at(f.tensor).type.dtype), view, box,
                 [&](int64_t far, int64_t near, int64_t offset, int64_t bytes) {
                   auto at = in ? near : far;
                   Granules g;
                   if (!granules(at, offset, bytes, bytes_of(content), g)) return good = false;
                   if (to_home && at - home->offset.count != offset) {
                     *problem = fmt::format("byte {} goes home to byte {}", offset, at - home->offset.count);
                     return good = false;
                   }
                   if (to_home && memory.holds_some(g.at, g.n, tag_of(number, g.first))) {
                     *problem = fmt::format("{} is written home twice", range(level, at, bytes));
                     return good = false;
                   }
                   memory.fill(g.at, g.n, tag_of(number, g.first));
                   if (to_home) written_home_[static_cast<size_t>(content)] += bytes;
                   return true;
                 });
  return good;
}

}  // namespace tessera::check
