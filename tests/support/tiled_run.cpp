#include "support/tiled_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include "support/kernel_library.hpp"

namespace tessera::test {
namespace {

using ops::Box;
using ops::OperandMap;
using ops::TileMap;

std::vector<int> reductions(const OperandMap& map, const TileMap& space) {
  std::vector<int> dims;
  for (int d = 0; d < static_cast<int>(space.dims.size()); ++d)
    if (!map.uses(d)) dims.push_back(d);
  return dims;
}

// What is reduced: outputs, and scratch that is kept while other dimensions run.
std::vector<const OperandMap*> results(const TileMap& space) {
  std::vector<const OperandMap*> all;
  for (auto& o : space.outputs)
    if (o.present) all.push_back(&o);
  for (auto& s : space.scratch) all.push_back(&s.map);
  return all;
}

// Copies a box between its place in a whole tensor and a dense buffer.
enum class Direction { Cut, PutBack };
void move_box(std::byte* whole, std::byte* dense, const Shape& view, const Box& box, int64_t size, Direction direction,
              size_t axis = 0, int64_t at = 0) {
  static_assert(sizeof(std::byte) == 1);
  int64_t below = 1, below_dense = 1;
  for (size_t a = axis + 1; a < view.size(); ++a) {
    below *= view[a];
    below_dense *= box.len[a];
  }
  if (axis == view.size()) {
    auto* from = direction == Direction::Cut ? whole + at * size : dense;
    auto* to = direction == Direction::Cut ? dense : whole + at * size;
    std::memcpy(to, from, static_cast<size_t>(size));
    return;
  }
  for (int64_t i = 0; i < box.len[axis]; ++i)
    move_box(whole, dense + i * below_dense * size, view, box, size, direction, axis + 1,
             at + (box.lo[axis] + i) * below);
}

// One operand: the whole tensor's bytes, and the dense tile that the kernel sees.
struct Storage {
  std::vector<std::byte> whole;
  std::vector<std::byte> dense;
};
struct Bound {
  const OperandMap* map = nullptr;  // null: absent
  int64_t size = 4;
  std::shared_ptr<Storage> storage;

