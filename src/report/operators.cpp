#include "report/operators.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "ops/operator.hpp"
#include "report/table.hpp"

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

// What copies goes through L1 without a core where its tiles stand in the order in which they came.
std::string done_by(const ops::Operator& op) {
  if (ops::is_view(op)) return op.aliases ? "view" : "compiler";
  if (by_parts(op)) return "its parts";
  return op.copies ? "DMA, kernel" : "kernel";
}

std::string types(const ops::Operator& op) {
  return op.types == ops::any_type ? "any" : fmt::format("{}", fmt::join(op.types.names(), " "));
}

// Every gradient is held to central differences (tests/gradients/every_operator).
std::string verified(const ops::Operator& op) {
  bool compared = op.gradient || (by_parts(op) && op.type != "ConstantOfShape");
  return compared ? fmt::format("{}, differences", op.verified) : std::string(op.verified);
}

Table rows() {
  Table all({{"operator"},
             {"opsets"},
             {"types"},
             {"gradient"},
             {"tiling"},
             {"done by"},
             {"verified against"},
             {"what it computes"}});
  for (auto* op : ops::table())
    all.add({name_of(*op), sets(*op), types(*op), gradient(*op), tiling(*op), done_by(*op), verified(*op),
             std::string(op->summary)});
  return all;
}

}  // namespace

std::string operators_text() {
  return rows().to_text();
}

std::string operators_markdown() {
  return rows().to_markdown();
}

nlohmann::ordered_json operators_json() {
  auto list = nlohmann::ordered_json::array();
  for (auto* op : ops::table())
    list.push_back({{"operator", name_of(*op)},
                    {"domain", op->domain},
                    {"since", op->since},
                    {"until", op->until ? nlohmann::ordered_json(op->until) : nlohmann::ordered_json(nullptr)},
                    {"types", op->types.names()},
                    {"gradient", op->gradient != nullptr || by_parts(*op)},
                    {"tiling", tiling(*op)},
                    {"whole", op->whole},
                    {"done_by", done_by(*op)},
                    {"verified", verified(*op)},
                    {"summary", op->summary}});
  return {{"operators", list}};
}

}  // namespace tessera::report
