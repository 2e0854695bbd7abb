#include <bit>

#include "check/machine.hpp"

namespace tessera::check {

using namespace schedule;

Result<void> Machine::step(const Kernel& kernel) {
  ++verdict_.kernels;
  if (kernel.node != section_->node) return refuse("kernel", "a kernel of node {} stands here", kernel.node.index);
  auto& facts = s_.facts.nodes[static_cast<size_t>(kernel.node.index)];
  auto tile = box_of(kernel.tile);
  Shape space;
  for (auto& dim : facts.map.dims) space.push_back(dim.extent);
  if (!inside(tile, space)) return refuse("kernel", "its tile leaves the iteration space, or is empty");
  for (size_t d = 0; d < space.size(); ++d)
    if (!facts.map.dims[d].divisible && tile.len[d] != space[d])
      return refuse("kernel", "dimension '{}' is tiled and must not be", facts.map.dims[d].name);
  volume_ += volume(tile);

  TRY(auto all, operands(kernel, tile));
  const bool passed = kernel.call.function.empty();
  CHECK_OK(passed ? judge_passed(all, facts, tile) : judge_separate(all, facts));
  for (auto& o : all) {
    for (auto handle : busy_) {
      auto& f = flights_[static_cast<size_t>(handle)];
      if (overlap(o.where, f.writes()))
        return refuse("arrived", "{} {} {} at {} is still being written by handle {}", o.kind, o.index,
                      describe_content(o.content), range(o.where.level, o.where.at, o.where.line), handle);
      if (o.kind != "input" && overlap(o.where, f.reads()))
        return refuse("in flight", "{} {} {} at {} is still being read by handle {}", o.kind, o.index,
                      describe_content(o.content), range(o.where.level, o.where.at, o.where.line), handle);
    }
    if (o.kind == "input" && !replaced_already(o, all, facts)) CHECK_OK(judge_holds(o, number_of(o.content, -1)));
    if (o.kind != "input" && o.before > 0) CHECK_OK(judge_holds(o, number_of(o.content, o.before)));
  }
  if (!passed) CHECK_OK(judge_call(kernel, tile, all));
  for (auto& o : all)
    if (o.kind != "input") CHECK_OK(make(o));
  return {};
}

// An input that a reduction replaces in place is what the reduction's tiles so far have left there: the output says
// whether that is right.
bool Machine::replaced_already(const Operand& input, const std::vector<Operand>& all, const NodeFacts& facts) {
  for (auto& alias : facts.aliases)
    for (auto& o : all)
      if (alias.kind == ops::Alias::Kind::InPlace && static_cast<size_t>(alias.input) == input.index &&
          o.kind == "output" && static_cast<size_t>(alias.output) == o.index && o.before > 0)
        return true;
  return false;
}

// Every operand that the kernel touches, resolved; the others have no place.
Result<std::vector<Machine::Operand>> Machine::operands(const Kernel& kernel, const ops::Box& tile) {
  auto index = kernel.node.index;
  auto& node = s_.graph.at(kernel.node);
  auto& map = s_.facts.nodes[static_cast<size_t>(index)].map;
  if (kernel.inputs.size() != node.inputs.size() || kernel.outputs.size() != node.outputs.size() ||
      kernel.scratch.size() != map.scratch.size())
    return refuse("kernel", "{} inputs, {} outputs, {} scratch memories: the node has {}, {}, {}", kernel.inputs.size(),
                  kernel.outputs.size(), kernel.scratch.size(), node.inputs.size(), node.outputs.size(),
                  map.scratch.size());
  std::vector<Operand> all;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!s_.facts.is_input_of(s_.graph, index, i)) continue;
    auto content = s_.facts.content[static_cast<size_t>(node.inputs[i].index)];
    TRY(auto o,
        operand({"input", i, &map.inputs[i], s_.graph.at(node.inputs[i]).type.dtype, content}, kernel.inputs[i], tile));
    all.push_back(std::move(o));
  }
  auto result = [&](Operand base, const Place& place) -> Result<void> {
    TRY(auto o, operand(std::move(base), place, tile));
    CHECK_OK(progress(o, map, tile));
    all.push_back(std::move(o));
    return {};
  };
  for (size_t o = 0; o < node.outputs.size(); ++o)
    if (s_.facts.is_output_of(s_.graph, index, o))
      CHECK_OK(result({"output", o, &map.outputs[o], s_.graph.at(node.outputs[o]).type.dtype, node.outputs[o].index},
                      kernel.outputs[o]));
  for (size_t i = 0; i < map.scratch.size(); ++i)
    CHECK_OK(result({"scratch", i, &map.scratch[i].map, map.scratch[i].dtype, scratch_content_.at({index, i})},
                    kernel.scratch[i]));
  return all;
}

