#include "onnx/element.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <vector>

namespace tessera::onnx {

static_assert(std::endian::native == std::endian::little);

const ElementFacts& facts(Element element) {
  static constexpr std::array<ElementFacts, 13> table{{
      {"float16", 2, DType::F32},
      {"bfloat16", 2, DType::F32},
      {"float32", 4, DType::F32},
      {"float64", 8, DType::F32},
      {"int8", 1, DType::I32},
      {"int16", 2, DType::I32},
      {"int32", 4, DType::I32},
      {"int64", 8, DType::I64},
      {"uint8", 1, DType::U8},
      {"uint16", 2, DType::I32},
      {"uint32", 4, DType::I64},
      {"uint64", 8, DType::I64},
      {"bool", 1, DType::Bool},
  }};
  return table[static_cast<size_t>(element)];
}

bool is_ours(Element element) {
  switch (element) {
    case Element::F32:
    case Element::I32:
    case Element::I64:
    case Element::U8:
    case Element::Bool:
      return true;
    default:
      return false;
  }
}

std::optional<int64_t> checked_count(std::span<const int64_t> shape) {
  constexpr int64_t most = int64_t{1} << 40;  // far beyond any memory, far below overflow in bytes
  int64_t n = 1;
  bool empty = false;
  for (auto d : shape) {
    if (d < 0 || d > most) return std::nullopt;
    if (d == 0)
      empty = true;
    else if (n > most / d)
      return std::nullopt;
    else
      n *= d;
  }
  return empty ? 0 : n;
}

namespace {

float from_half(uint16_t h) {
  uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  uint32_t exponent = (h >> 10) & 0x1fu, fraction = h & 0x3ffu;
  if (exponent == 0) {  // zero or subnormal: an exact multiple of 2^-24
    float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | (wide << 23) | (fraction << 13));
}

template <class From>
From load(const std::byte* at, Endian endian) {
  std::array<std::byte, sizeof(From)> raw;
  std::memcpy(raw.data(), at, sizeof(From));
  if (endian == Endian::Big) std::ranges::reverse(raw);
  return std::bit_cast<From>(raw);
}

template <class From, class To, class Convert>
TensorData convert(TensorType type, std::span<const std::byte> bytes, Endian endian, Convert one) {
  std::vector<To> out;
  out.reserve(bytes.size() / sizeof(From));
  for (size_t i = 0; i + sizeof(From) <= bytes.size(); i += sizeof(From))
    out.push_back(one(load<From>(bytes.data() + i, endian)));
  return TensorData::of<To>(std::move(type), out);
}

template <class From, class To>
TensorData widen(TensorType type, std::span<const std::byte> bytes, Endian endian) {
  return convert<From, To>(std::move(type), bytes, endian, [](From v) { return static_cast<To>(v); });
}

Result<TensorData> decode_u64(TensorType type, std::span<const std::byte> bytes, Endian endian) {
  for (size_t i = 0; i + 8 <= bytes.size(); i += 8)
    if (auto v = load<uint64_t>(bytes.data() + i, endian); v > uint64_t{std::numeric_limits<int64_t>::max()})
      return input_error("element {} is {}, beyond the range of int64", i / 8, v);
  return widen<uint64_t, int64_t>(std::move(type), bytes, endian);
}

}  // namespace

Result<TensorData> decode(Element element, Shape shape, std::span<const std::byte> bytes, Endian endian) {
  auto& f = facts(element);
  auto n = checked_count(shape);
  if (!n) return input_error("the shape {} is not one of a tensor", to_string(shape));
  if (static_cast<uint64_t>(*n) * f.size != bytes.size())
    return input_error("{} elements of {} take {} bytes, but there are {}", *n, f.name,
                       static_cast<uint64_t>(*n) * f.size, bytes.size());
  TensorType type{f.becomes, std::move(shape)};
  switch (element) {
    case Element::F16:
      return convert<uint16_t, float>(type, bytes, endian, from_half);
    case Element::BF16:
      return convert<uint16_t, float>(type, bytes, endian,
                                      [](uint16_t v) { return std::bit_cast<float>(uint32_t{v} << 16); });
    case Element::F32:
      return widen<float, float>(type, bytes, endian);
    case Element::F64:
      return widen<double, float>(type, bytes, endian);
    case Element::I8:
      return widen<int8_t, int32_t>(type, bytes, endian);
    case Element::I16:
      return widen<int16_t, int32_t>(type, bytes, endian);
    case Element::I32:
      return widen<int32_t, int32_t>(type, bytes, endian);
    case Element::I64:
      return widen<int64_t, int64_t>(type, bytes, endian);
    case Element::U8:
      return widen<uint8_t, uint8_t>(type, bytes, endian);
    case Element::U16:
      return widen<uint16_t, int32_t>(type, bytes, endian);
    case Element::U32:
      return widen<uint32_t, int64_t>(type, bytes, endian);
    case Element::U64:
      return decode_u64(type, bytes, endian);
    case Element::Bool:
      return convert<uint8_t, uint8_t>(type, bytes, endian, [](uint8_t v) { return static_cast<uint8_t>(v != 0); });
  }
  return internal_error("element type {}", static_cast<int>(element));
}

}  // namespace tessera::onnx
