#include "schedule/tile_steps.hpp"

#include <algorithm>
#include <functional>

namespace tessera::schedule {

TileSteps::TileSteps(const ops::TileMap& map, const plan::NodePlan& plan, std::vector<std::string>& variables)
    : map_(map), variables_(&variables), loops_(plan::make_loops(map, plan.nest)), total_(loops_.total()) {}

int TileSteps::new_variable(std::string name) {
  variables_->push_back(std::move(name));
  return static_cast<int>(variables_->size()) - 1;
}

Expr TileSteps::index(const plan::TileLoop& loop, const Expr& step) const {
  if (loop.count == 1) return 0;
  Expr index = step / loop.stride;
  return loop.stride * loop.count == total_ ? index : index % loop.count;
}

TileBoxes TileSteps::at(const Expr& step, const std::string& prefix, Block& block) {
  auto named = [&](const Expr& value, const std::string& name) -> Expr {
    if (value.constant()) return value;
    auto v = new_variable(name);
    block.push_back({Let{v, value}});
    return Expr::var(v);
  };
  TileBoxes boxes;
  ops::SymbolicBox around = whole();
  for (int level = 0; level < levels(); ++level) {
    auto& tile = loops_.tile[static_cast<size_t>(level)];
    const std::string outer = level + 1 < levels() ? "outer_" : "";
    ops::SymbolicBox box = around;
    for (auto& loop : loops_.loops) {
      if (loop.level != level || loop.count == 1) continue;  // undivided here: the same as around it, by name
      auto d = static_cast<size_t>(loop.dim);
      auto& dim = map_.dims[d];
      box.lo[d] = named(around.lo[d] + index(loop, step) * tile[d], prefix + outer + dim.name);
      box.len[d] = tile[d];
      if (dim.extent % tile[d] != 0)
        box.len[d] = named(min(Expr(tile[d]), dim.extent - box.lo[d]), prefix + outer + dim.name + "_len");
    }
    around = box;
    boxes.push_back(std::move(box));
  }
  return boxes;
}

ops::SymbolicBox TileSteps::whole() const {
  ops::SymbolicBox box;
  for (auto& dim : map_.dims) {
    box.lo.push_back(0);
    box.len.push_back(dim.extent);
  }
  return box;
}

ops::TileSymbols TileSteps::symbols(const ops::SymbolicBox& tile) const {
  ops::TileSymbols symbols{tile, {}, {}};
  auto add = [&](const ops::OperandMap& result) {
    Expr first = 1, last = 1;
    for (size_t d = 0; d < map_.dims.size(); ++d) {
      auto count = loops_.count(static_cast<int>(d));
      if (count == 1 || result.uses(static_cast<int>(d))) continue;
      first = both(first, equal(tile.lo[d], 0));
      last = both(last, equal(tile.lo[d], (count - 1) * loops_.tile.back()[d]));
    }
    symbols.first.push_back(first);
    symbols.last.push_back(last);
  };
  for (auto& output : map_.outputs) add(output);
  for (auto& scratch : map_.scratch) add(scratch.map);
  return symbols;
}

void guard(const Expr& condition, Block then, Block& block) {
  if (then.empty() || condition.constant() == 0) return;
  if (condition.constant()) {
    for (auto& step : then) block.push_back(std::move(step));
  } else {
    block.push_back({If{condition, std::move(then)}});
  }
}

Expr otherwise(const Expr& condition) {
  if (condition.op() == Expr::Op::Less) return less(condition.right(), condition.left() + 1);
  return equal(condition, 0);
}

namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};

void for_each_expr(const Step& step, const std::function<void(const Expr&)>& visit);

void for_each_expr(const Block& block, const std::function<void(const Expr&)>& visit) {
  for (auto& step : block) for_each_expr(step, visit);
}

void visit_place(const Place& place, const std::function<void(const Expr&)>& visit) {
  visit(place.slot);
  visit(place.byte);
}

void visit_kernel(const Kernel& k, const std::function<void(const Expr&)>& visit) {
  for (auto* places : {&k.inputs, &k.outputs, &k.scratch})
    for (auto& place : *places) visit_place(place, visit);
  for (auto& e : k.tile.lo) visit(e);
  for (auto& e : k.tile.len) visit(e);
  for (auto& field : k.call.fields) {
    if (auto* e = std::get_if<Expr>(&field.value)) visit(*e);
    if (auto* list = std::get_if<std::vector<Expr>>(&field.value))
      for (auto& e : *list) visit(e);
  }
}

void visit_transfer(const Transfer& t, const std::function<void(const Expr&)>& visit) {
  visit_place(t.far, visit);
  visit_place(t.near, visit);
  for (auto* e : {&t.line, &t.lines, &t.far_stride, &t.handle}) visit(*e);
  for (auto& e : t.region.lo) visit(e);
  for (auto& e : t.region.len) visit(e);
}

void visit_keep(const Keep& k, const std::function<void(const Expr&)>& visit) {
  visit_place(k.from, visit);
  visit_place(k.to, visit);
  for (auto* e : {&k.row, &k.rows, &k.lines, &k.from_stride, &k.to_stride}) visit(*e);
  for (auto& e : k.region.lo) visit(e);
  for (auto& e : k.region.len) visit(e);
}

void for_each_expr(const Step& step, const std::function<void(const Expr&)>& visit) {
  std::visit(Overloaded{
                 [&](const Loop& l) { visit(l.count), for_each_expr(l.body, visit); },
                 [&](const Let& l) { visit(l.value); },
                 [&](const If& i) { visit(i.condition), for_each_expr(i.then, visit); },
                 [&](const Transfer& t) { visit_transfer(t, visit); },
                 [&](const Wait& w) { visit(w.handle); },
                 [&](const Keep& k) { visit_keep(k, visit); },
                 [&](const PutTogether& p) { visit_keep(p.kept, visit), visit_keep(p.rest, visit); },
                 [&](const Kernel& k) { visit_kernel(k, visit); },
             },
             step.v);
}

}  // namespace

void drop_unused(Block& block) {
  for (auto& step : block) {
    if (auto* loop = std::get_if<Loop>(&step.v)) drop_unused(loop->body);
    if (auto* branch = std::get_if<If>(&step.v)) drop_unused(branch->then);
  }
  // From the end, so that a name which only an unused name needs goes as well.
  for (size_t i = block.size(); i-- > 0;) {
    auto* let = std::get_if<Let>(&block[i].v);
    if (!let) continue;
    bool used = false;
    for (size_t j = i + 1; j < block.size() && !used; ++j)
      for_each_expr(block[j], [&](const Expr& e) { used |= e.uses(let->variable); });
    if (!used) block.erase(block.begin() + static_cast<ptrdiff_t>(i));
  }
}

}  // namespace tessera::schedule