Result<Machine::Operand> Machine::operand(Operand o, const Place& place, const ops::Box& tile) {
  o.box = ops::region(*o.map, tile);
  o.total = bytes_of(o.content);
  auto bytes = volume(o.box) * size_of(o.dtype);
  TRY(auto at, spot(place, bytes, fmt::format("{} {}", o.kind, o.index)));
  o.buffer = at.buffer;
  o.where = {at.buffer->level, at.at, bytes, 1, 0};
  if (!s_.target.memories[static_cast<size_t>(o.where.level)].addressable)
    return refuse("place", "{} {} is in {}, where no core can reach", o.kind, o.index, s_.level_name(o.where.level));
  if (at.at % size_of(o.dtype) != 0)
    return refuse("place", "{} {} at {} is not aligned to its elements", o.kind, o.index, at.at);
  if (o.kind == "scratch" && o.buffer->storage.index >= 0) {
    auto& planned = s_.plan.nodes[static_cast<size_t>(section_->node.index)].scratch;
    if (o.index >= planned.size() || planned[o.index].home != o.buffer->storage)
      return refuse("place", "scratch {} is in '{}', which is another's home", o.index, o.buffer->name);
  }
  return o;
}

// A result is reduced over the dimensions that none of its axes uses. Its terms come in the one fixed order, so the
// tile's part of the linearised reduction space must be one stretch of it.
Result<void> Machine::progress(Operand& o, const ops::TileMap& map, const ops::Box& tile) {
  int64_t start = 0, length = 1, total = 1;
  bool open = false;  // a dimension before is longer than one: those behind must be whole
  for (size_t d = 0; d < map.dims.size(); ++d) {
    if (o.map->uses(static_cast<int>(d))) continue;
    auto extent = map.dims[d].extent;
    if (open && tile.len[d] != extent)
      return refuse("reduction", "{} {}: dimension '{}' is split inside of a longer one", o.kind, o.index,
                    map.dims[d].name);
    open |= tile.len[d] > 1;
    start = start * extent + tile.lo[d];
    length *= tile.len[d];
    total *= extent;
  }
  o.before = start;
  o.after = start + length;
  o.steps = total;
  return {};
}

// No result lies over another operand, except where it replaces an input byte for byte.
Result<void> Machine::judge_separate(const std::vector<Operand>& all, const NodeFacts& facts) {
  auto replaces = [&](const Operand& in, const Operand& out) {
    for (auto& alias : facts.aliases)
      if (alias.kind == ops::Alias::Kind::InPlace && in.kind == "input" && out.kind == "output" &&
          static_cast<size_t>(alias.input) == in.index && static_cast<size_t>(alias.output) == out.index)
        return true;
    return false;
  };
  for (auto& result : all) {
    if (result.kind == "input") continue;
    for (auto& other : all) {
      if (&other == &result) continue;
      bool in_place = replaces(other, result);
      bool same = other.where.level == result.where.level && other.where.at == result.where.at &&
                  other.where.line == result.where.line;
      if (in_place && !same)
        return refuse("alias", "output {} replaces input {}, but stands at {} and that at {}", result.index,
                      other.index, range(result.where.level, result.where.at, result.where.line),
                      range(other.where.level, other.where.at, other.where.line));
      if (!in_place && overlap(other.where, result.where))
        return refuse("kernel", "{} {} at {} lies over {} {}", result.kind, result.index,
                      range(result.where.level, result.where.at, result.where.line), other.kind, other.index);
    }
  }
  return {};
}

