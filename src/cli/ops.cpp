#include "ops/operator.hpp"

#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"

namespace tessera::cli {
namespace {

std::string name_of(const ops::Operator& op) {
  return to_string(OpName{std::string(op.domain), std::string(op.type)});
}

std::string sets(const ops::Operator& op) {
  return op.until ? fmt::format("{}-{}", op.since, op.until) : fmt::format("{}+", op.since);
}

void print_table() {
  size_t width = 0;
  for (auto* op : ops::table()) width = std::max(width, name_of(*op).size());
  std::cout << fmt::format("{:{}}  {:6}  {:8}  {:24}  {}\n", "operator", width, "opset", "gradient", "verified against",
                           "what it computes");
  for (auto* op : ops::table())
    std::cout << fmt::format("{:{}}  {:6}  {:8}  {:24}  {}\n", name_of(*op), width, sets(*op),
                             op->gradient ? "yes" : "-", op->verified, op->summary);
}

void print_json() {
  auto list = nlohmann::ordered_json::array();
  for (auto* op : ops::table())
    list.push_back({{"operator", name_of(*op)},
                    {"since", op->since},
                    {"until", op->until ? nlohmann::ordered_json(op->until) : nlohmann::ordered_json(nullptr)},
                    {"gradient", op->gradient != nullptr},
                    {"verified", op->verified},
                    {"summary", op->summary}});
  std::cout << nlohmann::ordered_json{{"operators", list}}.dump(2) << "\n";
}

}  // namespace

void add_ops(CLI::App& app, Chosen& chosen) {
  auto* command = app.add_subcommand("ops", "List the operators: versions, gradients, what they are tested against");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "one JSON object on standard output");
  command->callback([&chosen, json] {
    chosen = [json]() -> Result<int> {
      *json ? print_json() : print_table();
      return 0;
    };
  });
}

}  // namespace tessera::cli
