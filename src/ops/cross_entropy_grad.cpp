// The gradients of the cross-entropy losses with respect to the scores:
//
//   dScores = dLoss * weight[label] / sum of weights * (exp(log_prob) - onehot(label))       0 where the label is
//   ignored
#include <cmath>

#include "ops/arguments.hpp"
#include "ops/loss_attributes.hpp"
#include "ops/pointwise.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

bool normalized(const NodeContext& n) {
  return n.node.op.type == "NegativeLogLikelihoodLossGrad";
}

// (dY, log_prob, labels, [weights], [ignore_index], [bias]), or Deeploy's (log_prob, labels).
ClassOperands operands(const NodeContext& n) {
  if (n.node.op.domain.empty() && n.node.inputs.size() == 2) return {-1, 0, 1, 2, -1, -1};
  if (n.node.op.type.ends_with("InternalGrad")) return {0, 1, 2, 3, 4, 5};
  return {0, 1, 2, 3, -1, -1};
}

bool has(const NodeContext& n, int operand) {
  return operand >= 0 && n.has_input(static_cast<size_t>(operand));
}

struct Backward {
  ClassOperands at;
  LossAttributes loss;
  Lines scores;
};

Result<Backward> backward(const NodeContext& n) {
  auto at = operands(n);
  TRY(auto loss, loss_attributes(n, at.ignore));
  TRY(auto scores, class_lines(n, at));
  return Backward{at, loss, scores};
}

Result<std::vector<TensorType>> infer(const NodeContext& n) {
  auto at = operands(n);
  CHECK_OK(takes(n, at.dloss < 0 ? 2 : 3, at.bias >= 0 ? 6 : at.dloss < 0 ? 2 : 4));
  TRY(auto b, backward(n));
  if (has(n, at.dloss)) {
    CHECK_OK(is_float(n, 0));
    bool each = b.loss.reduction == LossReduction::None;
    CHECK_OK(each ? same_shape(n, 0, static_cast<size_t>(at.labels)) : one_element(n, 0));
  }
  if (has(n, at.bias)) CHECK_OK(same_shape(n, static_cast<size_t>(at.scores), static_cast<size_t>(at.bias)));
  return std::vector{n.input(static_cast<size_t>(at.scores)).type};
}

// Every element by itself. A mean divides by the weights of all labels, so there a tile sees all of them.
Result<TileMap> tile_map(const NodeContext& n) {
  TRY(auto b, backward(n));
  auto [samples, classes, inner] = b.scores;
  enum { Sample, Class, Inner };
  OperandMap scores{
      true, {samples, classes, inner}, {AxisMap::along(Sample), AxisMap::along(Class), AxisMap::along(Inner)}};
  OperandMap per_sample{true, {samples, inner}, {AxisMap::along(Sample), AxisMap::along(Inner)}};
  auto whole = [](int64_t elements) { return OperandMap{true, {elements}, {AxisMap::whole(elements)}}; };

  TileMap map{.dims = {{"sample", samples}, {"class", classes}, {"inner", inner}}};
  map.inputs.assign(n.node.inputs.size(), untouched());
  auto put = [&](int operand, OperandMap operand_map) {
    if (has(n, operand)) map.inputs[static_cast<size_t>(operand)] = std::move(operand_map);
  };
  if (!normalized(n)) put(b.at.scores, scores);
  put(b.at.labels, b.loss.reduction == LossReduction::Mean ? whole(samples * inner) : per_sample);
  put(b.at.dloss, b.loss.reduction == LossReduction::None ? per_sample : whole(1));
  put(b.at.weights, whole(classes));
  put(b.at.bias, scores);
  map.outputs = {scores};
  return map;
}

