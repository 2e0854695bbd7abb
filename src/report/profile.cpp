#include "report/profile.hpp"

#include <fmt/format.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "report/table.hpp"

namespace tessera::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr auto kLegend =
    "buffers, an operand each, inputs > outputs: 1 single, 2 double, 1/2 single into L2 and double into L1, . where "
    "it\n"
    "lives; ~ what neighbouring tiles share comes once; < fetched while the operator before runs, ' on its way home\n"
    "while the one after runs\n"
    "excess: waiting for DMA beyond what max(compute, DMA) makes unavoidable\n";

Json to_json(const Travel& hop) {
  return {{"hop", hop.hop},           {"slots", hop.slots},         {"slot_bytes", hop.slot_bytes},
          {"early", hop.early},       {"late", hop.late},           {"keeps", hop.keeps},
          {"in_bytes", hop.in_bytes}, {"out_bytes", hop.out_bytes}, {"commands", hop.commands}};
}

Json to_json(const Operand& operand) {
  Json hops = Json::array();
  for (auto& hop : operand.hops) hops.push_back(to_json(hop));
  return {{"tensor", operand.tensor},
          {"role", operand.role},
          {"home", operand.home},
          {"bytes", operand.bytes},
          {"hops", hops}};
}

Json to_json(const ProfileSum& s) {
  return {{"cycles", s.cycles},
          {"estimate_cycles", s.estimate},
          {"compute_cycles", s.compute},
          {"dma_cycles", s.dma},
          {"dma_wait_cycles", s.wait},
          {"excess_wait_cycles", s.excess_wait},
          {"overhead_cycles", s.overhead},
          {"dma_hidden", share_hidden(s.dma, s.wait)},
          {"tiles", s.tiles},
          {"macs", s.macs},
          {"dma_bytes", {{"L2_L1", s.l2_l1_bytes}, {"L3_L2", s.l3_l2_bytes}}}};
}

// What the plain report says of an operator, and the rest.
Json to_json(const ProfiledOperator& op, Json entry) {
  entry["dma_hidden"] = share_hidden(op.cost.dma.any, op.cost.dma_wait);
  entry["dma_bytes"] = {{"L2_L1", op.bytes("L2_L1")}, {"L3_L2", op.bytes("L3_L2")}};
  entry["tiling"] = op.tiling;
  entry["buffers"] = op.buffers();
  entry["why"] = op.why;
  entry["estimate_single"] = op.single ? Json(*op.single) : Json(nullptr);
  entry["estimate_double"] = op.twice ? Json(*op.twice) : Json(nullptr);
  entry["operands"] = Json::array();
  for (auto& operand : op.operands) entry["operands"].push_back(to_json(operand));
  return entry;
}

std::vector<const ProfiledOperator*> by_cost(const Profile& profile) {
  std::vector<const ProfiledOperator*> list;
  for (auto& op : profile.operators) list.push_back(&op);
  std::ranges::stable_sort(list, std::greater(), [](auto* op) { return op->cost.cycles; });
  return list;
}

// Operators that wait for more than a tenth of their DMA time beyond need.
std::vector<std::string> wasteful(const Profile& profile) {
  std::vector<std::string> names;
  for (auto* op : by_cost(profile))
    if (op->cost.excess_wait() > 0.1 * op->cost.dma.any) names.push_back(op->cost.name);
  return names;
}

std::string shortened(const std::string& name) {
  constexpr size_t kWidest = 40;
  return name.size() <= kWidest ? name : name.substr(0, kWidest - 3) + "...";
}

std::string percent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : "-";
}

void add_row(Table& table, const std::string& name, const std::string& kind, const ProfileSum& s, double all,
             const std::string& buffers, const std::string& why) {
  const double off = s.estimate - s.cycles;
  table.add({name, kind, fmt::format("{:.0f}", s.cycles), percent(s.cycles, all), fmt::format("{:.0f}", s.estimate),
             s.cycles > 0 ? fmt::format("{:+.1f} %", 100 * off / s.cycles) : "-", fmt::format("{:.0f}", s.compute),
             fmt::format("{:.0f}", s.dma), fmt::format("{:.0f}", s.wait), fmt::format("{:.0f}", s.excess_wait),
             percent(share_hidden(s.dma, s.wait), 1), fmt::format("{:.0f}", s.overhead), fmt::format("{}", s.tiles),
             fmt::format("{}", s.l2_l1_bytes), fmt::format("{}", s.l3_l2_bytes), buffers, why});
}