namespace {

// Elements of a dense box from a point of the space to the next one along a dimension.
int64_t step_along(size_t dim, const ops::OperandMap& map, const ops::Box& box) {
  int64_t step = 0, inside = 1;
  for (size_t a = map.axes.size(); a-- > 0; inside *= box.len[a])
    for (auto& term : map.axes[a].terms)
      if (static_cast<size_t>(term.dim) == dim) step += term.coefficient * inside;
  return step;
}

}  // namespace

// Where nothing is called, the input must be the output as it stands: an operator that only copies, both in one place,
// and every point of the tile at the same element of both.
Result<void> Machine::judge_passed(const std::vector<Operand>& all, const NodeFacts& facts, const ops::Box& tile) {
  if (!facts.op->copies || all.size() != 2 || all[0].kind != "input" || all[0].index != 0 || all[1].kind != "output")
    return refuse("call", "nothing is called, but it does more than copy");
  auto &in = all[0], &out = all[1];
  if (in.where.level != out.where.level || in.where.at != out.where.at || in.where.line != out.where.line)
    return refuse("call", "nothing is called, but input 0 stands at {} and output 0 at {}",
                  range(in.where.level, in.where.at, in.where.line),
                  range(out.where.level, out.where.at, out.where.line));
  bool alike = in.dtype == out.dtype && volume(in.box) == volume(tile) && volume(out.box) == volume(tile);
  for (size_t d = 0; d < tile.len.size(); ++d)
    alike &= tile.len[d] == 1 || step_along(d, *in.map, in.box) == step_along(d, *out.map, out.box);
  if (!alike) return refuse("call", "nothing is called, but input 0 is not output 0 byte for byte");
  return {};
}

// The operand's box, dense and row-major, stands where the kernel looks for it.
Result<void> Machine::judge_holds(const Operand& o, uint32_t number) {
  auto& memory = shadow(o.where.level);
  auto size = size_of(o.dtype), at = o.where.at;
  std::string problem;
  for_each_run(o.map->view, o.box, [&](int64_t first, int64_t n) {
    Granules g;
    if (!granules(at, first * size, n * size, o.total, g)) return false;
    auto wrong = memory.differs(g.at, g.n, tag_of(number, g.first));
    if (wrong >= 0)
      problem = fmt::format("{} holds {}, not {}", range(o.where.level, (g.at + wrong) * granule_, granule_),
                            describe(memory.at(g.at + wrong)), describe(tag_of(number, g.first + wrong)));
    at += n * size;
    return wrong < 0;
  });
  if (needs_bytes_) return refuse("granule", "not aligned");
  if (problem.empty()) return {};
  return refuse(o.kind == "input" ? "reads" : "reduction", "{} {} {}: {}", o.kind, o.index, describe_content(o.content),
                problem);
}

// The result's box now holds the reduction up to here; where that is all of it, each element is done, once.
Result<void> Machine::make(const Operand& o) {
  auto& memory = shadow(o.where.level);
  bool whole = o.after == o.steps;
  auto number = number_of(o.content, whole ? -1 : o.after);
  auto size = size_of(o.dtype), at = o.where.at;
  bool output = o.kind == "output", home = output && whole && o.buffer->storage.index >= 0;
  std::string problem;
  for_each_run(o.map->view, o.box, [&](int64_t first, int64_t n) {
    Granules g;
    if (!granules(at, first * size, n * size, o.total, g)) return false;
    memory.fill(g.at, g.n, tag_of(number, g.first));
    if (output && whole) {
      auto* done = covered_[o.index].done.data() + first;
      for (int64_t i = 0; i < n; ++i)
        if (done[i]++ && problem.empty()) problem = fmt::format("element {} is made twice", first + i);
      covered_[o.index].count += n;
    }
    if (home && at - o.buffer->offset.count != first * size)
      problem = fmt::format("byte {} is made at byte {} of its home", first * size, at - o.buffer->offset.count);
    at += n * size;
    return problem.empty();
  });
  if (needs_bytes_) return refuse("granule", "not aligned");
  if (home && problem.empty()) {
    if (o.buffer->storage != s_.plan.storage_of[static_cast<size_t>(o.content)])
      problem = fmt::format("it is made in '{}', where it does not live", o.buffer->name);
    else
      written_home_[static_cast<size_t>(o.content)] += o.where.line;
  }
  if (problem.empty()) return {};
  return refuse("coverage", "{} {} {}: {}", o.kind, o.index, describe_content(o.content), problem);
}

