#include "onnx/forms.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace tessera::onnx {

namespace {

struct Move {
  std::string_view attribute;
  size_t input;
};

// From operator set `since` on, the attributes are inputs. No moves: the operator is new, or its meaning changed.
struct Change {
  std::string_view type;
  int since;
  std::array<Move, 3> moves{};
};

constexpr Move axes{"axes", 1};
constexpr auto changes = std::to_array<Change>({
    {"Squeeze", 13, {axes}},
    {"Unsqueeze", 13, {axes}},
    {"ReduceSum", 13, {axes}},
    {"ReduceL1", 18, {axes}},
    {"ReduceL2", 18, {axes}},
    {"ReduceLogSum", 18, {axes}},
    {"ReduceLogSumExp", 18, {axes}},
    {"ReduceMax", 18, {axes}},
    {"ReduceMean", 18, {axes}},
    {"ReduceMin", 18, {axes}},
    {"ReduceProd", 18, {axes}},
    {"ReduceSumSquare", 18, {axes}},
    {"Split", 13, {Move{"split", 1}}},
    {"Clip", 11, {Move{"min", 1}, Move{"max", 2}}},
    {"Pad", 11, {Move{"pads", 1}, Move{"value", 2}}},
    {"Slice", 10, {Move{"starts", 1}, Move{"ends", 2}, Move{"axes", 3}}},
    {"Dropout", 12, {Move{"ratio", 1}}},
    {"TopK", 10, {Move{"k", 1}}},
    {"Softmax", 13},
    {"LogSoftmax", 13},
    {"Hardmax", 13},
    {"Upsample", 10},
    {"Resize", 11},
    {"Mish", 18},
    {"Gelu", 20},
    {"GroupNormalization", 21},
    {"RMSNormalization", 23},
});

const Change* change_of(const Node& node) {
  if (!node.op.domain.empty()) return nullptr;
  auto at = std::ranges::find(changes, node.op.type, &Change::type);
  return at == changes.end() ? nullptr : &*at;
}

bool moves_anything(const Change& change) {
  return !change.moves[0].attribute.empty();
}

TensorData as_tensor(const AttributeValue& value) {
  if (auto* v = std::get_if<float>(&value)) return TensorData::scalar(*v);
  if (auto* v = std::get_if<int64_t>(&value)) return TensorData::i64({1}, std::span(v, 1));
  if (auto* v = std::get_if<std::vector<int64_t>>(&value))
    return TensorData::i64({static_cast<int64_t>(v->size())}, *v);
  return {};
}

bool is_softmax(const Node& node) {
  return node.op.type == "Softmax" || node.op.type == "LogSoftmax" || node.op.type == "Hardmax";
}

// Before set 13 it ran over all axes from `axis` on, by default 1; since then over `axis` alone, by default the last.
Result<Upgraded> upgrade_softmax(const Graph& graph, const Node& node) {
  Upgraded made{node.attributes, {}};
  if (node.inputs.empty() || !node.inputs[0])
    return input_error("node '{}' ({}) has no input", node.name, to_string(node.op));
  auto rank = static_cast<int64_t>(graph.at(node.inputs[0]).type.shape.size());
  auto axis = node.attributes.integer("axis", 1);
  if (axis < 0) axis += rank;
  if (axis != rank - 1)
    return input_error(
               "node '{}' ({}) runs over all axes from {} on, as in operator set {}: newer sets cannot say that",
               node.name, to_string(node.op), axis, node.version)
        .hint("flatten its input, or export the model for operator set 13 or newer");
  made.attributes.set("axis", axis);
  return made;
}

}  // namespace

int needed_opset(const std::vector<const Node*>& nodes) {
  int needed = 17;
  for (auto* node : nodes) {
    if (!node->op.domain.empty()) continue;
    needed = std::max(needed, node->version);
    auto* change = node->version == 0 ? change_of(*node) : nullptr;
    // The newest form of a node without such an input is the old one as well.
    if (change && (!moves_anything(*change) || node->inputs.size() > change->moves[0].input))
      needed = std::max(needed, change->since);
  }
  return needed;
}

Result<Upgraded> upgrade(const Graph& graph, const Node& node, int opset) {
  Upgraded made{node.attributes, {}};
  auto* change = change_of(node);
  if (!change || node.version == 0 || node.version >= change->since || opset < change->since) return made;
  if (is_softmax(node)) return upgrade_softmax(graph, node);
  if (!moves_anything(*change))
    return input_error("node '{}' ({}) is written for operator set {} and means something else in {}", node.name,
                       to_string(node.op), node.version, opset)
        .hint(fmt::format("export the model for operator set {} or newer", change->since));
  made.attributes = {};
  for (auto& [name, value] : node.attributes.entries()) {
    auto move = std::ranges::find(change->moves, name, &Move::attribute);
    if (move == change->moves.end()) {
      made.attributes.set(name, value);
    } else {
      auto tensor = as_tensor(value);
      if (tensor.empty())
        return input_error("node '{}' ({}): attribute '{}' is neither a number nor a list of integers", node.name,
                           to_string(node.op), name);
      made.added.push_back({move->input, name, std::move(tensor)});
    }
  }
  return made;
}

Result<Attributes> from_set_six(const OpName& op, const Attributes& attributes) {
  Attributes kept;
  for (auto& [name, value] : attributes.entries()) {
    if (name == "consumed_inputs" || name == "broadcast") continue;
    if (name == "axis" && attributes.find("broadcast")) continue;  // see axis_of_set_six
    if (name == "is_test") {
      if (attributes.integer("is_test", 0) == 0)
        return input_error("is in training mode (is_test = 0 of an operator set before 7), which is not supported")
            .hint("export the model for inference, for operator set 7 or newer");
      continue;
    }
    kept.set(name, value);
  }
  if (op.type == "BatchNormalization" && attributes.integer("spatial", 1) == 0)
    return input_error("normalises every element on its own (spatial = 0), which is not supported");
  return kept;
}

std::optional<int64_t> axis_of_set_six(const OpName& op, const Attributes& attributes) {
  if (op.type == "PRelu") return 1;
  if (!attributes.find("broadcast") || !attributes.find("axis")) return std::nullopt;
  return attributes.integer("axis", 0);
}

}  // namespace tessera::onnx