Table operator_table(const Profile& profile, size_t top) {
  using T = Table;
  Table table({{"operator"},
               {"kind"},
               {"cycles", T::Right},
               {"share", T::Right},
               {"estimate", T::Right},
               {"off", T::Right},
               {"compute", T::Right},
               {"DMA", T::Right},
               {"waits", T::Right},
               {"excess", T::Right},
               {"hidden", T::Right},
               {"overhead", T::Right},
               {"tiles", T::Right},
               {"L2-L1 B", T::Right},
               {"L3-L2 B", T::Right},
               {"buffers"},
               {"why"}});
  const double all = sum(profile).cycles;
  ProfileSum rest;
  size_t shown = 0;
  for (auto* op : by_cost(profile)) {
    ProfileSum one;
    one.add(*op);
    if (top == 0 || shown < top) {
      add_row(table, shortened(op->cost.name), op->cost.op, one, all, op->buffers(), op->why);
      ++shown;
    } else {
      rest.add(*op);
    }
  }
  if (shown < profile.operators.size())
    add_row(table, fmt::format("{} others", profile.operators.size() - shown), "", rest, all, "", "");
  for (const char* phase : {"training", "optimizer"})
    if (auto s = sum(profile, phase); s.cycles > 0) add_row(table, fmt::format("sum, {}", phase), "", s, all, "", "");
  return table;
}

}  // namespace

int64_t ProfiledOperator::bytes(std::string_view hop) const {
  int64_t all = 0;
  for (auto& operand : operands)
    for (auto& travel : operand.hops)
      if (travel.hop == hop) all += travel.in_bytes + travel.out_bytes;
  return all;
}

std::string ProfiledOperator::buffers() const {
  std::string text;
  bool outputs = false;
  for (auto& operand : operands) {
    if (operand.role.starts_with("output") && !outputs) {
      outputs = true;
      text += text.empty() ? ">" : " >";
    }
    std::string mark;
    for (auto& hop : operand.hops)
      mark += fmt::format("{}{}{}", mark.empty() ? "" : "/", hop.slots, hop.keeps ? "~" : "");
    if (mark.empty()) mark = ".";
    const bool input = operand.role.starts_with("input");
    if (input && std::ranges::any_of(operand.hops, &Travel::early)) mark += "<";
    if (!input && std::ranges::any_of(operand.hops, &Travel::late)) mark += "'";
    text += (text.empty() ? "" : " ") + mark;
  }
  return text;
}

void ProfileSum::add(const ProfiledOperator& op) {
  auto& c = op.cost;
  cycles += c.cycles, estimate += c.estimate, compute += c.compute, dma += c.dma.any, wait += c.dma_wait;
  excess_wait += c.excess_wait(), overhead += c.overhead(), tiles += c.tiles, macs += c.macs;
  l2_l1_bytes += op.bytes("L2_L1"), l3_l2_bytes += op.bytes("L3_L2");
}

ProfileSum sum(const Profile& profile, std::string_view phase) {
  ProfileSum all;
  for (auto& op : profile.operators)
    if (phase.empty() || op.cost.phase == phase) all.add(op);
  return all;
}

std::string to_text(const Profile& profile, size_t top) {
  auto& r = profile.run;
  std::string text = fmt::format("{} on {}, cycles by operator, a micro-batch and an update\n", r.model, r.target);
  text += operator_table(profile, top).to_text();
  const auto all = sum(profile);
  text += fmt::format(
      "measured {:.0f} cycles a micro-batch ({:.2f} MAC/cycle; estimate {:+.1f} %), {:.0f} an update; {:.1f} % of the "
      "DMA "
      "time hidden, {:.1f} % waited for beyond need\n",
      r.train_cycles.value_or(0), r.macs_per_cycle().value_or(0),
      r.train_cycles.value_or(0) > 0 ? 100 * (r.estimate_cycles / *r.train_cycles - 1) : 0.0,
      r.optimizer_cycles.value_or(0), 100 * share_hidden(all.dma, all.wait),
      all.dma > 0 ? 100 * all.excess_wait / all.dma : 0.0);
  text += fmt::format("{} of {} operators wait for more than a tenth of their DMA time beyond need\n",
                      wasteful(profile).size(), profile.operators.size());
  return text + kLegend;
}

std::string to_json(const Profile& profile) {
  auto json = Json::parse(to_json(profile.run));
  auto entries = std::exchange(json["operators"], Json::array());
  std::vector<std::pair<const ProfiledOperator*, Json>> list;
  for (size_t i = 0; i < profile.operators.size(); ++i) list.emplace_back(&profile.operators[i], entries[i]);
  std::ranges::stable_sort(list, std::greater(), [](auto& entry) { return entry.first->cost.cycles; });
  for (auto& [op, entry] : list) json["operators"].push_back(to_json(*op, std::move(entry)));
  json["sum"] = to_json(sum(profile));
  json["excess_over_a_tenth"] = wasteful(profile);
  for (const char* phase : {"training", "optimizer"}) json["sum_by_phase"][phase] = to_json(sum(profile, phase));
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tessera::report
