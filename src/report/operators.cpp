#include "report/operators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "ops/operator.hpp"

namespace tessera::report {

namespace {

std::string name_of(const ops::Operator& op) {
  return to_string(OpName{std::string(op.domain), std::string(op.type)});
}

std::string sets(const ops::Operator& op) {
  return op.until ? fmt::format("{}-{}", op.since, op.until) : fmt::format("{}+", op.since);
}

// A composition without a gradient of its own has those of its parts.
bool by_parts(const ops::Operator& op) {
  return op.expand && !op.tile_map;
}

std::string gradient(const ops::Operator& op) {
  return op.gradient ? "yes" : by_parts(op) ? "by its parts" : "-";
}

std::string tiling(const ops::Operator& op) {
  if (op.of_types) return "at compile time";
  if (ops::is_view(op)) return "no work";
  if (by_parts(op)) return "by its parts";
  return op.whole.empty() ? "all" : fmt::format("all but {}", op.whole);
}

using Row = std::array<std::string, 6>;

std::vector<Row> rows() {
  std::vector<Row> all{{"operator", "opsets", "gradient", "tiling", "verified against", "what it computes"}};
  for (auto* op : ops::table())
    all.push_back(
        {name_of(*op), sets(*op), gradient(*op), tiling(*op), std::string(op->verified), std::string(op->summary)});
  return all;
}

}  // namespace

std::string operators_text() {
  auto all = rows();
  std::array<size_t, std::tuple_size_v<Row>> width{};
  for (auto& row : all)
    for (size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
  std::string text;
  for (auto& row : all) {
    for (size_t c = 0; c + 1 < row.size(); ++c) text += fmt::format("{:{}}  ", row[c], width[c]);
    text += row.back() + "\n";
  }
  return text;
}

std::string operators_markdown() {
  std::string text;
  for (bool first = true; auto& row : rows()) {
    for (auto cell : row) {
      for (size_t at = 0; (at = cell.find('|', at)) != std::string::npos; at += 2) cell.insert(at, "\\");
      text += fmt::format("| {} ", cell);
    }
    text += "|\n";
    if (first) text += "|---|---|---|---|---|---|\n";
    first = false;
  }
  return text;
}

nlohmann::ordered_json operators_json() {
  auto list = nlohmann::ordered_json::array();
  for (auto* op : ops::table())
    list.push_back({{"operator", name_of(*op)},
                    {"domain", op->domain},
                    {"since", op->since},
                    {"until", op->until ? nlohmann::ordered_json(op->until) : nlohmann::ordered_json(nullptr)},
                    {"gradient", op->gradient != nullptr || by_parts(*op)},
                    {"tiling", tiling(*op)},
                    {"whole", op->whole},
                    {"verified", op->verified},
                    {"summary", op->summary}});
  return {{"operators", list}};
}

}  // namespace tessera::report
