#include "emit/parts.hpp"

#include <algorithm>
#include <array>

#include "schedule/command.hpp"

namespace tessera::emit {

namespace {

using schedule::If;
using schedule::Loop;
using schedule::Transfer;
using schedule::Wait;

constexpr auto part = schedule::kLongestLine;

// With one variable 0.
Expr without(const Expr& e, int variable) {
  if (e.op() == Expr::Op::Const) return e;
  if (e.op() == Expr::Op::Var) return e.value() == variable ? Expr(0) : e;
  return Expr::make(e.op(), without(e.left(), variable), without(e.right(), variable));
}

bool moves_parts(const schedule::Block& block, const target::Target& target, Engine engine) {
  return std::ranges::any_of(block, [&](const schedule::Step& step) {
    if (const auto* branch = std::get_if<If>(&step.v)) return moves_parts(branch->then, target, engine);
    const auto* loop = std::get_if<Loop>(&step.v);
    if (!loop) return false;
    auto whole = whole_of_parts(*loop);
    return whole ? kind_of(target, whole->engine) == engine : moves_parts(loop->body, target, engine);
  });
}

}  // namespace

std::optional<Transfer> whole_of_parts(const Loop& loop) {
  if (loop.body.size() != 2) return std::nullopt;
  const auto* again = std::get_if<If>(&loop.body[0].v);
  const auto* one = std::get_if<Transfer>(&loop.body[1].v);
  if (!again || !one || again->then.size() != 1) return std::nullopt;
  const auto* wait = std::get_if<Wait>(&again->then[0].v);
  auto i = Expr::var(loop.variable);
  if (!wait || !same(wait->handle, one->handle) || one->handle.uses(loop.variable) ||
      !same(again->condition, less(0, i)) || one->lines.constant() != 1 || one->line.op() != Expr::Op::Min ||
      one->line.right().op() != Expr::Op::Sub)
    return std::nullopt;
  // What the loop would be, built from what it seems to be.
  Transfer whole = *one;
  whole.line = one->line.right().left();
  whole.far.byte = without(one->far.byte, loop.variable);
  whole.near.byte = without(one->near.byte, loop.variable);
  auto moved = i * part;
  bool is = same(one->line, min(Expr(part), whole.line - moved)) && same(one->far.byte, whole.far.byte + moved) &&
            same(one->near.byte, whole.near.byte + moved) && same(loop.count, (whole.line + (part - 1)) / part) &&
            !one->far.slot.uses(loop.variable) && !one->near.slot.uses(loop.variable);
  return is ? std::optional(std::move(whole)) : std::nullopt;
}

bool moves_parts(const schedule::Schedule& schedule, const target::Target& target, Engine engine) {
  return std::ranges::any_of(std::array{&schedule.training, &schedule.optimizer}, [&](const auto* entry) {
    return std::ranges::any_of(*entry, [&](const auto& section) { return moves_parts(section.body, target, engine); });
  });
}

}  // namespace tessera::emit
