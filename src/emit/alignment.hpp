// Functions that are nearly alike, side by side, statement by statement.
//
//   a: fetch; run; send      b: run; send; done      ->      fetch {0, -}, run {1, 0}, send {2, 1}, done {-, 2}
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tessera::emit {

// A statement of a draft: what it is, and which one it is in each member.
struct Row {
  enum class Kind : uint8_t {
    Step,   // may be there in some and not in others
    Opens,  // a block, as far as the row that closes it
    Closes,
    Call,  // of a kernel: there in all or in none
    Name,  // that later statements of its block use: likewise, but for blocks that are not in all
  } kind = Kind::Step;
  std::string skeleton;
  std::vector<int> at;  // by member: the number of its statement, -1 where it has none

  bool in_all() const;
};

struct Draft {
  std::vector<size_t> members;
  std::vector<Row> rows;
};

// Both as one, if that leaves most of it to all members. Blocks are there as a whole or not at all.
std::optional<Draft> joined(const Draft& a, const Draft& b);

}  // namespace tessera::emit
