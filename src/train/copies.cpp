#include "train/copies.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace tessera::train {

std::vector<std::string> part_copies(Graph& graph) {
  std::map<TensorId, TensorId> origin;  // of a copy: the tensor that the file stores
  std::map<TensorId, std::vector<std::string>> copies;
  std::vector<NodeId> kept;
  for (int32_t n = 0; n < static_cast<int32_t>(graph.nodes().size()); ++n) {
    auto& node = graph.at(NodeId{n});
    const bool copies_a_parameter = node.op == OpName{"", "Identity"} && node.inputs.size() == 1 && node.inputs[0] &&
                                    graph.at(node.inputs[0]).role == Role::Parameter &&
                                    std::ranges::count(graph.outputs, node.outputs[0]) == 0;
    if (!copies_a_parameter) {
      kept.push_back(NodeId{n});
      continue;
    }
    const auto from = node.inputs[0], to = node.outputs[0];
    graph.at(to).type = graph.at(from).type;
    graph.at(to).role = Role::Parameter;
    graph.at(to).value = graph.at(from).value;
    const auto known = origin.find(from);
    const auto stored = known == origin.end() ? from : known->second;
    origin[to] = stored;
    copies[stored].push_back(graph.at(to).name);
  }
  graph.keep_nodes(kept);
  std::vector<std::string> notes;
  for (auto& [stored, names] : copies)
    notes.push_back(fmt::format("'{}' stand{} in the file as {} of '{}', of equal value: each trains by itself",
                                fmt::join(names, "', '"), names.size() == 1 ? "s" : "",
                                names.size() == 1 ? "a copy" : "copies", graph.at(stored).name));
  return notes;
}

namespace {

bool transposed(const TensorData& a, const TensorData& b) {
  const auto rows = a.shape()[0], columns = a.shape()[1];
  const auto x = a.as<float>(), y = b.as<float>();
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      if (x[static_cast<size_t>(i * columns + j)] != y[static_cast<size_t>(j * rows + i)]) return false;
  // A matrix of one value is anything's twin.
  return std::ranges::any_of(x, [&](float value) { return value != x[0]; });
}

}  // namespace

std::vector<std::string> transposed_twins(const Graph& graph) {
  std::vector<const Tensor*> matrices;
  for (auto& tensor : graph.tensors())
    if (tensor.role == Role::Parameter && tensor.type.shape.size() == 2 && !tensor.value.empty())
      matrices.push_back(&tensor);
  std::vector<std::string> notes;
  for (auto* folded : matrices) {
    if (!folded->name.starts_with("onnx::")) continue;  // as PyTorch calls what it folded
    for (auto* other : matrices)
      if (other != folded && other->type.shape == Shape{folded->type.shape[1], folded->type.shape[0]} &&
          transposed(folded->value, other->value))
        notes.push_back(
            fmt::format("'{}' has the values of '{}', transposed, and trains by itself: if they are one "
                        "weight in the model, export it with do_constant_folding=False",
                        folded->name, other->name));
  }
  return notes;
}

}  // namespace tessera::train
