#include "emit/manifest_text.hpp"

#include <array>
#include <charconv>

namespace tessera::emit {

namespace {

struct OpText {
  Expr::Op op;
  std::string_view text;
};
constexpr std::array<OpText, 10> op_texts = {{{Expr::Op::Add, "+"},
                                              {Expr::Op::Sub, "-"},
                                              {Expr::Op::Mul, "*"},
                                              {Expr::Op::Div, "/"},
                                              {Expr::Op::Mod, "%"},
                                              {Expr::Op::Min, "min"},
                                              {Expr::Op::Max, "max"},
                                              {Expr::Op::Less, "<"},
                                              {Expr::Op::Equal, "=="},
                                              {Expr::Op::And, "&&"}}};

class Reader {
 public:
  Reader(std::string_view text, size_t variables) : text_(text), variables_(variables) {}

  Result<Expr> whole() {
    TRY(auto e, one(0));
    if (!rest().empty()) return broken();
    return e;
  }

 private:
  static constexpr int deepest = 200;

  std::string_view rest() {
    while (!text_.empty() && text_.front() == ' ') text_.remove_prefix(1);
    return text_;
  }
  std::string_view word() {
    auto all = rest();
    auto found = all.substr(0, all.find(' '));
    text_.remove_prefix(found.size());
    return found;
  }
  Error broken() const { return input_error("not an expression"); }

  Result<Expr> one(int depth) {
    auto token = word();
    if (token.empty() || depth > deepest) return broken();
    for (const auto& [op, text] : op_texts)
      if (token == text) {
        TRY(auto a, one(depth + 1));
        TRY(auto b, one(depth + 1));
        return Expr::make(op, a, b);
      }
    bool variable = token.front() == 'v';
    if (variable) token.remove_prefix(1);
    int64_t value = 0;
    auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
    if (error != std::errc() || end != token.data() + token.size()) return broken();
    if (!variable) return Expr(value);
    if (value < 0 || static_cast<size_t>(value) >= variables_) return broken();
    return Expr::var(static_cast<int>(value));
  }

  std::string_view text_;
  size_t variables_;
};

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string expression_text(const Expr& e) {
  if (e.op() == Expr::Op::Const) return fmt::format("{}", e.value());
  if (e.op() == Expr::Op::Var) return fmt::format("v{}", e.value());
  for (const auto& [op, text] : op_texts)
    if (op == e.op()) return fmt::format("{} {} {}", text, expression_text(e.left()), expression_text(e.right()));
  return "";
}

Result<Expr> read_expression(std::string_view text, size_t variables) {
  return Reader(text, variables).whole();
}

std::string bytes_text(std::span<const std::byte> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (auto b : bytes) {
    text += digits[static_cast<size_t>(b) >> 4];
    text += digits[static_cast<size_t>(b) & 15];
  }
  return text;
}

Result<std::vector<std::byte>> read_bytes(std::string_view text) {
  std::vector<std::byte> bytes;
  if (text.size() % 2) return input_error("half a byte");
  for (size_t i = 0; i < text.size(); i += 2) {
    int high = hex_digit(text[i]), low = hex_digit(text[i + 1]);
    if (high < 0 || low < 0) return input_error("not hexadecimal");
    bytes.push_back(static_cast<std::byte>(high * 16 + low));
  }
  return bytes;
}

Result<DType> read_dtype(std::string_view name) {
  for (auto type : {DType::F32, DType::I64, DType::I32, DType::U8, DType::Bool})
    if (name_of(type) == name) return type;
  return input_error("'{}' is no element type", name);
}

}  // namespace tessera::emit
