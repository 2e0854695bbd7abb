#include "emit/cutting.hpp"

#include <cctype>

namespace tessera::emit {

namespace {

bool in_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}
bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// Of a number, not between two operands.
bool negates(const std::string& text, size_t at) {
  if (at + 1 >= text.size() || !is_digit(text[at + 1])) return false;
  auto before = text.find_last_not_of(' ', at == 0 ? std::string::npos : at - 1);
  return at == 0 || before == std::string::npos || std::string("({[,=").find(text[before]) != std::string::npos;
}

size_t number_end(const std::string& text, size_t at) {
  size_t end = at + 1;
  while (end < text.size() && (in_word(text[end]) || text[end] == '.' || (text[end] == '-' && text[end - 1] == 'e') ||
                               (text[end] == '+' && text[end - 1] == 'e')))
    ++end;
  return end;
}

}  // namespace

std::vector<Piece> Cutter::cut(const std::string& text) {
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

CutStatement Cutter::cut(const Statement& statement) {
  CutStatement result{std::string(static_cast<size_t>(statement.indent), ' '), {}};
  each_text(statement, [&](const std::string& text) {
    result.skeleton += '\1';
    for (const auto& piece : cut(text)) {
      if (piece.kind == Piece::Kind::Text) {
        result.skeleton += piece.text;
      } else {
        result.skeleton += piece.kind == Piece::Kind::Integer ? '\2' : '\3';
        result.values.push_back(piece.text);
      }
    }
  });
  return result;
}

void Cutter::word(const std::string& name) {
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

void Cutter::add(const std::string& text) {
  if (pieces_.empty() || pieces_.back().kind != Piece::Kind::Text) pieces_.push_back({});
  pieces_.back().text += text;
}

}  // namespace tessera::emit
