#include "emit/sharing.hpp"

#include <algorithm>
#include <cctype>

namespace tessera::emit {

namespace {

struct Piece {
  enum class Kind : uint8_t { Text, Integer, Real } kind = Kind::Text;
  std::string text;
};

bool in_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}
bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// Cuts C text at its numbers and at the names of numbers.
class Cutter {
 public:
  Cutter(const Function& function, const std::set<std::string>& constants)
      : function_(function), constants_(constants) {}

  std::vector<Piece> cut(const std::string& text) {
    pieces_.clear();
    for (size_t at = 0; at < text.size();) {
      size_t end = at + 1;
      if (is_digit(text[at]) || (text[at] == '-' && negates(text, at))) {
        end = number_end(text, at);
        bool real = text.substr(at, end - at).find_first_of(".ef") != std::string::npos;
        pieces_.push_back({real ? Piece::Kind::Real : Piece::Kind::Integer, text.substr(at, end - at)});
      } else if (in_word(text[at])) {
        while (end < text.size() && in_word(text[end])) ++end;
        word(text.substr(at, end - at));
      } else {
        add(text.substr(at, 1));
      }
      at = end;
    }
    return pieces_;
  }

 private:
  // Of a number, not between two operands.
  static bool negates(const std::string& text, size_t at) {
    if (at + 1 >= text.size() || !is_digit(text[at + 1])) return false;
    auto before = text.find_last_not_of(' ', at == 0 ? std::string::npos : at - 1);
    return at == 0 || before == std::string::npos || std::string("({[,=").find(text[before]) != std::string::npos;
  }
  static size_t number_end(const std::string& text, size_t at) {
    size_t end = at + 1;
    while (end < text.size() && (in_word(text[end]) || text[end] == '.' || (text[end] == '-' && text[end - 1] == 'e') ||
                                 (text[end] == '+' && text[end - 1] == 'e')))
      ++end;
    return end;
  }
  void word(const std::string& name) {
    for (const auto* known : {&function_.locals, &function_.slots})
      if (auto at = known->find(name); at != known->end()) {
        pieces_.push_back({Piece::Kind::Integer, at->second});
        return;
      }
    if (constants_.contains(name))
      pieces_.push_back({Piece::Kind::Integer, name});
    else
      add(name);
  }
  void add(const std::string& text) {
    if (pieces_.empty() || pieces_.back().kind != Piece::Kind::Text) pieces_.push_back({});
    pieces_.back().text += text;
  }

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

// What two functions of a family have in common, and the numbers in which they differ, in order.
struct Cut {
  std::string skeleton;
  std::vector<std::string> values;
};

Cut cut(const Function& function, const std::set<std::string>& constants) {
  Cutter cutter(function, constants);
  Cut result;
  for (const auto& statement : function.body) {
    result.skeleton += '\n' + std::string(static_cast<size_t>(statement.indent), ' ');
    each_text(statement, [&](const std::string& text) {
      result.skeleton += '\1';
      for (const auto& piece : cutter.cut(text)) {
        if (piece.kind == Piece::Kind::Text) {
          result.skeleton += piece.text;
        } else {
          result.skeleton += piece.kind == Piece::Kind::Integer ? '\2' : '\3';
          result.values.push_back(piece.text);
        }
      }
    });
  }
  return result;
}

// The body of a family's first member, with the numbers that are not the same in all replaced.
class Generalizer {
 public:
  Generalizer(const std::vector<Cut>& cuts, Family& family) : cuts_(cuts), family_(family) {
    family_.numbers.resize(family_.members.size());
    family_.reals.resize(family_.members.size());
  }

  void run(const Function& first, const std::set<std::string>& constants) {
    Cutter cutter(first, constants);
    family_.body = first.body;
    for (auto& statement : family_.body) {
      each_text(statement, [&](std::string& text) {
        std::string general;
        for (const auto& piece : cutter.cut(text))
          general += piece.kind == Piece::Kind::Text ? piece.text : value(piece.kind == Piece::Kind::Real);
        text = general;
      });
    }
  }

 private:
  // What stands at the next place: the number, or the argument that it has become. Places that agree in every member
  // share one.
  std::string value(bool real) {
    std::vector<std::string> all;
    for (auto member : family_.members) all.push_back(cuts_[member].values[place_]);
    ++place_;
    if (std::ranges::all_of(all, [&](const std::string& v) { return v == all[0]; })) return all[0];
    auto& known = real ? reals_ : numbers_;
    auto [at, added] = known.try_emplace(all, known.size());
    auto& lists = real ? family_.reals : family_.numbers;
    if (added)
      for (size_t m = 0; m < all.size(); ++m) lists[m].push_back(all[m]);
    return fmt::format("{}[{}]", real ? "r" : "n", at->second);
  }

  const std::vector<Cut>& cuts_;
  Family& family_;
  std::map<std::vector<std::string>, size_t> numbers_, reals_;
  size_t place_ = 0;
};

}  // namespace

std::vector<Family> families(const std::vector<Function>& functions, const std::set<std::string>& constants) {
  std::vector<Cut> cuts;
  std::vector<Family> all;
  std::map<std::string, size_t> by_skeleton;
  for (size_t i = 0; i < functions.size(); ++i) {
    cuts.push_back(cut(functions[i], constants));
    auto [at, added] = by_skeleton.try_emplace(cuts.back().skeleton, all.size());
    if (added) all.push_back({});
    all[at->second].members.push_back(i);
  }
  for (auto& family : all) {
    if (family.members.size() == 1)
      family.body = functions[family.members[0]].body;
    else
      Generalizer(cuts, family).run(functions[family.members[0]], constants);
  }
  return all;
}

}  // namespace tessera::emit
