// Element types, shapes, and tensors with values.
//
//   TensorType t{DType::F32, {4, 784}};    t.bytes() -> 12544_B,   to_string(t) -> "f32[4,784]"
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace tessera {

enum class DType : uint8_t { F32, I64, I32, U8, Bool };

constexpr int64_t size_of(DType t) {
  return t == DType::I64 ? 8 : t == DType::F32 || t == DType::I32 ? 4 : 1;
}
std::string_view name_of(DType t);  // "f32", "i64", "i32", "u8", "bool"

using Shape = std::vector<int64_t>;

int64_t count(const Shape& shape);  // elements; 1 for a scalar
std::string to_string(const Shape& shape);

struct TensorType {
  DType dtype = DType::F32;
  Shape shape;

  int64_t elements() const { return count(shape); }
  Bytes bytes() const { return Bytes(elements() * size_of(dtype)); }
  bool operator==(const TensorType&) const = default;
};
std::string to_string(const TensorType& type);

// A tensor with its values, dense and row-major. Copies share the bytes, which never change once made.
class TensorData {
 public:
  TensorData() = default;
  TensorData(TensorType type, std::vector<std::byte> bytes);

  template <class T>
  static TensorData of(TensorType type, std::span<const T> values) {
    auto raw = std::as_bytes(values);
    return {std::move(type), std::vector<std::byte>(raw.begin(), raw.end())};
  }
  static TensorData f32(Shape shape, std::span<const float> values) {
    return of<float>({DType::F32, std::move(shape)}, values);
  }
  static TensorData i64(Shape shape, std::span<const int64_t> values) {
    return of<int64_t>({DType::I64, std::move(shape)}, values);
  }
  static TensorData scalar(float value) { return f32({}, std::span(&value, 1)); }
  static TensorData zeros(TensorType type);

  bool empty() const { return bytes_ == nullptr; }
  const TensorType& type() const { return type_; }
  const Shape& shape() const { return type_.shape; }
  std::span<const std::byte> bytes() const;
  // T must be the element's C++ type: float, int64_t, int32_t, uint8_t (also for Bool).
  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(bytes().data()), bytes().size() / sizeof(T)};
  }
  double at(int64_t i) const;              // element i of any type, as a number
  std::vector<int64_t> integers() const;   // the whole of an integer tensor
  TensorData reshaped(Shape shape) const;  // the same bytes

 private:
  TensorType type_;
  std::shared_ptr<const std::vector<std::byte>> bytes_;
};

// Numbers as elements of a type: floats round to the nearest, integers truncate and saturate, NaN becomes 0 there.
TensorData saturated(std::span<const double> values, TensorType type);

// The value of each element in another type: floats saturate into integers, NaN becomes 0 there.
TensorData cast(const TensorData& data, DType to);

}  // namespace tessera