// The call's numbers are the tile's, as the operator itself writes them.
Result<void> Machine::judge_call(const Kernel& kernel, const ops::Box& tile, const std::vector<Operand>& all) {
  auto& facts = s_.facts.nodes[static_cast<size_t>(kernel.node.index)];
  auto results = facts.map.outputs.size() + facts.map.scratch.size();
  std::vector<int64_t> symbols = tile.lo;
  symbols.insert(symbols.end(), tile.len.begin(), tile.len.end());
  std::vector<int64_t> first(results, 1), last(results, 1);
  for (auto& o : all) {
    if (o.kind == "input") continue;
    auto r = o.kind == "output" ? o.index : facts.map.outputs.size() + o.index;
    first[r] = o.before == 0;
    last[r] = o.after == o.steps;
  }
  symbols.insert(symbols.end(), first.begin(), first.end());
  symbols.insert(symbols.end(), last.begin(), last.end());

  auto &expected = facts.call, &given = kernel.call;
  if (expected.function != given.function || expected.header != given.header ||
      expected.fields.size() != given.fields.size())
    return refuse("call", "calls {} with {} fields, not {} with {}", given.function, given.fields.size(),
                  expected.function, expected.fields.size());
  auto same_list = [&](const std::vector<Expr>& a, const std::vector<Expr>& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i)
      if (a[i].eval(symbols) != value(b[i])) return false;
    return true;
  };
  for (size_t f = 0; f < expected.fields.size(); ++f) {
    auto &want = expected.fields[f], &have = given.fields[f];
    bool good = want.name == have.name && want.value.index() == have.value.index();
    if (good && std::holds_alternative<Expr>(want.value))
      good = std::get<Expr>(want.value).eval(symbols) == value(std::get<Expr>(have.value));
    if (good && std::holds_alternative<std::vector<Expr>>(want.value))
      good = same_list(std::get<std::vector<Expr>>(want.value), std::get<std::vector<Expr>>(have.value));
    if (good && std::holds_alternative<float>(want.value))
      good =
          std::bit_cast<uint32_t>(std::get<float>(want.value)) == std::bit_cast<uint32_t>(std::get<float>(have.value));
    if (good && std::holds_alternative<ops::OperandRef>(want.value)) {
      auto &a = std::get<ops::OperandRef>(want.value), &b = std::get<ops::OperandRef>(have.value);
      good = a.kind == b.kind && a.index == b.index;
    }
    if (!good)
      return refuse("call", "field '{}' of {} is not what the tile needs ('{}')", have.name, given.function, want.name);
  }
  return {};
}

Result<void> Machine::judge_covered(const Node& node, const NodeFacts& facts) {
  int64_t space = 1;
  for (auto& dim : facts.map.dims) space *= dim.extent;
  for (size_t o = 0; o < node.outputs.size(); ++o) {
    if (!s_.facts.is_output_of(s_.graph, section_->node.index, o)) continue;
    auto due = s_.facts.made_by(s_.graph, section_->node.index, o);
    if (covered_[o].count != due)
      return refuse("coverage", "{} of {} elements of output {} '{}' were made", covered_[o].count, due, o,
                    s_.name(node.outputs[o].index));
  }
  if (volume_ != space) return refuse("coverage", "its kernels ran {} iterations of {}", volume_, space);
  return {};
}

}  // namespace tessera::check
