#include "onnx/pb.hpp"

#include <onnx/onnx_pb.h>

#include <limits>

#include "base/file.hpp"
#include "onnx/proto_tensor.hpp"

namespace tessera::onnx {

Result<NamedArray> read_pb(std::span<const std::byte> bytes, const std::filesystem::path& path) {
  ::onnx::TensorProto proto;
  bool parsed = !bytes.empty() && bytes.size() <= static_cast<size_t>(std::numeric_limits<int>::max()) &&
                proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  if (!parsed || proto.data_type() == ::onnx::TensorProto::UNDEFINED)
    return input_error("{}: not an ONNX tensor, or a damaged one", path.string());
  auto name = proto.name().empty() ? path.stem().string() : proto.name();
  auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  auto data = tensor_of(proto, folder);
  if (!data) return std::move(data).error().within(fmt::format("{}: tensor '{}'", path.string(), name));
  return NamedArray{std::move(name), *std::move(data)};
}

Result<NamedArray> read_pb(const std::filesystem::path& path) {
  TRY(auto bytes, read_file(path));
  return read_pb(bytes, path);
}

}  // namespace tessera::onnx
