// Statements as lines of C.
#include <algorithm>
#include <array>

#include "emit/statements.hpp"

namespace tessera::emit {

namespace {

constexpr size_t widest = 120;

}  // namespace

std::vector<std::string> wrapped(const Statement& s) {
  std::string margin(static_cast<size_t>(s.indent) * 2, ' ');
  std::vector<std::string> lines = {margin + s.head};
  auto whole = fmt::format("{}{}{}{}", margin, s.head, fmt::join(s.arguments, ", "), s.tail);
  if (whole.size() <= widest) return {whole};
  if (s.head.ends_with('{')) lines.push_back(margin + "   ");  // a list of fields begins on a line of its own
  for (size_t i = 0; i < s.arguments.size(); ++i) {
    bool last = i + 1 == s.arguments.size();
    auto text = s.arguments[i] + (last ? s.tail : ",");
    bool opens = i == 0 && (s.head.ends_with('(') || s.head.ends_with(' '));
    auto& line = lines.back();
    if (line.size() + text.size() + (opens ? 0 : 1) <= widest) {
      line += (opens ? "" : " ") + text;
    } else {
      line.erase(line.find_last_not_of(' ') + 1);
      lines.push_back(margin + "    " + text);
    }
  }
  if (s.arguments.empty()) lines.back() += s.tail;
  return lines;
}

// A sum with 0 is what the Printer makes of every place and request.
std::string tidied(std::string text) {
  constexpr std::string_view first = "0 + ", last = " + 0";
  for (size_t at = 0; (at = text.find(first, at)) != std::string::npos;)
    if (at == 0 || text[at - 1] == '(')
      text.erase(at, first.size());
    else
      ++at;
  for (size_t at = 0; (at = text.find(last, at)) != std::string::npos;)
    if (at + last.size() == text.size() || text[at + last.size()] == ')')
      text.erase(at, last.size());
    else
      ++at;
  return text;
}

namespace {

// Names that are declared one after the other share a declaration.
std::vector<Statement> with_joined_names(const std::vector<Statement>& statements) {
  constexpr std::string_view declares = "const int32_t ";
  std::vector<Statement> out;
  for (const auto& s : statements) {
    if (!s.head.starts_with(declares)) {
      out.push_back(s);
      continue;
    }
    if (out.empty() || out.back().head != declares || out.back().indent != s.indent)
      out.push_back({s.indent, std::string(declares), {}, ";"});
    out.back().arguments.push_back(s.head.substr(declares.size(), s.head.size() - declares.size() - 1));
  }
  return out;
}

// What is 0 needs no word in an initialiser.
bool zero_field(const std::string& field) {
  return field.starts_with('.') && field.ends_with(" = 0");
}

}  // namespace

std::vector<std::string> text_of(const std::vector<Statement>& statements) {
  enum class Kind : uint8_t { Other, Wait, Transfer, Assignment };
  auto kind_of = [](const Statement& s) {
    if (s.head == "done(" || s.head == "ram_done(") return Kind::Wait;
    if (s.head.starts_with("args") && s.head.ends_with(" = ")) return Kind::Assignment;
    bool transfer = std::ranges::any_of(std::array{"fetch", "send", "ram_fetch", "ram_send"},
                                        [&](auto* name) { return s.head.starts_with(name); });
    return transfer ? Kind::Transfer : Kind::Other;
  };
  std::vector<std::string> lines;
  auto last = Kind::Other;  // of the last line, if it is one of waits or assignments alone
  for (auto s : with_joined_names(statements)) {
    std::erase_if(s.arguments, zero_field);
    if (s.arguments.empty() && s.tail == "};") s.arguments.push_back("0");
    for (auto& argument : s.arguments) argument = tidied(std::move(argument));
    auto more = wrapped(s);
    auto kind = kind_of(s);
    auto margin = static_cast<size_t>(s.indent) * 2;
    bool follows = last != Kind::Other && (kind == last || (last == Kind::Wait && kind == Kind::Transfer));
    if (follows && more.size() == 1 && lines.back().find_first_not_of(' ') == margin &&
        lines.back().size() + more[0].size() - margin + 1 <= widest)
      lines.back() += " " + more[0].substr(margin);
    else
      lines.insert(lines.end(), more.begin(), more.end());
    last = more.size() == 1 && kind != Kind::Transfer ? kind : Kind::Other;
  }
  return lines;
}

}  // namespace tessera::emit
