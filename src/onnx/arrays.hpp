// Arrays with names, as files hold them.
//
//   read_arrays("data.npz") -> {x: f32[256,784]}, {label: i64[256]}      also a .npy, a .pb, a folder of input_*.pb
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "graph/tensor.hpp"

namespace tessera::onnx {

struct NamedArray {
  std::string name;
  TensorData data;
};

// Whatever the path is: a folder, a .pb, or one of NumPy's files.
Result<std::vector<NamedArray>> read_arrays(const std::filesystem::path& path);

}  // namespace tessera::onnx
