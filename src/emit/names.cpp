#include "emit/names.hpp"

#include <fmt/format.h>

#include <cmath>

namespace tessera::emit {

namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_printable(char c) {
  return c >= ' ' && c <= '~';
}

}  // namespace

std::string identifier(std::string_view name) {
  constexpr size_t longest = 48;
  std::string text;
  for (char c : name) {
    bool plain = is_letter(c) || is_digit(c);
    if (plain)
      text += c;
    else if (!text.empty() && text.back() != '_')
      text += '_';
    if (text.size() == longest) break;
  }
  while (!text.empty() && text.back() == '_') text.pop_back();
  if (text.empty()) return "x";
  return is_digit(text[0]) ? "x" + text : text;
}

std::string comment_text(std::string_view text) {
  std::string safe;
  for (char c : text) {
    char last = safe.empty() ? ' ' : safe.back();
    bool pair = (last == '*' && c == '/') || (last == '/' && (c == '*' || c == '/')) || (last == '?' && c == '?');
    if (pair) safe += ' ';
    safe += is_printable(c) && c != '\\' ? c : '.';
  }
  return safe;
}

std::string c_string(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (is_printable(c) && c != '"' && c != '\\' && c != '?')
      quoted += c;
    else  // three octal digits end by themselves, whatever follows
      quoted += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
  }
  return quoted + "\"";
}

std::string c_float(float value) {
  if (std::isnan(value)) return "NAN";
  if (std::isinf(value)) return value < 0 ? "-INFINITY" : "INFINITY";
  auto text = fmt::format("{}", value);
  bool has_point = text.find_first_of(".e") != std::string::npos;
  return text + (has_point ? "f" : ".0f");
}

std::string UniqueNames::take(const std::string& name) {
  auto candidate = name;
  for (int n = 2; !taken_.insert(candidate).second; ++n) candidate = fmt::format("{}_{}", name, n);
  return candidate;
}

}  // namespace tessera::emit
