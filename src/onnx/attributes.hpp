// A node's attributes, and the value of a Constant node.
//
//   Constant(value_ints = [1, 2]) -> i64[2] {1, 2}
#pragma once

#include <filesystem>

#include "base/error.hpp"
#include "graph/attributes.hpp"

namespace onnx {
class NodeProto;
}

namespace tessera::onnx {

// Subgraphs, sparse tensors, types and lists of tensors are refused by the attribute's name.
Result<Attributes> attributes_of(const ::onnx::NodeProto& node, const std::filesystem::path& folder);

Result<TensorData> constant_value(const Attributes& attributes);

void set_attributes(::onnx::NodeProto& node, const Attributes& attributes);

}  // namespace tessera::onnx
