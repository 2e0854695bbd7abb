#include "ops/operator.hpp"

#include <algorithm>

namespace tessera::ops {

std::vector<std::string_view> Types::names() const {
  std::vector<std::string_view> all;
  for (auto type : {DType::F32, DType::I64, DType::I32, DType::U8, DType::Bool})
    if (contains(type)) all.push_back(name_of(type));
  return all;
}

std::optional<TensorData> NodeContext::value(size_t i) const {
  if (!has_input(i) || input(i).role != Role::Constant) return std::nullopt;
  return input(i).value;
}

Error NodeContext::error(std::string message) const {
  return input_error("node '{}' ({}): {}", node.name, to_string(node.op), message);
}

namespace {

const Operator* find_in(const OpName& name, int version) {
  const Operator* newest = nullptr;
  for (auto* op : table()) {
    if (op->type != name.type || op->domain != name.domain) continue;
    if (version != 0 && (version < op->since || (op->until != 0 && version > op->until))) continue;
    if (!newest || op->since > newest->since) newest = op;
  }
  return newest;
}

}  // namespace

const Operator* find(const OpName& name, int version) {
  if (auto* op = find_in(name, version)) return op;
  // Deeploy writes ONNX Runtime's training operators in the default domain, whose versions say nothing of them.
  return name.domain.empty() ? find_in({"com.microsoft", name.type}, 0) : nullptr;
}

Result<const Operator*> definition(const Graph&, const Node& node) {
  if (auto* op = find(node.op, node.version)) return op;
  if (find(node.op))
    return input_error("node '{}': operator {} has no form in version {} of its operator set", node.name,
                       to_string(node.op), node.version)
        .hint("`tessera ops` lists the operator sets; re-export the model for a newer one");
  return input_error("node '{}': operator {} is not known", node.name, to_string(node.op))
      .hint("`tessera ops` lists what is; rewrite the node in terms of those");
}

bool is_view(const Operator& op) {
  return op.tile_map == nullptr && op.expand == nullptr;
}

}  // namespace tessera::ops
