// Bytes to ONNX's own structures, and why bytes are not a model.
//
//   parse_model(bytes of a half-copied file) -> "ends early: 4096 bytes of the model's graph are missing"
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace onnx {
class ModelProto;
}

namespace tessera::onnx {

// ModelProto has no size here, so that its users need not see protobuf.
struct DeleteModel {
  void operator()(::onnx::ModelProto* model) const;
};
using ModelPtr = std::unique_ptr<::onnx::ModelProto, DeleteModel>;

// A model that has a graph with nodes or outputs, or the reason why there is none.
Result<ModelPtr> parse_model(std::span<const std::byte> bytes);

// "ai.onnx" and "" are the same domain.
std::string plain_domain(const std::string& domain);

// The version of each operator set that the nodes use; the larger where a domain is listed twice.
Result<std::map<std::string, int>> operator_sets(const ::onnx::ModelProto& model, std::vector<std::string>& notes);

}  // namespace tessera::onnx
