#include "report/difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "report/json.hpp"
#include "report/table.hpp"

namespace tessera::report {
namespace {

// Measured on both sides, else estimated.
double change(const OperatorDifference& op) {
  return op.cycles_a && op.cycles_b ? *op.cycles_b - *op.cycles_a : op.estimate_b - op.estimate_a;
}

std::string cycles(const std::optional<double>& measured, double estimate, const std::string& there) {
  if (there.empty()) return "-";
  return measured ? fmt::format("{:.0f}", *measured) : fmt::format("~{:.0f}", estimate);
}

std::string bits_text(const Difference& d) {
  if (d.first)
    return fmt::format("first difference: {} ({}), {} run {}, output {}\n", d.first->name, d.first->op, d.first->phase,
                       d.first->run, d.first->tensor);
  std::string text;
  if (d.outputs_compared > 0) text += fmt::format("{} outputs of operators have the same bits\n", d.outputs_compared);
  if (d.same_results) text += *d.same_results ? "the results have the same bits\n" : "the results have other bits\n";
  return text;
}

}  // namespace

std::string to_text(const Difference& d, size_t top) {
  std::string text = bits_text(d);
  std::vector<const OperatorDifference*> changed;
  double all = 0;
  for (auto& op : d.operators) {
    all += change(op);
    if (!op.same_plan() || change(op) != 0) changed.push_back(&op);
  }
  if (changed.empty()) return text + "plans and cycles are the same\n";
  std::ranges::stable_sort(changed, std::greater(), [](auto* op) { return std::abs(change(*op)); });
  Table table({{"operator"}, {"kind"}, {"a", Table::Right}, {"b", Table::Right}, {"b - a", Table::Right}, {"plan"}});
  for (size_t i = 0; i < changed.size() && (top == 0 || i < top); ++i) {
    auto& op = *changed[i];
    const auto plan = op.same_plan()    ? "the same"
                      : op.in_a.empty() ? "only in b: " + op.in_b
                      : op.in_b.empty() ? "only in a: " + op.in_a
                                        : fmt::format("{} -> {}", op.in_a, op.in_b);
    table.add({op.name, op.op, cycles(op.cycles_a, op.estimate_a, op.in_a), cycles(op.cycles_b, op.estimate_b, op.in_b),
               fmt::format("{:+.0f}", change(op)), plan});
  }
  text += fmt::format("{} of {} operators differ in plan or cycles, {:+.0f} cycles in sum (~: estimated)\n",
                      changed.size(), d.operators.size(), all);
  return text + table.to_text("  ");
}

std::string to_json(const Difference& d) {
  Json json = {{"a", d.a}, {"b", d.b}, {"same_bits", d.same_bits()}, {"same_results", or_null(d.same_results)}};
  json["outputs_compared"] = d.outputs_compared;
  json["outputs_unseen"] = d.outputs_unseen;
  json["first_difference"] = nullptr;
  if (d.first)
    json["first_difference"] = {{"operator", d.first->name},
                                {"op", d.first->op},
                                {"phase", d.first->phase},
                                {"run", d.first->run},
                                {"tensor", d.first->tensor}};
  json["operators"] = Json::array();
  for (auto& op : d.operators)
    json["operators"].push_back({{"name", op.name},
                                 {"op", op.op},
                                 {"phase", op.phase},
                                 {"same_plan", op.same_plan()},
                                 {"a", op.in_a},
                                 {"b", op.in_b},
                                 {"cycles_a", or_null(op.cycles_a)},
                                 {"cycles_b", or_null(op.cycles_b)},
                                 {"estimate_a", op.estimate_a},
                                 {"estimate_b", op.estimate_b}});
  json["notes"] = d.notes;
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tessera::report
