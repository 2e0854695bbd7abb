// C text cut at its numbers and at the names of numbers.
//
//   "L2_x + t * 64"   ->   number L2_x, text " + t * ", number 64;   skeleton "# + t * #"
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "emit/statements.hpp"

namespace tessera::emit {

struct Function {
  std::vector<Statement> body;
  std::map<std::string, std::string> locals;  // constants that it declares, with their values
  std::map<std::string, std::string> slots;   // constants that others use too
};

struct Piece {
  enum class Kind : uint8_t { Text, Integer, Real } kind = Kind::Text;
  std::string text;
};

// What two statements of a kind have in common, and the numbers in which they may differ, in order.
struct CutStatement {
  std::string skeleton;
  std::vector<std::string> values;
};

class Cutter {
 public:
  // `constants` are names of numbers too, known everywhere.
  Cutter(const Function& function, const std::set<std::string>& constants)
      : function_(function), constants_(constants) {}

  std::vector<Piece> cut(const std::string& text);
  CutStatement cut(const Statement& statement);

 private:
  void word(const std::string& name);
  void add(const std::string& text);

  const Function& function_;
  const std::set<std::string>& constants_;
  std::vector<Piece> pieces_;
};

// All texts of a statement in one order.
template <class StatementType, class Each>
void each_text(StatementType& statement, Each each) {
  each(statement.head);
  for (auto& argument : statement.arguments) each(argument);
  each(statement.tail);
}

}  // namespace tessera::emit
