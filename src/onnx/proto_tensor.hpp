// A tensor as ONNX stores it (typed fields, raw bytes, or a file of its own) as a value.
//
//   TensorProto{dims: 2, data_type: FLOAT, float_data: 1, 2} -> f32[2] {1, 2}
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "graph/tensor.hpp"
#include "onnx/element.hpp"

namespace onnx {
class TensorProto;
}

namespace tessera::onnx {

// The name of a TensorProto::DataType, also of one that is newer than the library: "complex64", "type 23".
std::string element_name(int data_type);
std::optional<Element> element_of(int data_type);
int data_type_of(DType type);

// `folder`: where files with external data are; empty: they are refused. Errors name the reason, not the tensor.
Result<TensorData> tensor_of(const ::onnx::TensorProto& proto, const std::filesystem::path& folder);

void set_tensor(::onnx::TensorProto& proto, const TensorData& data);

}  // namespace tessera::onnx
