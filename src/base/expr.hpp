// Index formulas: one small language that tile maps, the schedule, its checker and the emitted C all share.
//
//   Expr t = Expr::var(0), m = t / 4, rows = min(Expr(16), 100 - m * 16);
//   rows.eval({{25}})  -> 4          rows.c({"t"}) -> "ts_min(16, 100 - t / 4 * 16)"
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera {

// An immutable integer expression over numbered variables. Constants fold and neutral elements vanish as it is built,
// so that what is constant for a tile prints as a number. Division and remainder are of non-negative operands.
class Expr {
 public:
  enum class Op : uint8_t { Const, Var, Add, Sub, Mul, Div, Mod, Min, Max, Less, Equal, And };

  Expr() : Expr(0) {}
  Expr(int64_t constant);  // NOLINT: numbers are expressions
  Expr(int constant) : Expr(static_cast<int64_t>(constant)) {}
  static Expr var(int id);

  Op op() const { return op_; }
  int64_t value() const { return value_; }  // of a Const; the id of a Var
  const Expr& left() const;                 // of everything else
  const Expr& right() const;

  std::optional<int64_t> constant() const;
  int64_t eval(std::span<const int64_t> variables) const;
  std::string c(std::span<const std::string> names) const;  // as C, with the fewest parentheses
  bool uses(int variable) const;

  friend Expr operator+(const Expr& a, const Expr& b);
  friend Expr operator-(const Expr& a, const Expr& b);
  friend Expr operator*(const Expr& a, const Expr& b);
  friend Expr operator/(const Expr& a, const Expr& b);
  friend Expr operator%(const Expr& a, const Expr& b);
  friend Expr min(const Expr& a, const Expr& b);
  friend Expr max(const Expr& a, const Expr& b);
  friend Expr less(const Expr& a, const Expr& b);
  friend Expr equal(const Expr& a, const Expr& b);
  friend Expr both(const Expr& a, const Expr& b);
  friend bool same(const Expr& a, const Expr& b);  // structurally

  // Node by node, for whoever writes an expression to a file and reads it back.
  static Expr make(Op op, const Expr& a, const Expr& b);

 private:
  struct Pair;
  Op op_ = Op::Const;
  int64_t value_ = 0;
  std::shared_ptr<const Pair> operands_;
};

struct Expr::Pair {
  Expr first, second;
};

inline const Expr& Expr::left() const {
  return operands_->first;
}
inline const Expr& Expr::right() const {
  return operands_->second;
}

Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator*(const Expr& a, const Expr& b);
Expr operator/(const Expr& a, const Expr& b);
Expr operator%(const Expr& a, const Expr& b);
Expr min(const Expr& a, const Expr& b);
Expr max(const Expr& a, const Expr& b);
Expr less(const Expr& a, const Expr& b);   // 1 or 0
Expr equal(const Expr& a, const Expr& b);  // 1 or 0
Expr both(const Expr& a, const Expr& b);   // 1 or 0
bool same(const Expr& a, const Expr& b);

}  // namespace tessera
