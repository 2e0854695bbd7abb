// Plain gradient descent, in place: SGD(w, g, [lr]) of Deeploy and SGDOptimizer(lr, W, G) of ONNX Runtime.
#include "ops/arguments.hpp"
#include "ops/pointwise.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

struct Operands {
  int weight, grad, rate;  // rate -1: the attribute lr
};

Operands operands(const NodeContext& n) {
  if (n.node.op.type == "SGDOptimizer") return {1, 2, 0};
  return {0, 1, n.has_input(2) ? 2 : -1};
}

Result<std::vector<TensorType>> infer(const NodeContext& n) {
  bool runtime = n.node.op.type == "SGDOptimizer";
  CHECK_OK(takes(n, runtime ? 3 : 2, 3));
  auto at = operands(n);
  auto weight = static_cast<size_t>(at.weight);
  CHECK_OK(is_float(n, weight));
  CHECK_OK(is_float(n, weight + 1));
  CHECK_OK(same_shape(n, weight, weight + 1));
  if (at.rate >= 0) {
    CHECK_OK(is_float(n, static_cast<size_t>(at.rate)));
    CHECK_OK(one_element(n, static_cast<size_t>(at.rate)));
  } else if (!n.node.attributes.find("lr")) {
    return n.error("has no learning rate").hint("give the attribute lr, or a third input");
  }
  return std::vector{n.input(weight).type};
}

std::vector<Alias> aliases(const NodeContext& n) {
  return {{Alias::Kind::InPlace, operands(n).weight, 0}};
}

Result<TileMap> tile_map(const NodeContext& n) {
  auto at = operands(n);
  auto map = flat_space(n, count(n.in(static_cast<size_t>(at.weight))));
  if (at.rate >= 0) map.inputs[static_cast<size_t>(at.rate)].axes = {AxisMap::whole(1)};
  return map;
}

KernelCall kernel(const NodeContext& n, const TileSymbols& tile) {
  auto at = operands(n);
  std::vector<KernelCall::Field> fields{input_field("w", at.weight), input_field("g", at.grad), output_field("out", 0),
                                        flat_count(tile)};
  if (at.rate >= 0)
    fields.push_back(input_field("rate", at.rate));
  else
    fields.push_back({"fixed_rate", n.node.attributes.real("lr", 0)});
  return {"ts_sgd", "update", std::move(fields)};
}

double cycles(const NodeContext&, std::span<const int64_t> tile, int cores) {
  return team_cycles(tile[0], 8, cores);
}

Result<std::vector<Array>> reference(const NodeContext& n, std::span<const Array> in) {
  auto at = operands(n);
  double rate =
      at.rate >= 0 ? in[static_cast<size_t>(at.rate)].v[0] : static_cast<double>(n.node.attributes.real("lr", 0));
  Array w = in[static_cast<size_t>(at.weight)];
  auto& g = in[static_cast<size_t>(at.grad)].v;
  for (size_t i = 0; i < w.v.size(); ++i) w.v[i] -= rate * g[i];
  return std::vector{std::move(w)};
}

constexpr Operator descent(std::string_view domain, std::string_view type, std::string_view summary) {
  return {.domain = domain,
          .type = type,
          .summary = summary,
          .verified = "torch",
          .infer = infer,
          .reference = reference,
          .aliases = aliases,
          .tile_map = tile_map,
          .kernel = kernel,
          .cycles = cycles};
}

}  // namespace

namespace defined {

const Operator SGD = descent("", "SGD", "w - lr * g, in place; lr as attribute or input");
const Operator SGDMicrosoft = descent("com.microsoft", "SGD", "the same in ONNX Runtime's domain");
const Operator SGDOptimizer = descent("com.microsoft", "SGDOptimizer", "W - lr * G, in place, from lr, W, G");

}  // namespace defined
}  // namespace tessera::ops
