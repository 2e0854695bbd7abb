// The sweep as a picture: tokens a second, and the time to the first one, over context.
#include <algorithm>
#include <array>
#include <cmath>

#include "accel/regimes.hpp"

namespace tessera::accel {
namespace {

using enum MemoryModelKind;

constexpr double kPanel = 430, kHeight = 400, kTop = 48, kLeft = 74, kGap = 84, kBottom = 62;
constexpr double kLetter = 6.9;  // widest on average, at this size of type

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return out;
}

std::string label(double x, double y, std::string_view text, std::string_view more = "text-anchor=\"middle\"") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, more, escaped(text));
}

std::string rule(double x1, double y1, double x2, double y2, std::string_view style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1, x2, y2, style);
}

std::string dot(double x, double y, const char* colour) {
  return fmt::format(
      "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"white\" stroke=\"{}\" stroke-width=\"1.6\"/>\n", x, y,
      colour);
}

// One quantity over context, both logarithmic.
struct Panel {
  double left = 0;
  std::string axis;
  double (*value)(const RegimePoint&) = nullptr;
  double low = 1e300, high = 0, first = 1e300, last = 0;

  void fit(const RegimeSweep& sweep) {
    for (auto& b : sweep.boards)
      for (auto& p : b.points) {
        low = std::min(low, value(p)), high = std::max(high, value(p));
        first = std::min(first, static_cast<double>(p.context)), last = std::max(last, static_cast<double>(p.context));
      }
    low = std::pow(10, std::floor(std::log10(low))), high = std::pow(10, std::ceil(std::log10(high * 1.0001)));
  }
  double x(double context) const {
    return left + (last > first ? std::log(context / first) / std::log(last / first) : 0.5) * kPanel;
  }
  double y(double v) const { return kTop + kHeight - std::log(v / low) / std::log(high / low) * kHeight; }
};

std::string axes(const Panel& panel, const RegimeSweep& sweep) {
  const double below = kTop + kHeight, right = panel.left + kPanel;
  std::string out;
  for (double v = panel.low; v <= panel.high * 1.01; v *= 10) {
    out += rule(panel.left, panel.y(v), right, panel.y(v), "stroke=\"#ddd\"");
    out += label(panel.left - 7, panel.y(v) + 4, fmt::format("{:g}", v), "text-anchor=\"end\"");
  }
  out += rule(panel.left, kTop, panel.left, below, "stroke=\"#888\"");
  out += rule(panel.left, below, right, below, "stroke=\"#888\"");
  double free = 0;  // contexts that lie too close to the one before have no number
  for (auto& n : sweep.boards.front().needs) {
    const auto text = std::to_string(n.context);
    const double x = panel.x(static_cast<double>(n.context)), half = static_cast<double>(text.size()) * kLetter / 2;
    out += rule(x, below, x, below + 4, "stroke=\"#888\"");
    if (x - half < free) continue;
    out += label(x, below + 18, text);
    free = x + half + 6;
  }
  out += label(panel.left + kPanel / 2, below + 42, "tokens of context");
  const double x = panel.left - 52, y = kTop + kHeight / 2;
  return out +
         label(x, y, panel.axis, fmt::format("text-anchor=\"middle\" transform=\"rotate(-90 {:.1f} {:.1f})\"", x, y));
}

const char* colour_of(size_t number) {
  constexpr std::array colours{"#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf"};
  return colours[number % colours.size()];
}

std::string style_of(size_t number, MemoryModelKind regime) {
  constexpr std::array dashes{"", "7 4", "2 3"};
  const auto of = static_cast<size_t>(regime) - static_cast<size_t>(Resident);
  // Lines of the later boards are thinner, so that those beneath show.
  const double width = std::max(1.2, 3.2 - 0.8 * static_cast<double>(number));
  return fmt::format("stroke=\"{}\" stroke-dasharray=\"{}\" stroke-width=\"{:.1f}\"", colour_of(number), dashes[of],
                     width);
}

// A board's line in one regime, with a dot where auto takes it.
std::string line_of(const Panel& panel, const BoardRegimes& board, size_t number, MemoryModelKind regime) {
  std::string points, dots;
  for (auto& p : board.points) {
    if (p.regime != regime) continue;
    const double x = panel.x(static_cast<double>(p.context)), y = panel.y(panel.value(p));
    points += fmt::format("{:.1f},{:.1f} ", x, y);
    if (p.chosen) dots += dot(x, y, colour_of(number));
  }
  return fmt::format("<polyline points=\"{}\" {} fill=\"none\"/>\n{}", points, style_of(number, regime), dots);
}

std::string name_of_line(const BoardRegimes& board, MemoryModelKind regime) {
  const bool several_links = board.link_source.starts_with("--link ");
  return fmt::format("{}{}, {}", board.board, several_links ? " " + board.link_source.substr(7) : "", name_of(regime));
}

}  // namespace

std::string regimes_svg(const RegimeSweep& sweep) {
  const bool tokens = std::ranges::any_of(sweep.boards.front().points, [](auto& p) { return p.token.has_value(); });
  std::vector<Panel> panels;
  if (tokens) panels.push_back({kLeft, "tokens a second", [](const RegimePoint& p) { return 1 / p.token->seconds; }});
  panels.push_back({kLeft + (tokens ? kPanel + kGap : 0), tokens ? "seconds to the first token" : "seconds a step",
                    [](const RegimePoint& p) { return p.first_token.seconds; }});
  std::string body;
  for (auto& panel : panels) {
    panel.fit(sweep);
    body += axes(panel, sweep);
  }
  const double legend = panels.back().left + kPanel + 20;
  double at = kTop + 8;
  size_t longest = std::string_view("what auto takes").size();
  for (size_t b = 0; b < sweep.boards.size(); ++b)
    for (auto regime : {Resident, KvSwap, WeightStream}) {
      const auto& board = sweep.boards[b];
      if (std::ranges::none_of(board.points, [&](auto& p) { return p.regime == regime; })) continue;
      const auto style = style_of(b, regime), name = name_of_line(board, regime);
      for (auto& panel : panels) body += line_of(panel, board, b, regime);
      body += rule(legend, at, legend + 34, at, style) + label(legend + 42, at + 4, name, "");
      longest = std::max(longest, name.size());
      at += 18;
    }
  body +=
      fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"white\" stroke=\"#555\"/>\n", legend + 17, at);
  body += label(legend + 42, at + 4, "what auto takes", "");
  const double width = legend + 42 + static_cast<double>(longest) * kLetter + 12;
  const double height = std::max(kTop + kHeight + kBottom, at + 24);
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
             "{1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{0:.0f}\" height=\"{1:.0f}\" "
             "fill=\"white\"/>\n",
             width, height) +
         label(kLeft, 24, sweep.model + ": regimes over context", "font-size=\"15\"") + body + "</svg>\n";
}

}  // namespace tessera::accel
