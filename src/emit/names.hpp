// Names from a model, as they may stand in C.
//
//   identifier("/fc1/Gemm") -> "fc1_Gemm"      comment_text("a*/b") -> "a* /b"      c_string("a\"b") -> "\"a\\\"b\""
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace tessera::emit {

// Letters, digits and single underscores, at most 48 of them; "x" where nothing is left.
std::string identifier(std::string_view name);

// Cannot end a comment, begin one, or break a line.
std::string comment_text(std::string_view text);

// A C string literal with exactly these bytes.
std::string c_string(std::string_view text);

// A float as a C constant with exactly these bits (of a NaN, that it is one).
std::string c_float(float value);

// Hands out each name once: the second "x" is "x_2".
class UniqueNames {
 public:
  UniqueNames() = default;
  explicit UniqueNames(std::set<std::string> taken) : taken_(std::move(taken)) {}
  std::string take(const std::string& name);

 private:
  std::set<std::string> taken_;
};

}  // namespace tessera::emit
