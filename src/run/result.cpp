#include "run/result.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "run/digest.hpp"

namespace tessera::run {

namespace {

void add_values(Digest& digest, std::span<const float> values) {
  for (float value : values) {
    if (std::isnan(value)) value = std::numeric_limits<float>::quiet_NaN();
    digest.add(std::as_bytes(std::span(&value, 1)));
  }
}

// By name: a model read from its file may list its parameters in another order.
void add_arrays(Digest& digest, const std::vector<onnx::NamedArray>& arrays) {
  std::vector<const onnx::NamedArray*> order;
  for (auto& array : arrays) order.push_back(&array);
  std::ranges::sort(order, {}, &onnx::NamedArray::name);
  for (auto* array : order) {
    const auto& [name, value] = *array;
    digest.add(name).add(to_string(value.type()));
    if (value.type().dtype == DType::F32)
      add_values(digest, value.as<float>());
    else
      digest.add(value.bytes());
  }
}

}  // namespace

std::string digest_of(const RunResult& result) {
  Digest digest;
  add_values(digest, result.losses);
  add_arrays(digest, result.parameters);
  add_arrays(digest, result.outputs);
  return digest.hex();
}

}  // namespace tessera::run