KernelCall kernel(const NodeContext& n, const TileSymbols& tile) {
  auto b = backward(n).value();  // infer has seen it
  std::vector<KernelCall::Field> fields;
  auto put = [&](const char* name, int operand) {
    if (has(n, operand)) fields.push_back(input_field(name, operand));
  };
  put("dloss", b.at.dloss);
  if (!normalized(n)) put("log_prob", b.at.scores);
  put("labels", b.at.labels);
  put("weights", b.at.weights);
  put("bias", b.at.bias);
  fields.push_back(output_field("dx", 0));
  auto& box = tile.box;
  for (auto& field : std::vector<KernelCall::Field>{{"samples", box.len[0]},
                                                    {"classes", box.len[1]},
                                                    {"inner", box.len[2]},
                                                    {"first_sample", box.lo[0]},
                                                    {"first_class", box.lo[1]},
                                                    {"first_inner", box.lo[2]},
                                                    {"all_samples", Expr(b.scores.outer)},
                                                    {"all_classes", Expr(b.scores.axis)},
                                                    {"all_inner", Expr(b.scores.inner)}})
    fields.push_back(field);
  for (auto& field : label_fields(n, b.at, b.loss, b.scores.axis)) fields.push_back(field);
  fields.push_back({"normalized", Expr(int{normalized(n)})});
  return {"ts_cross_entropy_grad", "cross_entropy", std::move(fields)};
}

double cycles(const NodeContext& n, std::span<const int64_t> tile, int cores) {
  auto labels = n.input(static_cast<size_t>(operands(n).labels)).type.elements();
  double each = 300 + (normalized(n) ? 30.0 : 140.0) * static_cast<double>(tile[1]);
  return team_cycles(tile[0] * tile[2], each, cores) + 8 * static_cast<double>(labels);
}

Result<std::vector<Array>> reference(const NodeContext& n, std::span<const Array> in) {
  TRY(auto b, backward(n));
  auto input = [&](int operand) { return has(n, operand) ? &in[static_cast<size_t>(operand)] : nullptr; };
  auto &labels = *input(b.at.labels), *weights = input(b.at.weights), *dloss = input(b.at.dloss);
  auto label_at = [&](int64_t i) { return counted_label(labels.v[static_cast<size_t>(i)], b.loss, b.scores.axis); };
  double divisor = 0;
  for (int64_t i = 0; i < b.scores.count(); ++i) divisor += label_weight(label_at(i), weights);
  if (b.loss.reduction != LossReduction::Mean) divisor = 1;

  Array dx = in[static_cast<size_t>(b.at.scores)];
  for (int64_t i = 0; i < b.scores.count(); ++i) {
    auto line = b.scores.line(dx.v, i);
    auto label = label_at(i);
    double d = !dloss ? 1 : dloss->v[dloss->v.size() == 1 ? 0 : static_cast<size_t>(i)];
    double scale = label ? d * label_weight(label, weights) / divisor : 0;
    for (int64_t c = 0; c < line.size; ++c)
      line[c] = label ? scale * ((normalized(n) ? 0 : std::exp(line[c])) - (c == *label)) : 0;
  }
  if (auto* bias = input(b.at.bias))
    for (size_t i = 0; i < dx.v.size(); ++i) dx.v[i] += bias->v[i];
  return std::vector{std::move(dx)};
}

constexpr Operator loss_grad(std::string_view domain, std::string_view type, std::string_view summary) {
  return {.domain = domain,
          .type = type,
          .summary = summary,
          .verified = "torch",
          .infer = infer,
          .reference = reference,
          .tile_map = tile_map,
          .kernel = kernel,
          .cycles = cycles};
}

}  // namespace

namespace defined {

const Operator SoftmaxCrossEntropyLossGrad =
    loss_grad("com.microsoft", "SoftmaxCrossEntropyLossGrad", "gradient of the scores from dY, log_prob, labels");
const Operator SoftmaxCrossEntropyLossInternalGrad =
    loss_grad("com.microsoft", "SoftmaxCrossEntropyLossInternalGrad", "the same, with ignore_index and bias as inputs");
const Operator SoftmaxCrossEntropyLossGradPlain =
    loss_grad("", "SoftmaxCrossEntropyLossGrad", "gradient of the mean loss from log_prob and labels (Deeploy)");
const Operator NegativeLogLikelihoodLossGrad =
    loss_grad("com.microsoft", "NegativeLogLikelihoodLossGrad", "gradient of log-probabilities from dY, X, labels");

}  // namespace defined
}  // namespace tessera::ops
