// NumPy's files: .npz (a zip of arrays, stored or deflated) and .npy (one array, named after the file).
//
//   write_npz("w.npz", {{"fc1.weight", data}});     numpy.load("w.npz")["fc1.weight"]
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "onnx/arrays.hpp"

namespace tessera::onnx {

// Floats of any width become f32; int8, int16 and uint16 become i32; uint32 and uint64 become i64.
Result<std::vector<NamedArray>> read_npz(const std::filesystem::path& path);
Result<std::vector<NamedArray>> read_npz(std::span<const std::byte> bytes, const std::filesystem::path& path);

// The same bytes for the same arrays: stored, in the given order, dated 1980.
Result<void> write_npz(const std::filesystem::path& path, std::span<const NamedArray> arrays);

}  // namespace tessera::onnx
