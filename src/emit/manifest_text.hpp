// Small values as text in a manifest.
//
//   expression_text((v0 + 1) * 4) -> "* + v0 1 4"        bytes_text({0, 255}) -> "00ff"
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/expr.hpp"
#include "graph/tensor.hpp"

namespace tessera::emit {

// Prefix notation; a variable is v and its number.
std::string expression_text(const Expr& e);
// `variables`: how many there are. Nothing deeper than a schedule can mean is read.
Result<Expr> read_expression(std::string_view text, size_t variables);

std::string bytes_text(std::span<const std::byte> bytes);
Result<std::vector<std::byte>> read_bytes(std::string_view text);

Result<DType> read_dtype(std::string_view name);

}  // namespace tessera::emit
