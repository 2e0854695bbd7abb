#include "onnx/npz.hpp"

#include <zip.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include "base/file.hpp"
#include "onnx/npy.hpp"

namespace tessera::onnx {

namespace {

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
  void operator()(zip_source_t* source) const { zip_source_free(source); }
};
using Archive = std::unique_ptr<zip_t, Discard>;
using Member = std::unique_ptr<zip_file_t, Discard>;
using Source = std::unique_ptr<zip_source_t, Discard>;

std::string reason(zip_error_t& error) {
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

Result<Archive> open_archive(std::span<const std::byte> bytes) {
  zip_error_t error;
  zip_error_init(&error);
  Source source(zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error));
  if (!source) return internal_error("zip: {}", reason(error));
  Archive archive(zip_open_from_source(source.get(), ZIP_RDONLY, &error));
  if (!archive)
    return input_error("not a .npz file, or a truncated one ({})", reason(error)).hint("write it with numpy.savez");
  source.release();  // the archive owns it now
  return archive;
}

// The size in the directory may be a lie, so memory grows with what is really there.
Result<std::vector<std::byte>> member_bytes(zip_t* archive, zip_uint64_t index) {
  Member member(zip_fopen_index(archive, index, 0));
  if (!member) return input_error("cannot be unpacked ({})", zip_strerror(archive));
  std::vector<std::byte> bytes;
  for (;;) {
    auto filled = bytes.size();
    auto step = std::max<size_t>(filled, 4096);
    bytes.resize(filled + step);
    auto got = zip_fread(member.get(), bytes.data() + filled, step);
    if (got < 0) return input_error("cannot be unpacked ({})", zip_file_strerror(member.get()));
    bytes.resize(filled + static_cast<size_t>(got));
    if (got == 0) return bytes;
  }
}

Result<TensorData> member(zip_t* archive, zip_uint64_t index) {
  TRY(auto bytes, member_bytes(archive, index));
  return read_npy(bytes);
}

Result<std::vector<NamedArray>> read_archive(std::span<const std::byte> bytes) {
  TRY(auto archive, open_archive(bytes));
  std::vector<NamedArray> arrays;
  std::set<std::string> names;
  auto members = zip_get_num_entries(archive.get(), 0);
  for (zip_uint64_t i = 0; i < static_cast<zip_uint64_t>(std::max<zip_int64_t>(members, 0)); ++i) {
    const char* full = zip_get_name(archive.get(), i, ZIP_FL_ENC_RAW);
    std::string name = full ? full : "";
    if (!name.ends_with(".npy")) continue;  // numpy.load gives such members as plain bytes
    name.resize(name.size() - 4);
    if (!names.insert(name).second) return input_error("two arrays are named '{}'", name);
    auto data = member(archive.get(), i);
    if (!data) return std::move(data).error().within(fmt::format("array '{}'", name));
    arrays.push_back({std::move(name), *std::move(data)});
  }
  return arrays;
}

}  // namespace

Result<std::vector<NamedArray>> read_npz(std::span<const std::byte> bytes, const std::filesystem::path& path) {
  if (bytes.empty()) return input_error("{}: the file is empty", path.string());
  if (looks_like_npy(bytes)) {
    auto data = read_npy(bytes);
    if (!data) return std::move(data).error().within(path.string());
    return std::vector<NamedArray>{{path.stem().string(), *std::move(data)}};
  }
  auto arrays = read_archive(bytes);
  if (!arrays) return std::move(arrays).error().within(path.string());
  return arrays;
}

Result<std::vector<NamedArray>> read_npz(const std::filesystem::path& path) {
  TRY(auto bytes, read_file(path));
  return read_npz(bytes, path);
}

namespace {

// The archive as bytes; `members` must outlive the closing of the archive.
Result<std::vector<std::byte>> pack(std::span<const NamedArray> arrays,
                                    const std::vector<std::vector<std::byte>>& members) {
  zip_error_t error;
  zip_error_init(&error);
  Source source(zip_source_buffer_create(nullptr, 0, 0, &error));
  if (!source) return internal_error("zip: {}", reason(error));
  Archive archive(zip_open_from_source(source.get(), ZIP_TRUNCATE, &error));
  if (!archive) return internal_error("zip: {}", reason(error));
  zip_source_keep(source.get());  // one reference is the archive's, one is ours
  for (size_t i = 0; i < arrays.size(); ++i) {
    auto* content = zip_source_buffer(archive.get(), members[i].data(), members[i].size(), 0);
    auto index =
        content ? zip_file_add(archive.get(), (arrays[i].name + ".npy").c_str(), content, ZIP_FL_ENC_UTF_8) : -1;
    if (index < 0) {
      if (content) zip_source_free(content);
      return input_error("array '{}' cannot be stored: {}", arrays[i].name, zip_strerror(archive.get()));
    }
    auto at = static_cast<zip_uint64_t>(index);
    constexpr zip_uint16_t first_of_1980 = 1 << 5 | 1;
    if (zip_set_file_compression(archive.get(), at, ZIP_CM_STORE, 0) < 0 ||
        zip_file_set_dostime(archive.get(), at, 0, first_of_1980, 0) < 0)
      return internal_error("zip: {}", zip_strerror(archive.get()));
  }
  if (zip_close(archive.get()) < 0) return internal_error("zip: {}", zip_strerror(archive.get()));
  archive.release();
  zip_stat_t stat;
  if (zip_source_open(source.get()) < 0 || zip_source_stat(source.get(), &stat) < 0)
    return internal_error("zip: the archive cannot be read back");
  std::vector<std::byte> bytes(stat.size);
  auto got = zip_source_read(source.get(), bytes.data(), bytes.size());
  zip_source_close(source.get());
  if (got != static_cast<zip_int64_t>(bytes.size())) return internal_error("zip: the archive cannot be read back");
  return bytes;
}

// What an archive without any member is: libzip would write no file at all.
std::vector<std::byte> empty_archive() {
  std::vector<std::byte> bytes(22);
  bytes[0] = std::byte{'P'}, bytes[1] = std::byte{'K'}, bytes[2] = std::byte{5}, bytes[3] = std::byte{6};
  return bytes;
}

}  // namespace

Result<void> write_npz(const std::filesystem::path& path, std::span<const NamedArray> arrays) {
  if (arrays.empty()) return write_file(path, empty_archive());
  std::vector<std::vector<std::byte>> members;
  for (auto& array : arrays) members.push_back(npy_bytes(array.data));
  auto bytes = pack(arrays, members);
  if (!bytes) return std::move(bytes).error().within(path.string());
  return write_file(path, *bytes);
}

}  // namespace tessera::onnx
