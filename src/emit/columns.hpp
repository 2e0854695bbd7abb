// The numbers in which the members of a family differ: as few parameters as say them all.
//
//   sizes {64, 128}, {16, 32}, {65, 129}   ->   n0 is 16 and 32; the first is 4 * n0, the third 4 * n0 + 1
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tessera::emit {

// A number, or the name of one, by member; empty where it does not matter.
using Column = std::vector<std::string>;

class Columns {
 public:
  explicit Columns(std::string prefix) : prefix_(std::move(prefix)) {}

  void add(const Column& column);  // every one that `text` will be asked for; the same twice is one
  void choose();                   // which of them are parameters

  // How the function spells it; `alone` where no operator stands beside it.
  std::string text(const Column& column, bool alone);
  // What the parameters are, in the order in which they were asked for: a row for each member.
  std::vector<std::vector<std::string>> rows(size_t members) const;

 private:
  struct Meaning {
    Column base;
    int64_t factor = 1, offset = 0;
  };
  std::string prefix_;
  std::vector<Column> given_;
  std::map<Column, Meaning> meanings_;
  std::map<Column, size_t> numbers_;  // of the parameters
  std::vector<Column> order_;
};

}  // namespace tessera::emit
