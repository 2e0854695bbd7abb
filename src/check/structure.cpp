#include <algorithm>

#include "check/subject.hpp"

namespace tessera::check {

namespace {

using namespace schedule;

// Which variables have a value where a step stands.
class Scope {
 public:
  Scope(const Subject& subject, const Section& section)
      : s_(subject), section_(section), known_(section.variables.size()) {}

  Result<void> judge(const Block& block) {
    std::vector<size_t> named;
    for (auto& step : block) {
      if (auto* let = std::get_if<Let>(&step.v)) {
        CHECK_OK(all_known({let->value}));
        CHECK_OK(declare(let->variable));
        named.push_back(static_cast<size_t>(let->variable));
      } else {
        CHECK_OK(std::visit([&](auto& what) { return judge(what); }, step.v));
      }
    }
    for (auto v : named) known_[v] = false;
    return {};
  }

 private:
  Result<void> judge(const Loop& loop) {
    CHECK_OK(all_known({loop.count}));
    CHECK_OK(declare(loop.variable));
    auto result = judge(loop.body);
    known_[static_cast<size_t>(loop.variable)] = false;
    return result;
  }
  Result<void> judge(const Let&) { return {}; }
  Result<void> judge(const If& condition) {
    CHECK_OK(all_known({condition.condition}));
    return judge(condition.then);
  }
  Result<void> judge(const Wait& wait) { return all_known({wait.handle}); }
  Result<void> judge(const Transfer& t) {
    CHECK_OK(all_known(t.region));
    return all_known({t.far.slot, t.far.byte, t.near.slot, t.near.byte, t.line, t.lines, t.far_stride, t.handle});
  }
  Result<void> judge(const Keep& k) {
    CHECK_OK(all_known(k.region));
    return all_known(
        {k.from.slot, k.from.byte, k.to.slot, k.to.byte, k.row, k.rows, k.lines, k.from_stride, k.to_stride});
  }
  Result<void> judge(const PutTogether& p) {
    CHECK_OK(judge(p.kept));
    return judge(p.rest);
  }
  Result<void> judge(const Kernel& k) {
    CHECK_OK(all_known(k.tile));
    for (auto* places : {&k.inputs, &k.outputs, &k.scratch})
      for (auto& place : *places) CHECK_OK(all_known({place.slot, place.byte}));
    for (auto& field : k.call.fields) {
      if (auto* e = std::get_if<Expr>(&field.value)) CHECK_OK(all_known({*e}));
      if (auto* list = std::get_if<std::vector<Expr>>(&field.value)) CHECK_OK(all_known(*list));
    }
    return {};
  }

  Result<void> declare(int variable) {
    if (variable < 0 || static_cast<size_t>(variable) >= known_.size())
      return s_.refuse("variables", "section '{}': variable {} has no name", s_.graph.at(section_.node).name, variable);
    if (known_[static_cast<size_t>(variable)])
      return s_.refuse("variables", "section '{}': '{}' is named twice", s_.graph.at(section_.node).name,
                       section_.variables[static_cast<size_t>(variable)]);
    known_[static_cast<size_t>(variable)] = true;
    return {};
  }
  Result<void> all_known(const ops::SymbolicBox& box) {
    CHECK_OK(all_known(box.lo));
    return all_known(box.len);
  }
  Result<void> all_known(const std::vector<Expr>& all) {
    for (auto& e : all)
      if (!known(e))
        return s_.refuse("variables", "section '{}': a formula uses a variable that has no value there",
                         s_.graph.at(section_.node).name);
    return {};
  }
  bool known(const Expr& e) const {
    if (e.op() == Expr::Op::Const) return true;
    if (e.op() == Expr::Op::Var)
      return e.value() >= 0 && static_cast<size_t>(e.value()) < known_.size() && known_[static_cast<size_t>(e.value())];
    return known(e.left()) && known(e.right());
  }

  const Subject& s_;
  const Section& section_;
  std::vector<bool> known_;
};

Result<void> judge_order(const Subject& s, const std::vector<Section>& sections, Phase phase) {
  size_t next = 0;
  for (size_t n = 0; n < s.graph.nodes().size(); ++n) {
    auto& node = s.graph.nodes()[n];
    if (node.phase != phase || s.facts.nodes[n].is_view()) continue;
    if (next == sections.size() || sections[next].node.index != static_cast<int32_t>(n))
      return s.refuse("order", "node '{}' has no section in its place, {}", node.name, next);
    ++next;
  }
  if (next != sections.size()) return s.refuse("order", "{} sections for {} nodes", sections.size(), next);
  return {};
}

}  // namespace

Result<void> judge_structure(const Subject& s) {
  if (s.schedule.handles < 0) return s.refuse("handle", "{} handles", s.schedule.handles);
  CHECK_OK(judge_order(s, s.schedule.training, Phase::Training));
  CHECK_OK(judge_order(s, s.schedule.optimizer, Phase::Optimizer));
  for (auto* sections : {&s.schedule.training, &s.schedule.optimizer})
    for (auto& section : *sections) CHECK_OK(Scope(s, section).judge(section.body));
  return {};
}

}  // namespace tessera::check
