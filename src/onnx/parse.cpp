#include "onnx/parse.hpp"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

namespace tessera::onnx {

using ::onnx::ModelProto;

void DeleteModel::operator()(ModelProto* model) const {
  delete model;
}

std::string plain_domain(const std::string& domain) {
  return domain == "ai.onnx" ? "" : domain;
}

namespace {

constexpr int oldest_opset = 6, newest_opset = 21;

std::optional<uint64_t> varint(std::span<const std::byte> bytes, size_t& at) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && at < bytes.size(); shift += 7) {
    auto b = std::to_integer<uint64_t>(bytes[at++]);
    value |= (b & 0x7f) << shift;
    if (!(b & 0x80)) return value;
  }
  return std::nullopt;
}

// Walks the fields of the outermost message. Where one of ModelProto's own reaches beyond the end: by how many bytes.
std::optional<uint64_t> missing_bytes(std::span<const std::byte> bytes) {
  for (size_t at = 0; at < bytes.size();) {
    auto tag = varint(bytes, at);
    if (!tag || *tag >> 3 == 0 || *tag >> 3 > 25) return std::nullopt;
    auto wire = *tag & 7;
    if (wire != 0 && wire != 2) return std::nullopt;
    auto value = varint(bytes, at);
    if (!value) return std::nullopt;
    if (wire == 2 && *value > bytes.size() - at)
      return *value < (uint64_t{1} << 31) ? std::optional(*value - (bytes.size() - at)) : std::nullopt;
    if (wire == 2) at += *value;
  }
  return std::nullopt;
}

bool starts_with(std::span<const std::byte> bytes, std::string_view text) {
  auto expected = std::as_bytes(std::span(text));
  return bytes.size() >= expected.size() && std::ranges::equal(bytes.first(expected.size()), expected);
}

// What people hand over by mistake.
Error not_a_model(std::span<const std::byte> bytes) {
  struct Known {
    std::string_view start, what, way_out;
  };
  static constexpr std::array known{
      Known{"PK\x03\x04", "a zip archive",
            "a PyTorch checkpoint must be exported with torch.onnx.export; data goes to --data"},
      Known{"\x80\x02", "a Python pickle", "a PyTorch checkpoint must be exported with torch.onnx.export"},
      Known{"version https://git-lfs", "a pointer to a file in Git LFS", "fetch the file itself with: git lfs pull"},
      Known{"\x89HDF", "an HDF5 file", "a Keras model must be converted to ONNX first"},
      Known{"<", "a web page or XML", "the download may have failed"},
      Known{"{", "JSON", "an ONNX model is a binary file"},
      Known{"\x93NUMPY", "a NumPy array", "data goes to --data or --inputs"},
  };
  for (auto& k : known)
    if (starts_with(bytes, k.start))
      return input_error("not an ONNX model: the file is {}", k.what).hint(std::string(k.way_out));
  if (auto missing = missing_bytes(bytes))
    return input_error("truncated: at least {} bytes are missing at the end", *missing)
        .hint("copy or export the file again");
  return input_error("not an ONNX model, or a damaged one")
      .hint("export the model again, or check that the path is right");
}

}  // namespace

Result<ModelPtr> parse_model(std::span<const std::byte> bytes) {
  if (bytes.empty()) return input_error("the file is empty").hint("export the model again");
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max()))
    return input_error("the file has {} bytes; ONNX allows at most 2 GB", bytes.size())
        .hint("save the weights as external data");
  ModelPtr model(new ModelProto);
  if (!model->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return not_a_model(bytes);
  bool has_content = model->has_graph() && (model->graph().node_size() > 0 || model->graph().output_size() > 0);
  if (model->ir_version() < 1 || !has_content) return not_a_model(bytes);
  return model;
}

namespace {

// Operators that mean in the oldest sets what they mean in set 7. A model of nothing else may be of any set.
constexpr std::string_view unchanged[] = {
    "Conv",          "ConvTranspose", "DepthToSpace", "Flatten",    "Gather",    "GlobalAveragePool",
    "GlobalMaxPool", "Hardmax",       "Identity",     "LogSoftmax", "LRN",       "Not",
    "ReduceL1",      "ReduceL2",      "ReduceMax",    "ReduceMean", "ReduceMin", "ReduceSum",
    "ReduceProd",    "Shape",         "Size",         "Slice",      "Softmax",   "Softplus",
    "Softsign",      "SpaceToDepth",  "Squeeze",      "Transpose",  "Unsqueeze",
};

const ::onnx::NodeProto* changed_node(const ModelProto& model) {
  for (auto& node : model.graph().node())
    if (plain_domain(node.domain()).empty() && std::ranges::find(unchanged, node.op_type()) == std::end(unchanged))
      return &node;
  return nullptr;
}

}  // namespace

Result<std::map<std::string, int>> operator_sets(const ModelProto& model, std::vector<std::string>& notes) {
  std::map<std::string, int> sets;
  for (auto& entry : model.opset_import()) {
    if (entry.version() < 1 || entry.version() > 10000)
      return input_error("the version {} of operator set '{}' is none", entry.version(), entry.domain());
    auto& version = sets[plain_domain(entry.domain())];
    version = std::max(version, static_cast<int>(entry.version()));
  }
  for (auto& node : model.graph().node()) {
    auto domain = plain_domain(node.domain());
    if (sets.contains(domain)) continue;
    if (domain.empty())
      return input_error("the model does not say for which operator set it is written (no opset_import)")
          .hint("the file may be truncated; export it again");
    notes.push_back(fmt::format("the model lists no operator set for domain '{}': version 1 is taken", domain));
    sets[domain] = 1;
  }
  if (auto main = sets.find(""); main != sets.end()) {
    if (auto* node = main->second < oldest_opset ? changed_node(model) : nullptr)
      return input_error("the model is written for operator set {}; {} to {} are supported, and {} changed since",
                         main->second, oldest_opset, newest_opset, node->op_type())
          .hint(
              "export it with opset_version=17, or convert it with onnx.version_converter.convert_version(model, 17)");
    if (main->second > newest_opset)
      notes.push_back(fmt::format("the model is written for operator set {}, newer than {}: read as if it were {}",
                                  main->second, newest_opset, newest_opset));
  }
  return sets;
}

}  // namespace tessera::onnx
