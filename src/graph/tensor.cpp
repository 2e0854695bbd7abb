#include "graph/tensor.hpp"

#include <cmath>
#include <cstring>
#include <limits>

namespace tessera {

std::string_view name_of(DType t) {
  switch (t) {
    case DType::F32:
      return "f32";
    case DType::I64:
      return "i64";
    case DType::I32:
      return "i32";
    case DType::U8:
      return "u8";
    case DType::Bool:
      return "bool";
  }
  return "?";
}

int64_t count(const Shape& shape) {
  int64_t n = 1;
  for (auto d : shape) n *= d;
  return n;
}

std::string to_string(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

std::string to_string(const TensorType& type) {
  return fmt::format("{}{}", name_of(type.dtype), to_string(type.shape));
}

TensorData::TensorData(TensorType type, std::vector<std::byte> bytes)
    : type_(std::move(type)), bytes_(std::make_shared<const std::vector<std::byte>>(std::move(bytes))) {}

TensorData TensorData::zeros(TensorType type) {
  auto n = static_cast<size_t>(type.bytes().count);
  return {std::move(type), std::vector<std::byte>(n)};
}

std::span<const std::byte> TensorData::bytes() const {
  if (!bytes_) return {};
  return *bytes_;
}

double TensorData::at(int64_t i) const {
  auto n = static_cast<size_t>(i);
  switch (type_.dtype) {
    case DType::F32:
      return static_cast<double>(as<float>()[n]);
    case DType::I64:
      return static_cast<double>(as<int64_t>()[n]);
    case DType::I32:
      return as<int32_t>()[n];
    case DType::U8:
    case DType::Bool:
      return as<uint8_t>()[n];
  }
  return 0;
}

std::vector<int64_t> TensorData::integers() const {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < type_.elements(); ++i)
    out.push_back(type_.dtype == DType::I64 ? as<int64_t>()[static_cast<size_t>(i)] : static_cast<int64_t>(at(i)));
  return out;
}

TensorData TensorData::reshaped(Shape shape) const {
  TensorData other = *this;
  other.type_.shape = std::move(shape);
  return other;
}

namespace {

template <class T>
T saturated(double v) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(v);
  } else {
    if (std::isnan(v)) return 0;
    if (v <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    if (v >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    return static_cast<T>(v);
  }
}

template <class T>
TensorData elements_of(std::span<const double> values, TensorType type) {
  std::vector<T> out;
  out.reserve(values.size());
  for (auto v : values) out.push_back(type.dtype == DType::Bool ? static_cast<T>(v != 0) : saturated<T>(v));
  return TensorData::of<T>(std::move(type), out);
}

}  // namespace

TensorData saturated(std::span<const double> values, TensorType type) {
  switch (type.dtype) {
    case DType::F32:
      return elements_of<float>(values, std::move(type));
    case DType::I64:
      return elements_of<int64_t>(values, std::move(type));
    case DType::I32:
      return elements_of<int32_t>(values, std::move(type));
    case DType::U8:
    case DType::Bool:
      return elements_of<uint8_t>(values, std::move(type));
  }
  return {};
}

TensorData cast(const TensorData& data, DType to) {
  if (data.type().dtype == to) return data;
  if (to == DType::I64 && data.type().dtype != DType::F32) return TensorData::i64(data.shape(), data.integers());
  std::vector<double> values;
  values.reserve(static_cast<size_t>(data.type().elements()));
  for (int64_t i = 0; i < data.type().elements(); ++i) values.push_back(data.at(i));
  return saturated(values, {to, data.shape()});
}

}  // namespace tessera
