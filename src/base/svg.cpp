#include "base/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tessera::svg {

std::string escaped(std::string_view text) {
  std::string result;
  for (char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (static_cast<unsigned char>(c) >= ' ')
      result += c;
  }
  return result;
}

std::string colour(size_t index, double share) {
  const double hue = std::fmod(static_cast<double>(index) * 137.508, 360.0);
  return fmt::format("hsl({:.0f},{:.0f}%,{:.0f}%)", hue, 45 + 30 * share, 86 - 14 * share);
}

std::string label(const Box& box, std::string_view text) {
  constexpr double kLargest = 14, kSmallest = 6, kLetter = 0.62;  // of a font, and of its letters' widths
  constexpr size_t kFewest = 4;                                   // letters that still say something
  const bool turned = box.h > box.w;
  const double along = 0.95 * std::max(box.w, box.h), across = 0.85 * std::min(box.w, box.h);
  const auto letters = static_cast<double>(std::max<size_t>(text.size(), 1));
  double size = std::min({kLargest, across, along / (letters * kLetter)});
  std::string shown(text);
  if (size < kSmallest) {
    const auto most = static_cast<size_t>(along / (kSmallest * kLetter));
    if (across < kSmallest || most <= kFewest || text.size() <= most) return "";
    size = kSmallest;
    shown = shown.substr(0, most - 1);
  }
  const double x = box.x + box.w / 2, y = box.y + box.h / 2;
  const std::string turn = turned ? fmt::format(" transform=\"rotate(-90 {:.1f} {:.1f})\"", x, y) : "";
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:.1f}\"{}>{}{}</text>", x, y + size * 0.35, size,
                     turn, escaped(shown), shown.size() < text.size() ? "…" : "");
}

std::string opening(double width, double height) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "font-family=\"sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      width, height);
}

int64_t byte_step(int64_t top) {
  int64_t step = 1;
  while (top / step > 12) step *= 2;
  return step;
}

}  // namespace tessera::svg
