// One tensor in ONNX's own format, as test data comes: input_0.pb, output_0.pb.
//
//   read_pb("test_add/test_data_set_0/input_0.pb") -> {x: f32[3,4,5]}
#pragma once

#include <filesystem>
#include <span>

#include "base/error.hpp"
#include "onnx/arrays.hpp"

namespace tessera::onnx {

// Named as the tensor is, else as the file.
Result<NamedArray> read_pb(const std::filesystem::path& path);
Result<NamedArray> read_pb(std::span<const std::byte> bytes, const std::filesystem::path& path);

}  // namespace tessera::onnx
