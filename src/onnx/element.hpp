// The element types that files hold, and how they become ours.
//
//   decode(Element::F64, {2}, bytes of 1.5 and -2.0) -> f32[2] {1.5, -2.0}      decode(Element::I8, ...) -> i32
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/error.hpp"
#include "graph/tensor.hpp"

namespace tessera::onnx {

enum class Element : uint8_t { F16, BF16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, Bool };

struct ElementFacts {
  std::string_view name;  // "float16"
  size_t size;            // bytes in a file
  DType becomes;
};
const ElementFacts& facts(Element element);

// Whether the type in memory is the type in the file, so that computing in it means the same.
bool is_ours(Element element);

// The number of elements, or nothing where a dimension is negative or the product is beyond any tensor.
std::optional<int64_t> checked_count(std::span<const int64_t> shape);

enum class Endian : uint8_t { Little, Big };

// Exactly `shape` elements in row-major order. The only value that can be refused is an uint64 beyond int64.
Result<TensorData> decode(Element element, Shape shape, std::span<const std::byte> bytes,
                          Endian endian = Endian::Little);

}  // namespace tessera::onnx
