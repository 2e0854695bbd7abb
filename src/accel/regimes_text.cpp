// The sweep as a table and as JSON.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "accel/regimes.hpp"

namespace tessera::accel {
namespace {

using enum MemoryModelKind;
using Json = nlohmann::ordered_json;

std::string rate(double bytes_per_second) {
  return bytes_per_second >= 1e9 ? fmt::format("{:.3g} GB/s", bytes_per_second / 1e9)
                                 : fmt::format("{:.3g} MB/s", bytes_per_second / 1e6);
}
std::string size(uint64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}
std::string time(double seconds) {
  if (seconds >= 100) return fmt::format("{:.0f} s", seconds);
  return seconds >= 1 ? fmt::format("{:.2f} s", seconds) : fmt::format("{:.2f} ms", seconds * 1e3);
}

double worst(const std::vector<CompositionCheck>& checks) {
  double most = 0;
  for (auto& c : checks) most = std::max(most, std::abs(c.error()));
  return most;
}

// Where the regime changes, and what would keep it from changing.
std::vector<std::string> changes(const BoardRegimes& b) {
  std::vector<std::string> lines;
  const auto& last = b.needs.back();
  if (!b.weights_fit) {
    lines.push_back(
        fmt::format("the weights' {} do not fit {}: weight-stream at every context; {} of memory would make it kv-swap",
                    size(last.bytes.weight), size(b.capacity), size(last.bytes.weight)));
  } else if (b.resident_up_to) {
    lines.push_back(fmt::format("resident up to {} tokens of context, kv-swap from {} on", *b.resident_up_to,
                                *b.resident_up_to + 1));
  } else {
    lines.push_back("kv-swap at every context: the weights fit, nothing beside them");
  }
  if (last.regime != Resident)
    lines.push_back(fmt::format("resident at {} tokens takes {} of memory", last.context, size(last.bytes.total())));
  for (auto& p : b.points)
    if (p.chosen && p.context == last.context && p.bound == "link" && p.enough_link)
      lines.push_back(fmt::format("at {} tokens the link bounds {}: from {} on the machine would", p.context,
                                  name_of(p.regime), rate(*p.enough_link)));
  return lines;
}

}  // namespace

std::string regimes_table(const RegimeSweep& sweep) {
  std::string out;
  for (auto& b : sweep.boards) {
    const auto& m = b.machine;
    out += fmt::format("{} on {}: tile {}/{}, {} of memory ({}), link {} ({})\n", sweep.model, b.board, m.mlen, m.blen,
                       size(b.capacity), b.capacity_source,
                       b.link ? rate(static_cast<double>(b.link->bytes_per_second)) : "none", b.link_source);
    for (auto& line : changes(b)) out += "  " + line + "\n";
    const bool energy = std::ranges::any_of(b.points, [](auto& p) { return p.joules.has_value(); });
    out += fmt::format("  {:>8} {:14} {:>12} {:>12} {:>8} {:>14}{}\n", "context", "regime", "first token", "tokens/s",
                       "bound", "enough link", energy ? "   J/token" : "");
    for (auto& p : b.points) {
      const auto name = fmt::format("{}{}", name_of(p.regime), p.chosen ? " *" : "");
      out += fmt::format("  {:>8} {:14} {:>12} {:>12} {:>8} {:>14}", p.context, name, time(p.first_token.seconds),
                         p.token ? fmt::format("{:.4g}", 1 / p.token->seconds) : "-", p.bound,
                         p.enough_link ? rate(*p.enough_link) : "-");
      if (p.joules) out += fmt::format(" {:>9.3g}", *p.joules);
      out += "\n";
    }
    if (!b.checks.empty())
      out += fmt::format("  composed from measured pieces; against whole runs of a small model {:.2f} % off at most\n",
                         100 * worst(b.checks));
    for (auto& note : b.notes) out += "  note: " + note + "\n";
  }
  return out + "* what auto takes at that context\n";
}

std::string regimes_json(const RegimeSweep& sweep) {
  Json out{{"model", sweep.model}, {"boards", Json::array()}};
  for (auto& b : sweep.boards) {
    Json board{{"board", b.board},
               {"mlen", b.machine.mlen},
               {"blen", b.machine.blen},
               {"ddr_capacity_bytes", b.capacity},
               {"capacity_source", b.capacity_source},
               {"host_bandwidth", b.link ? Json(b.link->bytes_per_second) : Json()},
               {"link_source", b.link_source},
               {"weights_fit", b.weights_fit},
               {"resident_up_to", b.resident_up_to ? Json(*b.resident_up_to) : Json()}};
    Json list = Json::array();
    if (b.weights_fit)
      list.push_back({{"context", b.resident_up_to ? *b.resident_up_to + 1 : 1},
                      {"from", b.resident_up_to ? Json("resident") : Json()},
                      {"to", "kv-swap"}});
    board["changes"] = list;
    board["what_would_change_it"] = changes(b);
    board["contexts"] = Json::array();
    for (auto& n : b.needs)
      board["contexts"].push_back({{"context", n.context},
                                   {"regime", name_of(n.regime)},
                                   {"weight_bytes", n.bytes.weight},
                                   {"kv_bytes", n.bytes.kv},
                                   {"activation_bytes", n.bytes.activation},
                                   {"capacity_for_resident", n.bytes.total()},
                                   {"capacity_for_kv_swap", n.bytes.weight}});
    board["points"] = Json::array();
    for (auto& p : b.points) {
      Json point{{"context", p.context},
                 {"regime", name_of(p.regime)},
                 {"chosen", p.chosen},
                 {"first_token_s", p.first_token.seconds},
                 {"tokens_per_second", p.token ? Json(1 / p.token->seconds) : Json()},
                 {"token_s", p.token ? Json(p.token->seconds) : Json()},
                 {"link_s_per_token", p.token ? Json(p.token->link_seconds) : Json()},
                 {"link_bytes_per_token", p.token ? Json(p.token->link_bytes) : Json()},
                 {"bound", p.bound},
                 {"enough_link_bytes_per_second", p.enough_link ? Json(*p.enough_link) : Json()}};
      if (p.joules) point["joules_per_token"] = *p.joules;
      board["points"].push_back(std::move(point));
    }
    if (!b.checks.empty()) {
      Json checks = Json::array();
      for (auto& c : b.checks)
        checks.push_back(
            {{"case", c.what}, {"composed_s", c.composed}, {"simulated_s", c.simulated}, {"error", c.error()}});
      board["composition"] = {{"largest_error", worst(b.checks)}, {"cases", checks}};
    }
    board["notes"] = b.notes;
    out["boards"].push_back(std::move(board));
  }
  return out.dump(2) + "\n";
}

}  // namespace tessera::accel
