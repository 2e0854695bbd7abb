#include <array>
#include <limits>

#include "run/json_archive.hpp"

namespace tessera::run {
namespace {

constexpr std::array kNames = {"const", "var", "+", "-", "*", "/", "%", "min", "max", "<", "==", "&&"};
constexpr int kDeepest = 2000;  // deeper than any formula of ours, shallower than the stack

}  // namespace

// 5 -> 5, variable 2 -> ["var", 2], a + b -> ["+", a, b]
Json expr_to_json(const Expr& expr) {
  if (expr.op() == Expr::Op::Const) return expr.value();
  const char* name = kNames[static_cast<size_t>(expr.op())];
  if (expr.op() == Expr::Op::Var) return Json::array({name, expr.value()});
  return Json::array({name, expr_to_json(expr.left()), expr_to_json(expr.right())});
}

Expr expr_from_json(const Json& json, int depth) {
  if (depth > kDeepest) throw Malformed("a formula without end");
  if (json.is_number_integer()) return Expr(json.get<int64_t>());
  const auto name = json.at(0).get<std::string>();
  if (name == "var") return Expr::var(json.at(1).get<int>());
  for (size_t op = 2; op < kNames.size(); ++op)
    if (name == kNames[op])
      return Expr::make(static_cast<Expr::Op>(op), expr_from_json(json.at(1), depth + 1),
                        expr_from_json(json.at(2), depth + 1));
  throw Malformed("unknown operation in a formula: " + name);
}

Json float_to_json(float value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

float float_from_json(const Json& json) {
  if (json.is_number()) return json.get<float>();
  const auto text = json.get<std::string>();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  return text == "inf" ? kInfinity : text == "-inf" ? -kInfinity : std::numeric_limits<float>::quiet_NaN();
}

}  // namespace tessera::run
