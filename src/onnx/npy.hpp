// One array in NumPy's format.
//
//   "\x93NUMPY" 1 0, {'descr': '>f8', 'fortran_order': True, 'shape': (2, 3), }, 48 bytes -> f32[2,3], row-major
#pragma once

#include <span>
#include <vector>

#include "base/error.hpp"
#include "graph/tensor.hpp"

namespace tessera::onnx {

bool looks_like_npy(std::span<const std::byte> bytes);
Result<TensorData> read_npy(std::span<const std::byte> bytes);
std::vector<std::byte> npy_bytes(const TensorData& data);

}  // namespace tessera::onnx
