// Rows and columns, for a terminal or for a page.
//
//   Table t({{"operator"}, {"cycles", Table::Right}}); t.add({"fc1", "812"});
//   text:  operator  cycles      markdown:  | operator | cycles |
//          fc1          812                 |---|---:|
//                                           | fc1 | 812 |
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::report {

class Table {
 public:
  enum Side : uint8_t { Left, Right };
  struct Column {
    std::string head;
    Side side = Left;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // As many cells as there are columns.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  std::string to_text(std::string_view margin = "") const;
  std::string to_markdown() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tessera::report
