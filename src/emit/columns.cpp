#include "emit/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

namespace tessera::emit {

namespace {

using Numbers = std::vector<std::optional<int64_t>>;

std::optional<int64_t> number(const std::string& text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

Numbers numbers(const Column& column) {
  Numbers found;
  for (const auto& text : column) found.push_back(number(text));
  return found;
}

int64_t largest(const Column& column) {
  int64_t most = 0;
  for (auto v : numbers(column)) most = std::max(most, v ? std::abs(*v) : 0);
  return most;
}

struct Line {
  int64_t factor = 1, offset = 0;

  // The plainer the better: the same, a sum, a multiple, then both.
  int rank() const { return factor == 1 ? (offset == 0 ? 0 : 1) : offset == 0 ? 2 : 3; }
};

// y as a multiple of x, and what more. Two points are on some line by chance: that takes three.
std::optional<Line> line_through(const Numbers& x, const Numbers& y) {
  std::map<int64_t, int64_t> points;
  for (size_t m = 0; m < x.size(); ++m) {
    if (!y[m]) continue;
    if (!x[m] || points.try_emplace(*x[m], *y[m]).first->second != *y[m]) return std::nullopt;
  }
  if (points.size() < 2) return std::nullopt;
  auto [x0, y0] = *points.begin();
  auto [x1, y1] = *std::next(points.begin());
  if ((y1 - y0) % (x1 - x0) != 0) return std::nullopt;
  Line line{(y1 - y0) / (x1 - x0), 0};
  line.offset = y0 - line.factor * x0;
  auto on_it = [&](const auto& point) { return point.second == line.factor * point.first + line.offset; };
  if (line.factor < 1 || !std::ranges::all_of(points, on_it)) return std::nullopt;
  if (line.rank() == 3 && points.size() < 3) return std::nullopt;
  return line;
}

bool all_numbers(const Column& column) {
  return std::ranges::all_of(column, [](const std::string& text) { return text.empty() || number(text); });
}

// How one follows from another, if it does.
std::optional<Line> derived(const Column& base, const Column& column) {
  if (all_numbers(base) && all_numbers(column)) return line_through(numbers(base), numbers(column));
  for (size_t m = 0; m < base.size(); ++m)
    if (!column[m].empty() && column[m] != base[m]) return std::nullopt;
  return Line{};
}

}  // namespace

void Columns::add(const Column& column) {
  if (meanings_.try_emplace(column, Meaning{column, 1, 0}).second) given_.push_back(column);
}

void Columns::choose() {
  auto all = given_;
  std::ranges::stable_sort(all, {},
                           [](const Column& c) { return std::pair(std::ranges::count(c, std::string()), largest(c)); });
  std::vector<Column> bases;
  for (auto& column : all) {
    std::optional<Line> best;
    for (const auto& base : bases) {
      auto line = derived(base, column);
      if (!line || (best && best->rank() <= line->rank())) continue;
      best = line;
      meanings_[column] = {base, line->factor, line->offset};
    }
    // What is 0 or 1 says yes or no: nothing is counted in it.
    if (!best && (!all_numbers(column) || largest(column) > 1)) bases.push_back(column);
  }
}

std::string Columns::text(const Column& column, bool alone) {
  const auto& meaning = meanings_.at(column);
  auto [at, added] = numbers_.try_emplace(meaning.base, numbers_.size());
  if (added) order_.push_back(meaning.base);
  auto text = fmt::format("{}{}", prefix_, at->second);
  if (meaning.factor != 1) text = fmt::format("{} * {}", text, meaning.factor);
  if (meaning.offset != 0)
    text +=
        fmt::format(" {} {}", meaning.offset < 0 ? '-' : '+', meaning.offset < 0 ? -meaning.offset : meaning.offset);
  return alone || (meaning.factor == 1 && meaning.offset == 0) ? text : "(" + text + ")";
}

std::vector<std::vector<std::string>> Columns::rows(size_t members) const {
  std::vector<std::vector<std::string>> rows(members);
  for (size_t m = 0; m < members; ++m)
    for (const auto& column : order_) rows[m].push_back(column[m].empty() ? "0" : column[m]);
  return rows;
}

}  // namespace tessera::emit
