// Errors are values. A function that can fail returns Result<T>; whoever knows more adds context on the way up.
//
//   Result<Graph> read(path) { ...; return input_error("{}: not an ONNX file", path).hint("export it with ..."); }
//   TRY(auto graph, read(path));              // unwraps, or returns the error to our caller
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <utility>

namespace tessera {

// What went wrong, in the terms of the exit code that it ends in.
enum class ErrorKind {
  Mismatch = 1,    // a result did not match, or a check failed
  Input = 2,       // bad usage or bad input
  DoesNotFit = 3,  // a refusal: the budget is too small
  Internal = 4,    // our bug
};

// What a program turned out to need beyond what was set aside for it before it was known.
struct Lack {
  enum class Of { Code, Stack } of;
  int64_t bytes;  // that are missing
};

class Error {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}

  // "reading x.onnx" + "truncated" -> "reading x.onnx: truncated"
  Error&& within(std::string_view where) && {
    message_ = fmt::format("{}: {}", where, message_);
    return std::move(*this);
  }
  // The way out, printed on a line of its own. The first hint stands: it is the closest to the cause.
  Error&& hint(std::string way_out) && {
    if (hint_.empty()) hint_ = std::move(way_out);
    return std::move(*this);
  }

  // Of a refusal: what more would have been enough, for whoever may grant it.
  Error&& lacks(Lack lack) && {
    lack_ = lack;
    return std::move(*this);
  }

  ErrorKind kind() const { return kind_; }
  int exit_code() const { return static_cast<int>(kind_); }
  const std::string& message() const { return message_; }
  const std::string& way_out() const { return hint_; }
  std::optional<Lack> lack() const { return lack_; }
  std::string text() const { return hint_.empty() ? message_ : message_ + "\n  " + hint_; }

  template <class T>
  operator std::expected<T, Error>() && {
    return std::unexpected<Error>(std::move(*this));
  }

 private:
  ErrorKind kind_;
  std::string message_;
  std::string hint_;
  std::optional<Lack> lack_;
};

template <class T>
using Result = std::expected<T, Error>;

template <class... A>
Error input_error(fmt::format_string<A...> format, A&&... args) {
  return {ErrorKind::Input, fmt::format(format, std::forward<A>(args)...)};
}
template <class... A>
Error mismatch(fmt::format_string<A...> format, A&&... args) {
  return {ErrorKind::Mismatch, fmt::format(format, std::forward<A>(args)...)};
}
template <class... A>
Error does_not_fit(fmt::format_string<A...> format, A&&... args) {
  return {ErrorKind::DoesNotFit, fmt::format(format, std::forward<A>(args)...)};
}
template <class... A>
Error internal_error(fmt::format_string<A...> format, A&&... args) {
  return {ErrorKind::Internal, fmt::format(format, std::forward<A>(args)...)};
}

}  // namespace tessera

#define TESSERA_JOIN_(a, b) a##b
#define TESSERA_JOIN(a, b) TESSERA_JOIN_(a, b)
#define TESSERA_TRY_(tmp, declaration, ...)                                   \
  auto tmp = (__VA_ARGS__);                                                   \
  if (!tmp) return std::unexpected<::tessera::Error>(std::move(tmp).error()); \
  declaration = *std::move(tmp)
// TRY(auto x, f()): x = f()'s value, or return its error.   CHECK_OK(f()): the same where there is no value.
#define TRY(declaration, ...) TESSERA_TRY_(TESSERA_JOIN(try_, __LINE__), declaration, __VA_ARGS__)
#define CHECK_OK(...)                                         \
  if (auto check_ok_result = (__VA_ARGS__); !check_ok_result) \
  return std::unexpected<::tessera::Error>(std::move(check_ok_result).error())
