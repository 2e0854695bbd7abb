// Small schedules written by hand, so that the checker is tried without the planner and the scheduler.
//
//   Sketch s;  auto x = s.input("x", {10});  auto n = s.node({"", "Relu"}, {x}, "y");   ... homes, slots, a section
//   s.fetch(n, 0, tile, slot, handle), s.wait(handle), s.kernel(n, tile, {...})
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "check/check.hpp"
#include "ops/builder.hpp"

namespace tessera::handmade {

using namespace schedule;

struct Case {
  Graph graph;
  plan::Plan plan;
  Schedule schedule;
  target::Target target;
  check::Options options = {};

  Result<check::Verdict> judge() const { return check::check(graph, plan, schedule, target, options); }
};

// 4k of L1, 256k of L2, an L3 that no core can reach; a strided engine between the first two.
inline target::Target small_chip() {
  target::Target t;
  t.name = "small";
  t.memories = {{.level = "L1", .size = Bytes(4096)},
                {.level = "L2", .size = Bytes(256 * 1024)},
                {.level = "L3", .size = Bytes(1 << 20), .addressable = false}};
  t.engines = {{.name = "dma", .far = "L2", .near = "L1", .max_rank = 2, .max_bytes = Bytes(131071), .in_flight = 4},
               {.name = "ext", .far = "L3", .near = "L2", .max_rank = 1, .max_bytes = Bytes(65536), .in_flight = 2}};
  t.cores = t.workers = 2;
  t.controller_works = true;
  t.stacks = {Bytes(512), Bytes(256), Bytes(256)};
  return t;
}

class Sketch {
 public:
  Case c;

  Sketch() { c.target = small_chip(); }

  TensorId tensor(std::string name, Shape shape, Role role, DType dtype = DType::F32) {
    auto id = c.graph.add_tensor({std::move(name), {dtype, std::move(shape)}, role, {}});
    if (role == Role::Input) c.graph.inputs.push_back(id);
    if (role == Role::Parameter || role == Role::State || role == Role::Constant)
      c.graph.at(id).value = TensorData::zeros(c.graph.at(id).type);
    return id;
  }
  NodeId node(OpName op, std::vector<TensorId> inputs, std::vector<TensorId> outputs, Phase phase = Phase::Training) {
    return c.graph.add_node(
        {.op = std::move(op), .inputs = std::move(inputs), .outputs = std::move(outputs), .phase = phase});
  }

  // Homes one after another in L2, each with its members' life; call once all nodes stand.
  void homes(std::vector<std::vector<TensorId>> classes) {
    auto end = static_cast<int32_t>(c.graph.nodes().size()) - 1;
    c.plan.nodes.resize(c.graph.nodes().size());
    c.plan.storage_of.resize(c.graph.tensors().size());
    Uses uses(c.graph);
    Bytes next;
    for (auto& members : classes) {
      plan::Storage s{.name = c.graph.at(members[0]).name, .members = members, .offset = next};
      s.size = c.graph.at(members[0]).type.bytes();
      s.life = {end, 0};
      for (auto m : members) {
        auto role = c.graph.at(m).role;
        s.persistent |= role == Role::Parameter || role == Role::State || role == Role::Constant;
        auto made = uses.producer[static_cast<size_t>(m.index)].index;
        s.life.first = std::min(s.life.first, std::max(made, 0));
        for (auto reader : uses.consumers[static_cast<size_t>(m.index)])
          s.life.last = std::max(s.life.last, reader.index);
        if (s.persistent || std::ranges::count(c.graph.outputs, m)) s.life.last = end;
        c.plan.storage_of[static_cast<size_t>(m.index)] = {static_cast<int32_t>(c.plan.storages.size())};
      }
      next = align_up(next + s.size, 4);
      c.schedule.buffers.push_back({"home_" + std::to_string(c.plan.storages.size()),
                                    s.level,
                                    s.offset,
                                    s.size,
                                    1,
                                    s.life,
                                    {static_cast<int32_t>(c.plan.storages.size())}});
      c.plan.storages.push_back(std::move(s));
    }
    c.plan.cores = 2;
    c.plan.arenas = {{0, Bytes(0), {}}, {1, next, {}}};
    c.plan.reserved = {Bytes(512), Bytes(512) + Bytes(8192), Bytes(0)};
    c.plan.controller_stack = c.target.stacks.controller;
  }
  BufferId slots(std::string name, int64_t bytes, int n, plan::Lifetime life) {
    auto& arena = c.plan.arenas[0].size;
    c.schedule.buffers.push_back({std::move(name), 0, arena, Bytes(bytes), n, life, {}});
    arena += Bytes(bytes * n);
    return {static_cast<int32_t>(c.schedule.buffers.size()) - 1};
  }

