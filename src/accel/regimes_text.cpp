// The sweep as a table, as JSON, and as a picture.
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

// Tokens a second over context, both logarithmic; a line a board and regime, a dot where auto takes it. Models without
// tokens: steps a second.
struct Plot {
  static constexpr double width = 790, height = 480, left = 70, right = 260, top = 40, bottom = 70;
  double low = 1e300, high = 0, first = 1e300, last = 0;

  static double value(const RegimePoint& p) { return 1 / (p.token ? p.token->seconds : p.first_token.seconds); }
  explicit Plot(const RegimeSweep& sweep) {
    for (auto& b : sweep.boards)
      for (auto& p : b.points) {
        low = std::min(low, value(p)), high = std::max(high, value(p));
        first = std::min(first, static_cast<double>(p.context)), last = std::max(last, static_cast<double>(p.context));
      }
    low = std::pow(10, std::floor(std::log10(low))), high = std::pow(10, std::ceil(std::log10(high * 1.0001)));
  }
  double x(double context) const {
    return left + (last > first ? std::log(context / first) / std::log(last / first) : 0.5) * (width - left - right);
  }
  double y(double v) const {
    return height - bottom - std::log(v / low) / std::log(high / low) * (height - top - bottom);
  }
};

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return out;
}

std::string axes(const Plot& plot, const RegimeSweep& sweep) {
  const bool tokens = std::ranges::any_of(sweep.boards.front().points, [](auto& p) { return p.token.has_value(); });
  auto out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n"
      "<text x=\"{2}\" y=\"22\" font-size=\"15\">{3}: {4} a second</text>\n",
      Plot::width, Plot::height, Plot::left, escaped(sweep.model), tokens ? "tokens" : "steps");
  for (double v = plot.low; v <= plot.high * 1.01; v *= 10)
    out += fmt::format(
        "<line x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#ddd\"/>"
        "<text x=\"{3:.1f}\" y=\"{4:.1f}\" text-anchor=\"end\">{5:g}</text>\n",
        Plot::left, Plot::width - Plot::right, plot.y(v), Plot::left - 6, plot.y(v) + 4, v);
  const double below = Plot::height - Plot::bottom + 18;
  for (auto& n : sweep.boards.front().needs)
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                       plot.x(static_cast<double>(n.context)), below, n.context);
  return out + fmt::format(
                   "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">tokens of context; a dot is what auto "
                   "takes there</text>\n",
                   (Plot::left + Plot::width - Plot::right) / 2, below + 24);
}

// A board's line in one regime, and its entry in the legend; nothing where the board does not have the regime.
std::string line_of(const Plot& plot, const BoardRegimes& board, size_t number, MemoryModelKind regime,
                    double& legend) {
  constexpr std::array colours{"#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf"};
  constexpr std::array dashes{"", "6 3", "2 3"};
  std::string points, dots;
  const char* colour = colours[number % colours.size()];
  for (auto& p : board.points) {
    if (p.regime != regime) continue;
    const double px = plot.x(static_cast<double>(p.context)), py = plot.y(Plot::value(p));
    points += fmt::format("{:.1f},{:.1f} ", px, py);
    if (p.chosen) dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"/>\n", px, py, colour);
  }
  if (points.empty()) return {};
  const auto style = fmt::format("stroke=\"{}\" stroke-dasharray=\"{}\" fill=\"none\" stroke-width=\"1.6\"", colour,
                                 dashes[static_cast<size_t>(regime) - static_cast<size_t>(Resident)]);
  const bool several_links = board.link_source.starts_with("--link ");
  const auto name = board.board + (several_links ? " " + board.link_source.substr(7) : "");
  const double at = std::exchange(legend, legend + 18), begin = Plot::width - Plot::right + 12;
  return fmt::format("<polyline points=\"{}\" {}/>\n{}", points, style, dots) +
         fmt::format(
             "<line x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" {3}/>"
             "<text x=\"{4:.1f}\" y=\"{5:.1f}\">{6}, {7}</text>\n",
             begin, begin + 30, at, style, begin + 36, at + 4, escaped(name), name_of(regime));
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

std::string regimes_svg(const RegimeSweep& sweep) {
  const Plot plot(sweep);
  auto out = axes(plot, sweep);
  double legend = Plot::top + 10;
  for (size_t b = 0; b < sweep.boards.size(); ++b)
    for (auto regime : {Resident, KvSwap, WeightStream}) out += line_of(plot, sweep.boards[b], b, regime, legend);
  return out + "</svg>\n";
}

}  // namespace tessera::accel
