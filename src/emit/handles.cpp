#include "emit/handles.hpp"

#include <algorithm>
#include <optional>

namespace tessera::emit {

namespace {

Range hull(std::initializer_list<int64_t> values) {
  return {std::min(values), std::max(values)};
}

Range quotient(Range a, Range b) {
  if (b.low <= 0) return {0, a.high};  // not a divisor that the schedule can mean
  return hull({a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high});
}

Range remainder(Range a, Range b) {
  if (a.low >= 0 && a.high < b.low) return a;
  return {0, std::max<int64_t>(b.high - 1, 0)};
}

// Walks the steps with the ranges of their variables and marks the engine of every handle that a transfer uses.
class Marker {
 public:
  Marker(const target::Target& target, int handles)
      : target_(target), engines_(static_cast<size_t>(std::max(handles, 0))) {}

  Result<void> section(const schedule::Section& section) {
    variables_.assign(section.variables.size(), {});
    return block(section.body);
  }

  std::vector<Engine> engines() const {
    std::vector<Engine> all;
    for (auto engine : engines_) all.push_back(engine.value_or(Engine::Cluster));
    return all;
  }

 private:
  Result<void> block(const schedule::Block& steps) {
    for (const auto& step : steps) CHECK_OK(std::visit([&](const auto& s) { return visit(s); }, step.v));
    return {};
  }
  Result<void> visit(const schedule::Loop& loop) {
    auto count = range_of(loop.count, variables_);
    variables_[static_cast<size_t>(loop.variable)] = {0, std::max<int64_t>(count.high - 1, 0)};
    return block(loop.body);
  }
  Result<void> visit(const schedule::Let& let) {
    variables_[static_cast<size_t>(let.variable)] = range_of(let.value, variables_);
    return {};
  }
  Result<void> visit(const schedule::If& branch) { return block(branch.then); }
  Result<void> visit(const schedule::Wait&) { return {}; }
  Result<void> visit(const schedule::Keep&) { return {}; }
  Result<void> visit(const schedule::PutTogether&) { return {}; }
  Result<void> visit(const schedule::Kernel&) { return {}; }
  Result<void> visit(const schedule::Transfer& transfer) {
    auto kind = kind_of(target_, transfer.engine);
    auto range = range_of(transfer.handle, variables_);
    if (range.low < 0 || range.high >= static_cast<int64_t>(engines_.size()))
      return internal_error("a transfer uses handles {} to {} of {}", range.low, range.high, engines_.size());
    for (auto h = range.low; h <= range.high; ++h) {
      auto& engine = engines_[static_cast<size_t>(h)];
      if (engine && *engine != kind) return internal_error("handle {} serves two kinds of engines", h);
      engine = kind;
    }
    return {};
  }

  const target::Target& target_;
  std::vector<std::optional<Engine>> engines_;
  std::vector<Range> variables_;
};

}  // namespace

Engine kind_of(const target::Target& target, int engine) {
  const auto* far = target.memory(target.engines[static_cast<size_t>(engine)].far);
  return far && far->addressable ? Engine::Cluster : Engine::Ram;
}

Range range_of(const Expr& e, std::span<const Range> variables) {
  using Op = Expr::Op;
  if (e.op() == Op::Const) return {e.value(), e.value()};
  if (e.op() == Op::Var) return variables[static_cast<size_t>(e.value())];
  Range a = range_of(e.left(), variables), b = range_of(e.right(), variables);
  switch (e.op()) {
    case Op::Add:
      return {a.low + b.low, a.high + b.high};
    case Op::Sub:
      return {a.low - b.high, a.high - b.low};
    case Op::Mul:
      return hull({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
    case Op::Div:
      return quotient(a, b);
    case Op::Mod:
      return remainder(a, b);
    case Op::Min:
      return {std::min(a.low, b.low), std::min(a.high, b.high)};
    case Op::Max:
      return {std::max(a.low, b.low), std::max(a.high, b.high)};
    case Op::Less:
      return {a.high < b.low, a.low < b.high};
    case Op::Equal:
      return {a.low == a.high && b.low == b.high && a.low == b.low, a.low <= b.high && b.low <= a.high};
    case Op::And:
      return {std::min(a.low, b.low), std::min(a.high, b.high)};
    default:
      return {0, 1};
  }
}

Result<std::vector<Engine>> engines_of_handles(const schedule::Schedule& schedule, const target::Target& target) {
  Marker marker(target, schedule.handles);
  for (const auto* entry : {&schedule.training, &schedule.optimizer})
    for (const auto& section : *entry) CHECK_OK(marker.section(section));
  return marker.engines();
}

}  // namespace tessera::emit