  ops::TileMap map(NodeId n) const {
    auto* op = *ops::definition(c.graph, c.graph.at(n));
    return *op->tile_map({c.graph, c.graph.at(n)});
  }
  // The whole space, but along the named dimensions.
  struct Along {
    std::string dim;
    Expr lo, len;
  };
  ops::SymbolicBox tile(NodeId n, std::vector<Along> parts) const {
    ops::SymbolicBox box;
    for (auto& dim : map(n).dims) {
      Expr lo = 0, len = dim.extent;
      for (auto& part : parts)
        if (part.dim == dim.name) lo = part.lo, len = part.len;
      box.lo.push_back(lo);
      box.len.push_back(len);
    }
    return box;
  }
  Place home(TensorId t) const { return {{c.plan.storage_of[static_cast<size_t>(t.index)].index}}; }

  Step fetch(NodeId n, size_t input, const ops::SymbolicBox& box, Place slot, Expr handle) const {
    return transfer(Transfer::Direction::In, n, c.graph.at(n).inputs[input], map(n).inputs[input], box, slot, handle);
  }
  Step write(NodeId n, size_t output, const ops::SymbolicBox& box, Place slot, Expr handle) const {
    return transfer(Transfer::Direction::Out, n, c.graph.at(n).outputs[output], map(n).outputs[output], box, slot,
                    handle);
  }
  Step transfer(Transfer::Direction way, NodeId n, TensorId tensor, const ops::OperandMap& operand,
                const ops::SymbolicBox& box, Place slot, Expr handle) const {
    Transfer t{.direction = way, .tensor = tensor, .region = ops::region(operand, box, map(n)), .near = slot};
    Expr first = 0, line = size_of(c.graph.at(tensor).type.dtype), stride = line;
    bool whole = true;
    for (size_t a = operand.view.size(); a-- > 0;) {
      first = first + t.region.lo[a] * stride;
      if (whole)
        line = line * t.region.len[a];
      else if (t.region.len[a].constant() != 1)
        t.lines = t.region.len[a], t.far_stride = stride;
      whole = whole && t.region.len[a].constant() == operand.view[a];
      stride = stride * operand.view[a];
    }
    t.far = home(tensor);
    t.far.byte = first;
    t.line = line;
    t.handle = handle;
    return {t};
  }
  static Step wait(Expr handle) { return {Wait{handle}}; }
  Step kernel(NodeId n, const ops::SymbolicBox& box, std::vector<Place> inputs, std::vector<Place> outputs,
              std::vector<Place> scratch = {}) const {
    auto m = map(n);
    ops::TileSymbols symbols{box, {}, {}};
    auto reduction = [&](const ops::OperandMap& operand) {
      Expr first = 1, last = 1;
      for (size_t d = 0; d < m.dims.size(); ++d)
        if (!operand.uses(static_cast<int>(d))) {
          first = both(first, equal(box.lo[d], 0));
          last = both(last, equal(box.lo[d] + box.len[d], m.dims[d].extent));
        }
      symbols.first.push_back(first);
      symbols.last.push_back(last);
    };
    for (auto& o : m.outputs) reduction(o);
    for (auto& s : m.scratch) reduction(s.map);
    auto* op = *ops::definition(c.graph, c.graph.at(n));
    return {Kernel{n, box, std::move(inputs), std::move(outputs), std::move(scratch),
                   op->kernel({c.graph, c.graph.at(n)}, symbols)}};
  }
  void section(NodeId n, std::vector<std::string> variables, Block body) {
    auto& sections = c.graph.at(n).phase == Phase::Training ? c.schedule.training : c.schedule.optimizer;
    sections.push_back({n, std::move(variables), std::move(body)});
  }
};

// y = relu(x), 10 elements in tiles of 4, 4, 2, both operands double buffered.
inline Case relu_in_tiles() {
  Sketch s;
  auto x = s.tensor("x", {10}, Role::Input), y = s.tensor("y", {10}, Role::Activation);
  s.c.graph.outputs = {y};
  auto n = s.node({"", "Relu"}, {x}, {y});
  s.homes({{x}, {y}});
  auto xs = s.slots("x_slots", 16, 2, {0, 0}), ys = s.slots("y_slots", 16, 2, {0, 0});
  auto t = Expr::var(0);
  auto at = [&](Expr i) { return s.tile(n, {{"i", i * 4, min(Expr(4), 10 - i * 4)}}); };
  s.c.schedule.handles = 4;
  Block loop{{If{less(t + 1, 3), {s.fetch(n, 0, at(t + 1), {xs, (t + 1) % 2}, (t + 1) % 2)}}},
             s.wait(t % 2),
             {If{less(1, t), {s.wait(t % 2 + 2)}}},
             s.kernel(n, at(t), {{xs, t % 2}}, {{ys, t % 2}}),
             s.write(n, 0, at(t), {ys, t % 2}, t % 2 + 2)};
  s.section(n, {"t"}, {s.fetch(n, 0, at(0), {xs}, 0), {Loop{0, 3, loop}}, s.wait(3), s.wait(2)});
  return s.c;
}

// y = relu(x), 16 elements that live in L3: tiles of 8 through L2, of 4 through L1.
inline Case relu_from_l3() {
  Sketch s;
  auto x = s.tensor("x", {16}, Role::Input), y = s.tensor("y", {16}, Role::Activation);
  s.c.graph.outputs = {y};
  auto n = s.node({"", "Relu"}, {x}, {y});
  s.homes({{x}, {y}});
  for (size_t i = 0; i < 2; ++i) s.c.plan.storages[i].level = s.c.schedule.buffers[i].level = 2;
  s.c.plan.arenas = {{0, Bytes(0), {}}, {1, Bytes(64), {}}, {2, Bytes(128), {}}};
  s.c.schedule.buffers.push_back({"x_far", 1, Bytes(0), Bytes(32), 1, {0, 0}, {}});
  s.c.schedule.buffers.push_back({"y_far", 1, Bytes(32), Bytes(32), 1, {0, 0}, {}});
  BufferId x_far{2}, y_far{3}, x_near = s.slots("x_near", 16, 1, {0, 0}), y_near = s.slots("y_near", 16, 1, {0, 0});
  auto i = Expr::var(0), j = Expr::var(1);
  auto outer = s.tile(n, {{"i", i * 8, 8}}), inner = s.tile(n, {{"i", i * 8 + j * 4, 4}});
  auto on_engine = [](Step step, int engine, std::optional<Place> far = {}) {
    auto& t = std::get<Transfer>(step.v);
    t.engine = engine;
    if (far) t.far = *far;
    return step;
  };
  s.c.schedule.handles = 2;
  Block tiles{on_engine(s.fetch(n, 0, inner, {x_near}, 0), 0, Place{x_far, 0, j * 16}), s.wait(0),
              s.kernel(n, inner, {{x_near}}, {{y_near}}),
              on_engine(s.write(n, 0, inner, {y_near}, 1), 0, Place{y_far, 0, j * 16}), s.wait(1)};
  Block halves{on_engine(s.fetch(n, 0, outer, {x_far}, 0), 1),
               s.wait(0),
               {Loop{1, 2, tiles}},
               on_engine(s.write(n, 0, outer, {y_far}, 1), 1),
               s.wait(1)};
  s.section(n, {"i", "j"}, {{Loop{0, 2, halves}}});
  return s.c;
}

// y = a b, [3,8] x [8,5]: columns in tiles of 2, 2, 1, the reduction in two halves with the partial result held.
inline Case matmul_in_halves() {
  Sketch s;
  auto a = s.tensor("a", {3, 8}, Role::Input), b = s.tensor("b", {8, 5}, Role::Parameter);
  auto y = s.tensor("y", {3, 5}, Role::Activation);
  s.c.graph.outputs = {y};
  auto n = s.node({"", "MatMul"}, {a, b}, {y});
  s.homes({{a}, {b}, {y}});
  auto as = s.slots("a_slot", 48, 1, {0, 0}), bs = s.slots("b_slot", 32, 1, {0, 0});
  auto ys = s.slots("y_slot", 24, 1, {0, 0});
  auto i = Expr::var(0), k = Expr::var(1);
  auto at = s.tile(n, {{"n", i * 2, min(Expr(2), 5 - i * 2)}, {"k", k * 4, 4}});
  s.c.schedule.handles = 2;
  Block reduction{s.fetch(n, 0, at, {as}, 0), s.fetch(n, 1, at, {bs}, 1), s.wait(0), s.wait(1),
                  s.kernel(n, at, {{as}, {bs}}, {{ys}})};
  Block columns{
      {Loop{1, 2, reduction}}, s.write(n, 0, s.tile(n, {{"n", i * 2, min(Expr(2), 5 - i * 2)}}), {ys}, 0), s.wait(0)};
  s.section(n, {"i", "k"}, {{Loop{0, 3, columns}}});
  return s.c;
}

// A training step without a network: the gradient of w is x; accumulated in place, then w is updated in place.
inline Case accumulate_and_update() {
  Sketch s;
  auto x = s.tensor("x", {6}, Role::Input), reset = s.tensor("reset", {1}, Role::Input, DType::U8);
  auto buffer = s.tensor("buffer", {6}, Role::State), sum = s.tensor("sum", {6}, Role::Activation);
  auto w = s.tensor("w", {6}, Role::Parameter), updated = s.tensor("updated", {6}, Role::Activation);
  auto rate = s.tensor("rate", {}, Role::Constant);
  auto g = s.tensor("g", {6}, Role::Activation);
  auto relu = s.node({"", "Relu"}, {x}, {g});
  auto add = s.node({"com.microsoft", "InPlaceAccumulatorV2"}, {buffer, g, reset}, {TensorId{}, sum});
  auto sgd = s.node({"com.microsoft", "SGDOptimizer"}, {rate, w, sum}, {updated}, Phase::Optimizer);
  s.homes({{x}, {reset}, {buffer, sum}, {w, updated}, {rate}, {g}});
  auto t = Expr::var(0);
  auto slot = [&](std::string name, int32_t at) { return Place{s.slots(std::move(name), 24, 1, {at, at})}; };
  s.c.schedule.handles = 3;
  auto all = s.tile(relu, {});
  auto in = slot("x_slot", 0), out = slot("g_slot", 0);
  s.section(relu, {},
            {s.fetch(relu, 0, all, in, 0), s.wait(0), s.kernel(relu, all, {in}, {out}), s.write(relu, 0, all, out, 1),
             s.wait(1)});
  auto half = [&](NodeId n) { return s.tile(n, {{"i", t * 4, min(Expr(4), 6 - t * 4)}}); };
  auto held = slot("sum_slot", 1), grad = slot("grad_slot", 1), flag = slot("reset_slot", 1);
  s.section(add, {"t"},
            {s.fetch(add, 2, half(add), flag, 2),
             s.wait(2),
             {Loop{0,
                   2,
                   {s.fetch(add, 0, half(add), held, 0), s.fetch(add, 1, half(add), grad, 1), s.wait(0), s.wait(1),
                    s.kernel(add, half(add), {held, grad, flag}, {{}, held}), s.write(add, 1, half(add), held, 0),
                    s.wait(0)}}}});
  auto lr = slot("rate_slot", 2), weight = slot("w_slot", 2), total = slot("total_slot", 2);
  s.section(sgd, {"t"},
            {s.fetch(sgd, 0, half(sgd), lr, 2),
             s.wait(2),
             {Loop{0,
                   2,
                   {s.fetch(sgd, 1, half(sgd), weight, 0), s.fetch(sgd, 2, half(sgd), total, 1), s.wait(0), s.wait(1),
                    s.kernel(sgd, half(sgd), {lr, weight, total}, {weight}), s.write(sgd, 0, half(sgd), weight, 0),
                    s.wait(0)}}}});
  return s.c;
}

}  // namespace tessera::handmade
