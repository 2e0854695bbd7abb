#include "support/gradient_check.hpp"

#include <cmath>

#include "ops/builder.hpp"

namespace tessera::test {
namespace {

ops::Array random_array(const TensorType& type, std::mt19937& rng) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  ops::Array a{type.dtype, type.shape, {}};
  for (int64_t i = 0; i < type.elements(); ++i)
    a.v.push_back(type.dtype == DType::F32 ? uniform(rng) : static_cast<double>(rng() % 4));
  return a;
}

// The scalar whose gradient is checked: all outputs, each weighted by what is handed to the gradient.
Result<double> objective(const OneNode& n, std::span<const ops::Array> inputs, std::span<const ops::Array> weights) {
  TRY(auto values, ops::evaluate(n.graph, inputs));
  double sum = 0;
  for (size_t o = 0; o < weights.size(); ++o)
    for (size_t i = 0; i < weights[o].v.size(); ++i)
      sum += weights[o].v[i] * values[static_cast<size_t>(n.graph.outputs[o].index)].v[i];
  return sum;
}

Result<double> quotient(const OneNode& n, std::vector<ops::Array> inputs, std::span<const ops::Array> weights, size_t i,
                        size_t element) {
  const double h = 1e-5;
  double at = inputs[i].v[element];
  inputs[i].v[element] = at + h;
  TRY(double above, objective(n, inputs, weights));
  inputs[i].v[element] = at - h;
  TRY(double below, objective(n, inputs, weights));
  return (above - below) / (2 * h);
}

Result<std::string> compare(const OneNode& n, std::vector<ops::Array> inputs, std::vector<bool> wanted,
                            std::mt19937& rng, double tolerance, std::vector<bool> depends) {
  if (!n.status) return std::unexpected(n.status.error());
  Graph graph = n.graph;
  Node node = graph.at(n.node);
  std::vector<ops::Array> weights, all = inputs;
  std::vector<TensorId> d_outputs;
  for (size_t o = 0; o < node.outputs.size(); ++o) {
    auto type = graph.at(node.outputs[o]).type;
    bool used = depends.empty() ? type.dtype == DType::F32 : depends[o];
    weights.push_back(used ? random_array(type, rng) : ops::Array{});
    d_outputs.push_back(used ? graph.add_tensor({"d_output", type, Role::Input, {}}) : TensorId{});
    if (!used) continue;
    graph.inputs.push_back(d_outputs.back());
    all.push_back(weights.back());
  }
  ops::Builder build(graph);
  TRY(auto* op, ops::definition(graph, node));
  if (!op->gradient) return std::string("the operator has no gradient");
  ops::GradientContext context{build, node, d_outputs, wanted};
  TRY(auto gradients, op->gradient(context));
  CHECK_OK(verify(graph));
  TRY(auto values, ops::evaluate(graph, all));
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i]) continue;
    if (!gradients[i]) return fmt::format("input {} has no gradient", i);
    auto& got = values[static_cast<size_t>(gradients[i].index)];
    size_t g = 0;  // among the graph's inputs
    while (n.graph.inputs[g] != node.inputs[i]) ++g;
    if (got.shape != inputs[g].shape)
      return fmt::format("the gradient of input {} has the shape {}, not {}", i, to_string(got.shape),
                         to_string(inputs[g].shape));
    size_t elements = inputs[g].v.size();
    for (size_t k = 0; k < std::min<size_t>(elements, 64); ++k) {
      size_t e = elements <= 64 ? k : rng() % elements;
      TRY(double slope, quotient(n, inputs, weights, g, e));
      if (!(std::abs(got.v[e] - slope) <= tolerance * std::max(1.0, std::abs(slope))))
        return fmt::format("input {} element {}: the gradient is {}, the slope {}", i, e, got.v[e], slope);
    }
  }
  return std::string();
}

}  // namespace

std::vector<ops::Array> random_arrays(const OneNode& n, std::mt19937& rng) {
  std::vector<ops::Array> arrays;
  for (auto id : n.graph.inputs) arrays.push_back(random_array(n.graph.at(id).type, rng));
  return arrays;
}

std::vector<bool> differentiable(const OneNode& n) {
  std::vector<bool> wanted;
  for (auto id : n.graph.at(n.node).inputs)
    wanted.push_back(id && n.graph.at(id).role == Role::Input && n.graph.at(id).type.dtype == DType::F32);
  return wanted;
}

std::string gradient_failure(const OneNode& n, std::vector<ops::Array> inputs, std::vector<bool> wanted,
                             std::mt19937& rng, double tolerance, std::vector<bool> d_outputs) {
  auto text = compare(n, std::move(inputs), std::move(wanted), rng, tolerance, std::move(d_outputs));
  return text ? *text : text.error().text();
}

}  // namespace tessera::test