  void cut(const Box& tile) {
    auto box = region(*map, tile);
    storage->dense = std::vector<std::byte>(static_cast<size_t>(count(box.len) * size));
    move_box(storage->whole.data(), storage->dense.data(), map->view, box, size, Direction::Cut);
  }
  void put_back(const Box& tile) {
    move_box(storage->whole.data(), storage->dense.data(), map->view, region(*map, tile), size, Direction::PutBack);
  }
};

std::string text_of(const ops::KernelCall::Field& field) {
  struct Printer {
    std::string operator()(const ops::OperandRef& r) const {
      const char* kinds[] = {"in", "out", "scratch"};
      return fmt::format("{}[{}]", kinds[static_cast<int>(r.kind)], r.index);
    }
    std::string operator()(const Expr& e) const {
      std::vector<std::string> names;
      for (int d = 0; d < 32; ++d) names.insert(names.end(), {fmt::format("lo{}", d), fmt::format("len{}", d)});
      return e.c(names);
    }
    std::string operator()(const std::vector<Expr>& all) const {
      std::vector<std::string> texts;
      for (auto& e : all) texts.push_back((*this)(e));
      return fmt::format("{{{}}}", fmt::join(texts, ", "));
    }
    std::string operator()(float f) const { return fmt::format("{}f", f); }
  };
  return fmt::format(".{} = {}", field.name, std::visit(Printer{}, field.value));
}

FieldKind kind_of(const ops::KernelCall::Field& field) {
  return static_cast<FieldKind>(field.value.index());  // in the order of the variant
}

// The tile as variables of the call, v[2d] = lo and v[2d+1] = len of dimension d.
ops::TileSymbols symbols(const TileMap& map) {
  ops::TileSymbols s;
  for (int d = 0; d < static_cast<int>(map.dims.size()); ++d) {
    s.box.lo.push_back(Expr::var(2 * d));
    s.box.len.push_back(Expr::var(2 * d + 1));
  }
  auto add = [&](const OperandMap& result) {
    Expr first = 1, last = 1;
    for (int d : reductions(result, map)) {
      auto i = static_cast<size_t>(d);
      first = both(first, equal(s.box.lo[i], 0));
      last = both(last, equal(s.box.lo[i] + s.box.len[i], map.dims[i].extent));
    }
    s.first.push_back(first);
    s.last.push_back(last);
  };
  for (auto& o : map.outputs) add(o);
  for (auto& x : map.scratch) add(x.map);
  return s;
}

// The kernel's arguments for one tile, as the C initialiser of the emitted call would have them.
struct Addresses {
  std::vector<void*> in, out, scratch;
};
class Arguments {
 public:
  Arguments(const ops::KernelCall& call, const Addresses& at, std::span<const int64_t> variables) {
    std::vector<std::pair<std::string, FieldKind>> fields;
    for (auto& field : call.fields) fields.emplace_back(field.name, kind_of(field));
    auto& where = layout(call.header, call.function + "_args", fields);
    words_.resize((where.size + 7) / 8);
    for (size_t i = 0; i < fields.size(); ++i) {
      auto write = [&](size_t offset, const auto& value) {
        if (offset + sizeof(value) > where.sizes[i])
          throw std::runtime_error(fmt::format("{}: too much for the field '{}'", call.function, fields[i].first));
        std::memcpy(reinterpret_cast<std::byte*>(words_.data()) + where.offsets[i] + offset, &value, sizeof(value));
      };
      auto number = [&](const Expr& e) { return static_cast<int32_t>(e.eval(variables)); };
      auto& value = call.fields[i].value;
      if (auto* operand = std::get_if<ops::OperandRef>(&value)) {
        const std::vector<void*>* lists[] = {&at.in, &at.out, &at.scratch};
        auto& list = *lists[static_cast<int>(operand->kind)];
        auto index = static_cast<size_t>(operand->index);
        write(0, index < list.size() ? list[index] : static_cast<void*>(nullptr));
      } else if (auto* one = std::get_if<Expr>(&value)) {
        write(0, number(*one));
      } else if (auto* real = std::get_if<float>(&value)) {
        write(0, *real);
      } else {
        auto& many = std::get<std::vector<Expr>>(value);
        for (size_t k = 0; k < many.size(); ++k) write(4 * k, number(many[k]));
      }
    }
  }
  void* data() { return words_.data(); }

