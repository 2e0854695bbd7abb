// Whole files in and out, with errors that say what is wrong with the path.
//
//   read_file("model.onnx") -> bytes, or "model.onnx: no such file"     a directory, an unreadable file: said so
//   write_file(path, bytes) -> the whole file, or no file: a reader never sees half of one
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "base/error.hpp"

namespace tessera {

Result<std::vector<std::byte>> read_file(const std::filesystem::path& path);
// `length` bytes from `offset` on; an error where the file is shorter.
Result<std::vector<std::byte>> read_file_part(const std::filesystem::path& path, uint64_t offset, uint64_t length);
Result<uint64_t> size_of_file(const std::filesystem::path& path);

// Into a temporary file beside it, then renamed over it.
Result<void> write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace tessera
