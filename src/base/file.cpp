#include "base/file.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <system_error>

namespace tessera {

namespace fs = std::filesystem;

Result<uint64_t> size_of_file(const fs::path& path) {
  std::error_code error;
  auto status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return input_error("{}: no such file", path.string());
  if (error) return input_error("{}: {}", path.string(), error.message());
  if (fs::is_directory(status)) return input_error("{}: is a directory, not a file", path.string());
  if (!fs::is_regular_file(status)) return input_error("{}: not a regular file", path.string());
  auto size = fs::file_size(path, error);
  if (error) return input_error("{}: {}", path.string(), error.message());
  return size;
}

Result<std::vector<std::byte>> read_file_part(const fs::path& path, uint64_t offset, uint64_t length) {
  TRY(auto size, size_of_file(path));
  if (offset > size || length > size - offset)
    return input_error("{}: has {} bytes; {} bytes from byte {} on are wanted", path.string(), size, length, offset);
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) return input_error("{}: cannot be read: {}", path.string(), std::strerror(errno));
  std::vector<std::byte> bytes(length);
  in.seekg(static_cast<std::streamoff>(offset));
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(length));
  if (!in) return input_error("{}: reading failed after {} bytes", path.string(), in.gcount());
  return bytes;
}

Result<std::vector<std::byte>> read_file(const fs::path& path) {
  TRY(auto size, size_of_file(path));
  return read_file_part(path, 0, size);
}

Result<void> write_file(const fs::path& path, std::span<const std::byte> bytes) {
  if (std::error_code unknown; fs::is_directory(path, unknown))
    return input_error("{}: is a directory, not a file", path.string());
  auto temporary = path;
  temporary += fmt::format(".{}.part", ::getpid());
  auto failed = [&](int reason) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    return input_error("{}: cannot be written: {}", path.string(), std::strerror(reason));
  };
  errno = 0;
  std::FILE* out = std::fopen(temporary.c_str(), "wb");
  if (!out) return failed(errno);
  bool written = bytes.empty() || std::fwrite(bytes.data(), 1, bytes.size(), out) == bytes.size();
  int reason = errno;
  if (std::fclose(out) != 0 && written) {
    written = false;
    reason = errno;
  }
  if (!written) return failed(reason);
  std::error_code error;
  fs::rename(temporary, path, error);
  if (error) return failed(error.value());
  return {};
}

}  // namespace tessera
