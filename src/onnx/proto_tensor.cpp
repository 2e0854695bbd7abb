#include "onnx/proto_tensor.hpp"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <vector>

#include "base/file.hpp"

namespace tessera::onnx {

using ::onnx::TensorProto;

std::string element_name(int data_type) {
  if (!::onnx::TensorProto_DataType_IsValid(data_type)) return fmt::format("element type {}", data_type);
  auto name = ::onnx::TensorProto_DataType_Name(static_cast<::onnx::TensorProto_DataType>(data_type));
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return name;
}

std::optional<Element> element_of(int data_type) {
  switch (data_type) {
    case TensorProto::FLOAT:
      return Element::F32;
    case TensorProto::UINT8:
      return Element::U8;
    case TensorProto::INT8:
      return Element::I8;
    case TensorProto::UINT16:
      return Element::U16;
    case TensorProto::INT16:
      return Element::I16;
    case TensorProto::INT32:
      return Element::I32;
    case TensorProto::INT64:
      return Element::I64;
    case TensorProto::BOOL:
      return Element::Bool;
    case TensorProto::FLOAT16:
      return Element::F16;
    case TensorProto::DOUBLE:
      return Element::F64;
    case TensorProto::UINT32:
      return Element::U32;
    case TensorProto::UINT64:
      return Element::U64;
    case TensorProto::BFLOAT16:
      return Element::BF16;
    default:
      return std::nullopt;
  }
}

int data_type_of(DType type) {
  switch (type) {
    case DType::F32:
      return TensorProto::FLOAT;
    case DType::I64:
      return TensorProto::INT64;
    case DType::I32:
      return TensorProto::INT32;
    case DType::U8:
      return TensorProto::UINT8;
    case DType::Bool:
      return TensorProto::BOOL;
  }
  return TensorProto::UNDEFINED;
}

namespace {

// The values of a typed field in the width that the element type has in raw form.
template <class To, class From>
Result<std::vector<std::byte>> packed(const google::protobuf::RepeatedField<From>& values) {
  std::vector<std::byte> bytes(static_cast<size_t>(values.size()) * sizeof(To));
  for (int i = 0; i < values.size(); ++i) {
    if constexpr (std::is_integral_v<To>)
      if (!std::in_range<To>(values[i]))
        return input_error("element {} is {}, which its type does not hold", i, values[i]);
    auto v = static_cast<To>(values[i]);
    std::memcpy(bytes.data() + static_cast<size_t>(i) * sizeof(To), &v, sizeof(To));
  }
  return bytes;
}

Result<std::vector<std::byte>> typed_bytes(const TensorProto& proto, Element element) {
  switch (element) {
    case Element::F32:
      return packed<float>(proto.float_data());
    case Element::F64:
      return packed<double>(proto.double_data());
    case Element::I64:
      return packed<int64_t>(proto.int64_data());
    case Element::I32:
      return packed<int32_t>(proto.int32_data());
    case Element::I16:
      return packed<int16_t>(proto.int32_data());
    case Element::I8:
      return packed<int8_t>(proto.int32_data());
    case Element::F16:
    case Element::BF16:
    case Element::U16:
      return packed<uint16_t>(proto.int32_data());
    case Element::U8:
    case Element::Bool:
      return packed<uint8_t>(proto.int32_data());
    case Element::U32:
      return packed<uint32_t>(proto.uint64_data());
    case Element::U64:
      return packed<uint64_t>(proto.uint64_data());
  }
  return internal_error("element type {}", static_cast<int>(element));
}

struct ExternalPlace {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

Result<ExternalPlace> external_place(const TensorProto& proto) {
  ExternalPlace place;
  for (auto& entry : proto.external_data()) {
    auto number = [&]() -> Result<uint64_t> {
      uint64_t n = 0;
      auto& text = entry.value();
      auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
      if (error != std::errc{} || end != text.data() + text.size())
        return input_error("the {} '{}' of its external data is not a number", entry.key(), text);
      return n;
    };
    if (entry.key() == "location") place.location = entry.value();
    if (entry.key() == "offset") {
      TRY(place.offset, number());
    }
    if (entry.key() == "length") {
      TRY(place.length, number());
    }
  }
  return place;
}

// A model names files of its own folder, and must not make us read any other.
Result<std::filesystem::path> external_path(const std::string& location, const std::filesystem::path& folder) {
  if (location.empty()) return input_error("its external data names no file");
  if (folder.empty()) return input_error("its values are in the file '{}', which is not at hand", location);
  std::filesystem::path relative(location);
  bool leaves = relative.has_root_path() || location.find('\0') != std::string::npos ||
                std::ranges::any_of(relative, [](auto& part) { return part == ".."; });
  if (leaves)
    return input_error("its external data is in '{}', outside the folder of the model", location)
        .hint("external data must lie beside the model or below it");
  return folder / relative;
}

Result<std::vector<std::byte>> external_bytes(const TensorProto& proto, uint64_t wanted,
                                              const std::filesystem::path& folder) {
  TRY(auto place, external_place(proto));
  TRY(auto path, external_path(place.location, folder));
  if (place.length && *place.length != wanted)
    return input_error("its shape and type take {} bytes, but its external data has {}", wanted, *place.length);
  return read_file_part(path, place.offset, wanted);
}

}  // namespace

Result<TensorData> tensor_of(const TensorProto& proto, const std::filesystem::path& folder) {
  auto element = element_of(proto.data_type());
  if (!element)
    return input_error("values of {} are not supported", element_name(proto.data_type()))
        .hint("supported: float, double, float16, bfloat16, (u)int8 to (u)int64, bool");
  if (proto.has_segment())
    return input_error("is a sequence of tensors or stored in segments, neither of which is supported");
  Shape shape(proto.dims().begin(), proto.dims().end());
  auto n = checked_count(shape);
  if (!n) return input_error("the shape {} is not one of a tensor", to_string(shape));
  if (proto.data_location() == TensorProto::EXTERNAL) {
    TRY(auto bytes, external_bytes(proto, static_cast<uint64_t>(*n) * facts(*element).size, folder));
    return decode(*element, std::move(shape), bytes);
  }
  if (proto.has_raw_data()) return decode(*element, std::move(shape), std::as_bytes(std::span(proto.raw_data())));
  TRY(auto bytes, typed_bytes(proto, *element));
  return decode(*element, std::move(shape), bytes);
}

void set_tensor(TensorProto& proto, const TensorData& data) {
  for (auto d : data.shape()) proto.add_dims(d);
  proto.set_data_type(data_type_of(data.type().dtype));
  auto bytes = data.bytes();
  proto.set_raw_data(bytes.data(), bytes.size());
}

}  // namespace tessera::onnx
