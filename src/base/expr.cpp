#include "base/expr.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera {

namespace {

int64_t apply(Expr::Op op, int64_t a, int64_t b) {
  switch (op) {
    case Expr::Op::Add:
      return a + b;
    case Expr::Op::Sub:
      return a - b;
    case Expr::Op::Mul:
      return a * b;
    case Expr::Op::Div:
      return b == 0 ? 0 : a / b;
    case Expr::Op::Mod:
      return b == 0 ? 0 : a % b;
    case Expr::Op::Min:
      return std::min(a, b);
    case Expr::Op::Max:
      return std::max(a, b);
    case Expr::Op::Less:
      return a < b;
    case Expr::Op::Equal:
      return a == b;
    case Expr::Op::And:
      return a != 0 && b != 0;
    case Expr::Op::Const:
    case Expr::Op::Var:
      break;
  }
  return 0;
}

// What vanishes: x+0, x-0, x*1, x/1, 1&&x are x; x*0 and x%1 are 0.
std::optional<Expr> simplified(Expr::Op op, const Expr& a, const Expr& b) {
  auto ca = a.constant(), cb = b.constant();
  if (ca && cb) return Expr(apply(op, *ca, *cb));
  using Op = Expr::Op;
  if ((op == Op::Add || op == Op::Sub) && cb == 0) return a;
  if (op == Op::Add && ca == 0) return b;
  if (op == Op::Mul && (ca == 0 || cb == 0)) return Expr(0);
  if (op == Op::Mul && ca == 1) return b;
  if ((op == Op::Mul || op == Op::Div) && cb == 1) return a;
  if (op == Op::Div && ca == 0) return Expr(0);
  if (op == Op::Mod && (cb == 1 || ca == 0)) return Expr(0);
  if (op == Op::And && (ca == 0 || cb == 0)) return Expr(0);
  if (op == Op::And && ca) return b;
  if (op == Op::And && cb) return a;
  if ((op == Op::Min || op == Op::Max) && same(a, b)) return a;
  // (x * p) * q and (x + p) + q: one constant is enough.
  if (op == Op::Mul && cb && a.op() == Op::Mul && a.right().constant())
    return a.left() * Expr(*cb * *a.right().constant());
  if (op == Op::Add && cb && a.op() == Op::Add && a.right().constant())
    return a.left() + Expr(*cb + *a.right().constant());
  return std::nullopt;
}

struct Spelling {
  const char* text;
  int precedence;
};

Spelling spelling(Expr::Op op) {
  switch (op) {
    case Expr::Op::Mul:
      return {"*", 5};
    case Expr::Op::Div:
      return {"/", 5};
    case Expr::Op::Mod:
      return {"%", 5};
    case Expr::Op::Add:
      return {"+", 4};
    case Expr::Op::Sub:
      return {"-", 4};
    case Expr::Op::Less:
      return {"<", 3};
    case Expr::Op::Equal:
      return {"==", 2};
    case Expr::Op::And:
      return {"&&", 1};
    default:
      return {"", 9};
  }
}

std::string print(const Expr& e, std::span<const std::string> names, int outer, bool right_side) {
  switch (e.op()) {
    case Expr::Op::Const:
      return fmt::format("{}", e.value());
    case Expr::Op::Var:
      return names[static_cast<size_t>(e.value())];
    case Expr::Op::Min:
      return fmt::format("ts_min({}, {})", print(e.left(), names, 0, false), print(e.right(), names, 0, false));
    case Expr::Op::Max:
      return fmt::format("ts_max({}, {})", print(e.left(), names, 0, false), print(e.right(), names, 0, false));
    default:
      break;
  }
  auto [text, precedence] = spelling(e.op());
  bool turned = e.op() == Expr::Op::Less && e.left().constant();  // t > 1 reads better than 1 < t
  const Expr &first = turned ? e.right() : e.left(), &second = turned ? e.left() : e.right();
  auto body = fmt::format("{} {} {}", print(first, names, precedence, false), turned ? ">" : text,
                          print(second, names, precedence, true));
  bool bare = precedence > outer || (precedence == outer && !right_side);
  return bare ? body : fmt::format("({})", body);
}

}  // namespace

Expr::Expr(int64_t constant) : value_(constant) {}

Expr Expr::var(int id) {
  Expr e(static_cast<int64_t>(id));
  e.op_ = Op::Var;
  return e;
}

Expr Expr::make(Op op, const Expr& a, const Expr& b) {
  if (auto simpler = simplified(op, a, b)) return *simpler;
  Expr e;
  e.op_ = op;
  e.operands_ = std::make_shared<const Pair>(Pair{a, b});
  return e;
}

std::optional<int64_t> Expr::constant() const {
  return op_ == Op::Const ? std::optional(value_) : std::nullopt;
}

int64_t Expr::eval(std::span<const int64_t> variables) const {
  if (op_ == Op::Const) return value_;
  if (op_ == Op::Var) return variables[static_cast<size_t>(value_)];
  return apply(op_, left().eval(variables), right().eval(variables));
}

std::string Expr::c(std::span<const std::string> names) const {
  return print(*this, names, 0, false);
}

bool Expr::uses(int variable) const {
  if (op_ == Op::Const) return false;
  if (op_ == Op::Var) return value_ == variable;
  return left().uses(variable) || right().uses(variable);
}

bool same(const Expr& a, const Expr& b) {
  if (a.op() != b.op()) return false;
  if (a.op() == Expr::Op::Const || a.op() == Expr::Op::Var) return a.value() == b.value();
  return same(a.left(), b.left()) && same(a.right(), b.right());
}

Expr operator+(const Expr& a, const Expr& b) {
  return Expr::make(Expr::Op::Add, a, b);
}
Expr operator-(const Expr& a, const Expr& b) {
  return Expr::make(Expr::Op::Sub, a, b);
}
Expr operator*(const Expr& a, const Expr& b) {
  return Expr::make(Expr::Op::Mul, a, b);
}
Expr operator/(const Expr& a, const Expr& b) {
  return Expr::make(Expr::Op::Div, a, b);
}
Expr operator%(const Expr& a, const Expr& b) {
  return Expr::make(Expr::Op::Mod, a, b);
}
Expr min(const Expr& a, const Expr& b) {
  return Expr::make(Expr::Op::Min, a, b);
}
Expr max(const Expr& a, const Expr& b) {
  return Expr::make(Expr::Op::Max, a, b);
}
Expr less(const Expr& a, const Expr& b) {
  return Expr::make(Expr::Op::Less, a, b);
}
Expr equal(const Expr& a, const Expr& b) {
  return Expr::make(Expr::Op::Equal, a, b);
}
Expr both(const Expr& a, const Expr& b) {
  return Expr::make(Expr::Op::And, a, b);
}

}  // namespace tessera
