#include "report/fit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/json.hpp"
#include "report/table.hpp"

namespace tessera::report {
namespace {

Json to_json(const ArenaFit& arena) {
  return {{"bytes", arena.bytes}, {"lower_bound", arena.lower_bound}, {"gap_percent", 100 * arena.gap()}};
}

Json to_json(const LevelFit& level) {
  Json json = {{"memory", level.memory},
               {"budget", level.budget},
               {"smallest", or_null(level.smallest)},
               {"missing", level.missing()}};
  if (!level.smallest) return json;
  json["below"] = level.refusal;
  json["arena"] = to_json(level.arena);
  json["reserved"] = level.reserved;
  json["peak"] = {{"node", level.peak}, {"alive", Json::array()}};
  for (auto& one : level.living)
    json["peak"]["alive"].push_back(
        {{"name", one.name}, {"kind", one.kind}, {"bytes", one.bytes}, {"from", one.from}, {"to", one.to}});
  json["curve"] = Json::array();
  for (auto& point : level.curve)
    json["curve"].push_back({{"budget", point.budget},
                             {"estimate_cycles", or_null(point.cycles)},
                             {"optimizer_estimate_cycles", or_null(point.optimizer_cycles)}});
  return json;
}

std::string alive_lines(const LevelFit& level) {
  constexpr size_t kShown = 12;
  Table table({{"bytes", Table::Right}, {"kind"}, {"tensor"}, {"from"}, {"to"}});
  int64_t rest = 0;
  for (size_t i = 0; i < level.living.size(); ++i) {
    auto& one = level.living[i];
    if (i < kShown)
      table.add({fmt::format("{}", one.bytes), one.kind, one.name, one.from, one.to});
    else
      rest += one.bytes;
  }
  if (rest > 0)
    table.add({fmt::format("{}", rest), "", fmt::format("{} others", level.living.size() - kShown), "", ""});
  return table.to_text("    ");
}

std::string curve_lines(const LevelFit& level) {
  Table table({{"budget", Table::Right}, {"cycles", Table::Right}, {"update", Table::Right}, {"", Table::Right}});
  const auto best = level.curve.empty() ? std::nullopt : level.curve.back().cycles;
  for (auto& point : level.curve)
    table.add({fmt::format("{}", point.budget), point.cycles ? fmt::format("{:.0f}", *point.cycles) : "does not fit",
               point.optimizer_cycles ? fmt::format("{:.0f}", *point.optimizer_cycles) : "-",
               point.cycles && best && *best > 0 ? fmt::format("{:+.1f} %", 100 * (*point.cycles / *best - 1)) : ""});
  return table.to_text("    ");
}

std::string level_text(const LevelFit& level) {
  if (!level.smallest) return fmt::format("{}: no size of it works, whatever the chip has\n", level.level);
  auto text =
      fmt::format("{}: the smallest that works is {} bytes (the chip has {}): {} for the arena, {} {} {}\n",
                  level.level, *level.smallest, level.memory, level.arena.bytes, level.beside ? "beside" : "and",
                  level.reserved, level.beside ? "for code and stacks, which the budget does not count" : "for stacks");
  if (level.missing() > 0) text += fmt::format("  {} bytes more than there are\n", level.missing());
  text += fmt::format("  lower bound of the arena {} (gap {:.2f} %); fullest at {}, where these are alive:\n",
                      level.arena.lower_bound, 100 * level.arena.gap(), level.peak);
  text += alive_lines(level);
  if (!level.refusal.empty()) text += fmt::format("  with less: {}\n", level.refusal);
  if (!level.curve.empty()) text += "  estimated cycles of a micro-batch and of an update:\n" + curve_lines(level);
  return text;
}

}  // namespace

std::string to_text(const Fit& fit) {
  std::string text = fmt::format("{} on {}: {}\n", fit.model, fit.target, fit.fits() ? "fits" : "does not fit");
  if (fit.fits()) {
    for (auto& [level, arena] : fit.arenas)
      if (arena.bytes > 0)
        text += fmt::format("  {} arena {} bytes, lower bound {} (gap {:.2f} %)\n", level, arena.bytes,
                            arena.lower_bound, 100 * arena.gap());
  } else {
    text += fmt::format("  {}\n", *fit.blocked);
  }
  for (auto& level : fit.levels) text += level_text(level);
  return text;
}

std::string to_json(const Fit& fit) {
  Json json = {{"model", fit.model}, {"target", fit.target}, {"fits", fit.fits()}};
  if (fit.blocked) json["blocked"] = *fit.blocked;
  json["arena"] = Json::object();
  for (auto& [level, arena] : fit.arenas) json["arena"][level] = to_json(arena);
  for (auto& level : fit.levels) json[level.level] = to_json(level);
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tessera::report
