#include "ops/activation.hpp"

namespace tessera::ops {

Result<bool> fused_relu(const NodeContext& n) {
  auto name = n.node.attributes.text("activation", "");
  if (name == "Relu") return true;
  if (name.empty()) return false;
  return n.error(fmt::format("ends with {}, which no kernel does on its way out", name));
}

namespace {

// The parameters of an activation: a list, or one attribute each.
float parameter(const NodeContext& n, size_t i, const char* alone, float otherwise) {
  auto list = n.node.attributes.reals("activation_params");
  return list && i < list->size() ? (*list)[i] : n.node.attributes.real(alone, otherwise);
}

}  // namespace

Result<std::vector<TensorId>> without_activation(ExpandContext& e, OpName plain, size_t inputs, TensorId addend) {
  auto& build = e.build;
  NodeContext n{build.graph(), e.node};
  Attributes attributes, its_own;
  for (auto& [name, value] : e.node.attributes.entries())
    if (!name.starts_with("activation")) attributes.set(name, value);
  auto activation = e.node.attributes.text("activation", "");
  auto operands = e.node.inputs;
  if (operands.size() > inputs) operands.resize(inputs);
  auto name = build.name(e.node.outputs[0]);
  auto y = build.node(std::move(plain), operands, attributes, name + ".plain");
  if (addend) y = build.node({"", "Add"}, {y, addend}, {}, name + ".sum");
  if (activation.empty()) return std::vector{y};
  std::vector<TensorId> ends{y};
  if (activation == "LeakyRelu") its_own.set("alpha", parameter(n, 0, "activation_alpha", 0.01f));
  if (activation == "HardSigmoid") {
    its_own.set("alpha", parameter(n, 0, "activation_alpha", 0.2f));
    its_own.set("beta", parameter(n, 1, "activation_beta", 0.5f));
  }
  if (activation == "Clip") {
    ends.push_back(build.scalar(parameter(n, 0, "activation_alpha", -3.402823e38f), name + ".min"));
    ends.push_back(build.scalar(parameter(n, 1, "activation_beta", 3.402823e38f), name + ".max"));
  }
  const char* all[] = {"Relu", "Tanh", "Sigmoid", "LeakyRelu", "Clip", "HardSigmoid"};
  for (auto* known : all)
    if (activation == known)
      return std::vector{build.node({"", activation}, std::move(ends), std::move(its_own), name)};
  return n.error(fmt::format("activation is '{}'", activation))
      .hint("it is Relu, Tanh, Sigmoid, LeakyRelu, Clip or HardSigmoid");
}

}  // namespace tessera::ops
