#include "support/one_node.hpp"

#include <algorithm>
#include <stdexcept>

#include "ops/builder.hpp"

namespace tessera::test {

std::vector<ops::Array> reference(const Graph& graph, NodeId node, std::span<const TensorData> inputs) {
  std::vector<ops::Array> arrays;
  for (auto& data : inputs) arrays.push_back(ops::array_of(data));
  auto op = ops::definition(graph, graph.at(node));
  if (!op) throw std::runtime_error(op.error().text());
  auto made = (*op)->reference(ops::NodeContext{graph, graph.at(node)}, arrays);
  if (!made) throw std::runtime_error(made.error().text());
  return *std::move(made);
}

Operand f32(Shape shape) {
  return {{DType::F32, std::move(shape)}, {}};
}

Operand i64s(std::vector<int64_t> values) {
  Shape shape{static_cast<int64_t>(values.size())};
  return {{DType::I64, shape}, TensorData::i64(shape, values)};
}

OneNode one_node(OpName op, std::vector<Operand> operands, Attributes attributes, size_t outputs, int version) {
  OneNode made;
  Node node{.name = "node", .op = std::move(op), .version = version, .attributes = std::move(attributes)};
  for (auto& operand : operands) {
    auto role = operand.value.empty() ? Role::Input : Role::Constant;
    auto name = fmt::format("input{}", node.inputs.size());
    node.inputs.push_back(operand.absent ? TensorId{}
                                         : made.graph.add_tensor({name, operand.type, role, operand.value}));
    if (!operand.absent && role == Role::Input) made.graph.inputs.push_back(node.inputs.back());
  }
  for (size_t o = 0; o < outputs; ++o)
    node.outputs.push_back(made.graph.add_tensor({fmt::format("output{}", o), {}, Role::Activation, {}}));
  made.graph.outputs = node.outputs;
  made.node = made.graph.add_node(std::move(node));
  made.status = ops::infer_types(made.graph);
  return made;
}

std::vector<TensorData> random_inputs(const Graph& graph, NodeId node, std::mt19937& rng) {
  std::vector<TensorData> values;
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (auto id : graph.at(node).inputs) {
    if (!id) {
      values.emplace_back();
      continue;
    }
    auto& t = graph.at(id);
    if (!t.value.empty()) {
      values.push_back(t.value);
      continue;
    }
    std::vector<float> v(static_cast<size_t>(t.type.elements()));
    for (auto& x : v) x = t.type.dtype == DType::F32 ? uniform(rng) : static_cast<float>(rng() % 100);
    values.push_back(cast(TensorData::f32(t.type.shape, v), t.type.dtype));
  }
  return values;
}

int64_t random_extent(std::mt19937& rng, int64_t most) {
  auto pick = [&](int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, std::min(hi, most))(rng);
  };
  switch (rng() % 4) {
    case 0:
      return 1;
    case 1:
      return std::min(pick(0, most / 4) * 4 + 1, most);
    default:
      return pick(1, most);
  }
}

}  // namespace tessera::test
