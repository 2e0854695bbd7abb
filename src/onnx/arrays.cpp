#include "onnx/arrays.hpp"

#include <system_error>

#include "base/file.hpp"
#include "onnx/npz.hpp"
#include "onnx/pb.hpp"

namespace tessera::onnx {

namespace fs = std::filesystem;

namespace {

// input_0.pb, input_1.pb, ... as the folders of ONNX's test data have them.
Result<std::vector<NamedArray>> read_folder(const fs::path& folder) {
  std::vector<NamedArray> arrays;
  for (int i = 0;; ++i) {
    auto path = folder / fmt::format("input_{}.pb", i);
    std::error_code missing;
    if (!fs::exists(path, missing)) break;
    TRY(auto array, read_pb(path));
    arrays.push_back(std::move(array));
  }
  if (arrays.empty()) return input_error("{}: a folder without input_0.pb", folder.string());
  return arrays;
}

}  // namespace

Result<std::vector<NamedArray>> read_arrays(const fs::path& path) {
  std::error_code unknown;
  if (fs::is_directory(path, unknown)) return read_folder(path);
  if (path.extension() != ".pb") return read_npz(path);
  TRY(auto array, read_pb(path));
  std::vector<NamedArray> arrays;
  arrays.push_back(std::move(array));
  return arrays;
}

}  // namespace tessera::onnx
