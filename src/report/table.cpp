#include "report/table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::report {
namespace {

// Letters, not bytes: a continuation byte of UTF-8 takes no room.
size_t width_of(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string padded(const std::string& text, size_t width, Table::Side side) {
  const std::string gap(width - std::min(width, width_of(text)), ' ');
  return side == Table::Left ? text + gap : gap + text;
}

// What a name holds must not become a border.
std::string escaped(std::string cell) {
  for (size_t at = 0; (at = cell.find('|', at)) != std::string::npos; at += 2) cell.insert(at, "\\");
  return cell;
}

}  // namespace

std::string Table::to_text(std::string_view margin) const {
  std::vector<size_t> width;
  for (size_t c = 0; c < columns_.size(); ++c) {
    width.push_back(width_of(columns_[c].head));
    for (auto& row : rows_) width[c] = std::max(width[c], width_of(row[c]));
  }
  std::string text;
  const auto line = [&](auto cell) {
    std::string all(margin);
    for (size_t c = 0; c < columns_.size(); ++c)
      all += padded(cell(c), width[c], columns_[c].side) + (c + 1 < columns_.size() ? "  " : "");
    all.erase(all.find_last_not_of(' ') + 1);
    text += all + "\n";
  };
  line([&](size_t c) { return columns_[c].head; });
  for (auto& row : rows_) line([&](size_t c) { return row[c]; });
  return text;
}

std::string Table::to_markdown() const {
  std::string text, rule;
  for (auto& [head, side] : columns_) {
    text += fmt::format("| {} ", escaped(head));
    rule += side == Left ? "|---" : "|---:";
  }
  text += "|\n" + rule + "|\n";
  for (auto& row : rows_) {
    for (auto& cell : row) text += fmt::format("| {} ", escaped(cell));
    text += "|\n";
  }
  return text;
}

}  // namespace tessera::report
