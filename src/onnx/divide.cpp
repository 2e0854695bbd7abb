#include "onnx/divide.hpp"

namespace tessera::onnx {
namespace {

bool is_group(const UpdateForm& form, size_t operand) {
  const auto weight = static_cast<size_t>(form.weight);
  return operand >= weight && operand < weight + static_cast<size_t>(form.groups());
}

bool is_group_output(const UpdateForm& form, size_t output) {
  return static_cast<int>(output) >= form.updated && static_cast<int>(output) <= form.updated + form.states;
}

TensorId element(const std::vector<TensorId>& list, size_t i) {
  return i < list.size() ? list[i] : TensorId{};
}

}  // namespace

Result<OperandLists> group_inputs(const UpdateForm& form, const std::vector<TensorId>& flat) {
  const auto fixed = static_cast<size_t>(form.weight), groups = static_cast<size_t>(form.groups());
  if (flat.size() <= fixed || (flat.size() - fixed) % groups != 0)
    return input_error("has {} inputs; it takes {} and then {} for each weight", flat.size(), fixed, groups);
  const size_t weights = (flat.size() - fixed) / groups;
  OperandLists lists;
  for (size_t i = 0; i < fixed; ++i) lists.push_back({flat[i]});
  for (size_t g = 0; g < groups; ++g) {
    auto first = flat.begin() + static_cast<std::ptrdiff_t>(fixed + g * weights);
    lists.emplace_back(first, first + static_cast<std::ptrdiff_t>(weights));
  }
  return lists;
}

OperandLists group_outputs(const UpdateForm& form, size_t weights, const std::vector<TensorId>& flat) {
  OperandLists lists(static_cast<size_t>(1 + form.states));
  for (size_t i = 0; i < flat.size() && i / weights < lists.size(); ++i) lists[i / weights].push_back(flat[i]);
  return lists;
}

Result<std::vector<Node>> divide(const UpdateForm& form, const Node& whole, const OperandLists& inputs,
                                 const OperandLists& outputs) {
  const auto fixed = static_cast<size_t>(form.weight), groups = static_cast<size_t>(form.groups());
  if (inputs.size() < fixed + groups) return input_error("has {} inputs; it takes {}", inputs.size(), fixed + groups);
  const size_t weights = inputs[fixed].size();
  for (size_t g = fixed; g < fixed + groups; ++g)
    if (inputs[g].size() != weights)
      return input_error("has {} weights but {} of operand {}", weights, inputs[g].size(), g);
  std::vector<Node> nodes;
  for (size_t w = 0; w < weights; ++w) {
    Node node = whole;
    if (weights > 1) node.name = fmt::format("{}.{}", whole.name, w);
    node.inputs.clear();
    for (size_t i = 0; i < inputs.size(); ++i) node.inputs.push_back(element(inputs[i], is_group(form, i) ? w : 0));
    node.outputs.clear();
    for (size_t o = 0; o < outputs.size(); ++o) {
      const bool last = w + 1 == weights;
      node.outputs.push_back(is_group_output(form, o) ? element(outputs[o], w)
                             : last                   ? element(outputs[o], 0)
                                                      : TensorId{});
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace tessera::onnx