 private:
  std::vector<uint64_t> words_;
};

}  // namespace

TiledRun::TiledRun(const Graph& graph, NodeId node) : graph_(graph), node_(node) {
  auto op = ops::definition(graph, graph.at(node));
  if (!op) throw std::runtime_error(op.error().text());
  op_ = *op;
  ops::NodeContext context{graph, graph.at(node)};
  auto map = op_->tile_map(context);
  if (!map) throw std::runtime_error(map.error().text());
  map_ = *std::move(map);
  call_ = op_->kernel(context, symbols(map_));
}

std::string TiledRun::source() const {
  std::vector<std::string> fields;
  for (auto& field : call_.fields) fields.push_back(text_of(field));
  return fmt::format("{}({{{}}})", call_.function, fmt::join(fields, ", "));
}

namespace {

// Every tile in the order of the loops.
void for_each_tile(const TileMap& map, const Tile& tile, std::span<const int> loops, Box& box,
                   const std::function<void(const Box&)>& body) {
  if (loops.empty()) return body(box);
  auto d = static_cast<size_t>(loops[0]);
  for (int64_t lo = 0; lo < map.dims[d].extent; lo += tile[d]) {
    box.lo[d] = lo;
    box.len[d] = std::min(tile[d], map.dims[d].extent - lo);
    for_each_tile(map, tile, loops.subspan(1), box, body);
  }
}

std::vector<void*> addresses(const std::vector<Bound>& operands) {
  std::vector<void*> all;
  for (auto& b : operands) all.push_back(b.map ? b.storage->dense.data() : nullptr);
  return all;
}

// Bytes that no kernel could have meant: reading an output before writing it gives NaN.
std::shared_ptr<Storage> poisoned(int64_t elements, int64_t size) {
  return std::make_shared<Storage>(
      Storage{std::vector<std::byte>(static_cast<size_t>(elements * size), std::byte{0xff}), {}});
}

struct Operands {
  std::vector<Bound> inputs, outputs, scratch;
};

Operands bound_operands(const ops::NodeContext& n, const ops::Operator& op, const TileMap& map,
                        std::span<const TensorData> values) {
  Operands all;
  for (size_t i = 0; i < map.inputs.size(); ++i) {
    Bound b;
    if (map.inputs[i].present) {
      auto bytes = values[i].bytes();
      b = {&map.inputs[i], size_of(values[i].type().dtype),
           std::make_shared<Storage>(Storage{{bytes.begin(), bytes.end()}, {}})};
    }
    all.inputs.push_back(b);
  }
  for (size_t o = 0; o < map.outputs.size(); ++o) {
    Bound b;
    if (map.outputs[o].present) {
      int64_t size = size_of(n.output(o).type.dtype);
      b = {&map.outputs[o], size, poisoned(count(map.outputs[o].view), size)};
    }
    all.outputs.push_back(b);
  }
  for (auto& s : map.scratch)
    all.scratch.push_back({&s.map, size_of(s.dtype), poisoned(count(s.map.view), size_of(s.dtype))});
  if (op.aliases)
    for (auto& alias : op.aliases(n))
      if (auto& o = all.outputs[static_cast<size_t>(alias.output)]; o.map) {
        auto i = static_cast<size_t>(alias.input);
        if (all.inputs[i].storage)
          o.storage = all.inputs[i].storage;
        else if (n.has_input(i))  // the kernel does not touch it, but it stays around what is made
          o.storage->whole.assign(values[i].bytes().begin(), values[i].bytes().end());
      }
  return all;
}

}  // namespace

std::vector<TensorData> TiledRun::operator()(std::span<const TensorData> values, const Tile& tile, int cores,
                                             std::vector<int> loops) const {
  ops::NodeContext n{graph_, graph_.at(node_)};
  auto operands = bound_operands(n, *op_, map_, values);
  auto function = kernel(call_.header, call_.function, cores);
  if (loops.empty()) {
    loops.resize(map_.dims.size());
    std::iota(loops.begin(), loops.end(), 0);
  }
  Box box{Tile(map_.dims.size()), Tile(map_.dims.size())};
  for_each_tile(map_, tile, loops, box, [&](const Box& at) {
    for (auto* group : {&operands.inputs, &operands.outputs, &operands.scratch})
      for (auto& b : *group)
        if (b.map) b.cut(at);
    std::vector<int64_t> variables;
    for (size_t d = 0; d < at.lo.size(); ++d) variables.insert(variables.end(), {at.lo[d], at.len[d]});
    Arguments arguments(call_, {addresses(operands.inputs), addresses(operands.outputs), addresses(operands.scratch)},
                        variables);
    fork(cores, function, arguments.data());
    for (auto* group : {&operands.outputs, &operands.scratch})
      for (auto& b : *group)
        if (b.map) b.put_back(at);
  });
  std::vector<TensorData> made;
  for (size_t o = 0; o < operands.outputs.size(); ++o)
    made.push_back(operands.outputs[o].map ? TensorData(n.output(o).type, operands.outputs[o].storage->whole)
                                           : TensorData{});
  return made;
}

Tile whole_tile(const TileMap& map) {
  Tile tile;
  for (auto& d : map.dims) tile.push_back(d.extent);
  return tile;
}

Tile random_tile(const TileMap& map, std::mt19937& rng) {
  Tile tile;
  for (auto& d : map.dims)
    tile.push_back(d.divisible && rng() % 4 ? std::uniform_int_distribution<int64_t>(1, d.extent)(rng) : d.extent);
  // Where a reduction is to be split, the ones before it go one by one; a coin decides how deep the split goes.
  for (auto* result : results(map)) {
    auto reduced = reductions(*result, map);
    size_t split = reduced.empty() ? 0 : rng() % reduced.size();
    for (size_t r = 0; r < reduced.size(); ++r) {
      auto d = static_cast<size_t>(reduced[r]);
      if (r < split && map.dims[d].divisible) tile[d] = 1;
    }
  }
  for (bool changed = true; changed;) {  // several outputs: enlarge until all agree
    changed = false;
    for (auto* result : results(map)) {
      bool whole = false;
      for (int dim : reductions(*result, map)) {
        auto d = static_cast<size_t>(dim);
        if (whole && tile[d] != map.dims[d].extent) {
          tile[d] = map.dims[d].extent;
          changed = true;
        }
        whole |= tile[d] != 1;
      }
    }
  }
  return tile;
}

std::vector<int> random_loops(const TileMap& map, std::mt19937& rng) {
  std::vector<bool> reduced(map.dims.size());
  for (auto* result : results(map))
    for (int d : reductions(*result, map)) reduced[static_cast<size_t>(d)] = true;
  std::vector<int> loops(map.dims.size()), fixed;
  std::iota(loops.begin(), loops.end(), 0);
  std::ranges::shuffle(loops, rng);
  for (int d = 0; d < static_cast<int>(reduced.size()); ++d)
    if (reduced[static_cast<size_t>(d)]) fixed.push_back(d);
  size_t next = 0;
  for (auto& d : loops)
    if (reduced[static_cast<size_t>(d)]) d = fixed[next++];
  return loops;
}

namespace {

bool same_bits(const TensorData& a, const TensorData& b) {
  return std::ranges::equal(a.bytes(), b.bytes());
}

std::string difference(const TensorData& got, const ops::Array& wanted, double tolerance) {
  for (int64_t i = 0; i < static_cast<int64_t>(wanted.v.size()); ++i) {
    double w = wanted.v[static_cast<size_t>(i)], g = got.at(i);
    if (wanted.dtype == DType::F32 && std::isinf(static_cast<float>(w))) w = static_cast<float>(w);  // overflows
    if (std::isnan(w) ? !std::isnan(g) : !(w == g || std::abs(g - w) <= tolerance * std::max(1.0, std::abs(w))))
      return fmt::format("element {} is {}, the reference says {}", i, g, w);
  }
  return "";
}

}  // namespace

std::string kernel_failure(const OneNode& n, std::span<const TensorData> inputs, std::mt19937& rng, double tolerance,
                           int tilings) {
  if (!n.status) return n.status.error().text();
  TiledRun run(n.graph, n.node);
  auto wanted = reference(n.graph, n.node, inputs);
  auto whole = run(inputs, whole_tile(run.map()), 1);
  for (size_t o = 0; o < whole.size(); ++o)
    if (!whole[o].empty())
      if (auto text = difference(whole[o], wanted[o], tolerance); !text.empty())
        return fmt::format("output {}: {}\n{}", o, text, run.source());
  const int cores[] = {1, 2, 3, 8};
  for (int i = 0; i < tilings; ++i) {
    auto tile = i < 3 ? whole_tile(run.map()) : random_tile(run.map(), rng);
    auto loops = random_loops(run.map(), rng);
    int team = i < 3 ? cores[i + 1] : cores[rng() % 4];
    auto tiled = run(inputs, tile, team, loops);
    for (size_t o = 0; o < whole.size(); ++o)
      if (!same_bits(whole[o], tiled[o]))
        return fmt::format("output {} has other bits with the tile [{}] in the loops [{}] on {} cores\n{}", o,
                           fmt::join(tile, ","), fmt::join(loops, ","), team, run.source());
  }
  return "";
}

}  // namespace tessera::test
