// The cross-entropy losses: SoftmaxCrossEntropyLoss and NegativeLogLikelihoodLoss, as ONNX and as ONNX Runtime's
// training dialect write them. Scores are [samples, classes, inner] whatever their rank, labels [samples, inner].
#include <cmath>

#include "ops/arguments.hpp"
#include "ops/builder.hpp"
#include "ops/lines.hpp"
#include "ops/loss_attributes.hpp"
#include "ops/pointwise.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

// A one-output SoftmaxCrossEntropyLoss is the loss, except where a SoftmaxCrossEntropyLossGrad takes that output for
// log-probabilities (Deeploy).
bool gives_only_log_probabilities(const Graph& graph, const Node& node) {
  if (node.op.type != "SoftmaxCrossEntropyLoss" || node.outputs.size() != 1 || !node.outputs[0]) return false;
  for (auto& other : graph.nodes()) {
    if (other.op.type != "SoftmaxCrossEntropyLossGrad") continue;
    // (log_prob, labels), or (dY, log_prob, labels, ...)
    size_t at = other.op.domain.empty() && other.inputs.size() == 2 ? 0 : 1;
    if (at < other.inputs.size() && other.inputs[at] == node.outputs[0]) return true;
  }
  return false;
}

struct Forward {
  LossAttributes loss;
  Lines scores;              // [samples, classes, inner]
  int loss_at, log_prob_at;  // outputs; -1 where absent
};

bool normalized(const NodeContext& n) {
  return n.node.op.type == "NegativeLogLikelihoodLoss";
}

// Inputs: scores, labels, [weights], [ignore_index].
constexpr ClassOperands operands{.dloss = -1, .scores = 0, .labels = 1, .weights = 2, .ignore = 3, .bias = -1};

Result<Forward> forward(const NodeContext& n) {
  TRY(auto loss, loss_attributes(n, operands.ignore));
  TRY(auto scores, class_lines(n, operands));
  bool only_log_prob = gives_only_log_probabilities(n.graph, n.node);
  return Forward{loss, scores, only_log_prob || !n.has_output(0) ? -1 : 0,
                 only_log_prob     ? 0
                 : n.has_output(1) ? 1
                                   : -1};
}

Result<std::vector<TensorType>> infer(const NodeContext& n) {
  CHECK_OK(takes(n, 2, n.node.op.type.ends_with("Internal") ? 4 : 3));
  TRY(auto f, forward(n));
  TensorType log_prob{DType::F32, n.in(0)};
  TensorType loss{DType::F32, f.loss.reduction == LossReduction::None ? n.in(1) : Shape{}};
  if (gives_only_log_probabilities(n.graph, n.node)) return std::vector{log_prob};
  if (normalized(n)) return std::vector{loss};
  return std::vector{loss, log_prob};
}

// A reduced loss is a sum over samples and inner positions, in that order; a sample's classes stay together.
Result<TileMap> tile_map(const NodeContext& n) {
  TRY(auto f, forward(n));
  auto [samples, classes, inner] = f.scores;
  enum { Sample, Inner, Class };
  OperandMap scores{
      true, {samples, classes, inner}, {AxisMap::along(Sample), AxisMap::along(Class), AxisMap::along(Inner)}};
  OperandMap per_sample{true, {samples, inner}, {AxisMap::along(Sample), AxisMap::along(Inner)}};
  OperandMap one{true, {1}, {AxisMap::whole(1)}};
  OperandMap sums{true, {3}, {AxisMap::whole(3)}};  // struct ts_loss_sums
  bool reduced = f.loss.reduction != LossReduction::None;

  TileMap map{.dims = {{"sample", samples}, {"inner", inner}, {"class", classes, false}}};
  map.inputs = {scores, per_sample};
  for (size_t i = 2; i < n.node.inputs.size(); ++i) map.inputs.push_back(untouched());
  if (n.has_input(2)) map.inputs[2] = {true, {classes}, {AxisMap::along(Class)}};
  map.outputs.assign(n.node.outputs.size(), untouched());
  if (f.loss_at >= 0) map.outputs[0] = reduced ? one : per_sample;
  if (f.log_prob_at >= 0) map.outputs[static_cast<size_t>(f.log_prob_at)] = scores;
  if (f.loss_at >= 0 && reduced) map.scratch = {{DType::F32, per_sample}, {DType::F32, sums}};
  return map;
}

KernelCall kernel(const NodeContext& n, const TileSymbols& tile) {
  auto f = forward(n).value();  // infer has seen it
  std::vector<KernelCall::Field> fields{input_field("x", 0), input_field("labels", 1)};
  if (n.has_input(2)) fields.push_back(input_field("weights", 2));
  if (f.loss_at >= 0) fields.push_back(output_field("loss", f.loss_at));
  if (f.log_prob_at >= 0) fields.push_back(output_field("log_prob", f.log_prob_at));
  if (f.loss_at >= 0 && f.loss.reduction != LossReduction::None) {
    fields.push_back(scratch_field("terms", 0));
    fields.push_back(scratch_field("sums", 1));
    fields.push_back({"first", tile.first[0]});
    fields.push_back({"last", tile.last[0]});
  }
  fields.push_back({"samples", tile.box.len[0]});
  fields.push_back({"inner", tile.box.len[1]});
  fields.push_back({"classes", tile.box.len[2]});
  for (auto& field : label_fields(n, operands, f.loss, f.scores.axis)) fields.push_back(field);
  fields.push_back({"normalized", Expr(int{normalized(n)})});
  return {"ts_cross_entropy", "cross_entropy", std::move(fields)};
}

double cycles(const NodeContext& n, std::span<const int64_t> tile, int cores) {
  int64_t samples = tile[0] * tile[1];
  double each = normalized(n) ? 60 : 500 + 190 * static_cast<double>(tile[2]);
  return team_cycles(samples, each, cores) + 12 * static_cast<double>(samples);
}

Result<std::vector<Array>> reference(const NodeContext& n, std::span<const Array> in) {
  TRY(auto f, forward(n));
  Array log_prob = in[0], losses{DType::F32, in[1].shape, {}};
  double sum = 0, weights = 0;
  for (int64_t i = 0; i < f.scores.count(); ++i) {
    auto line = f.scores.line(log_prob.v, i);
    double most = -INFINITY, total = 0;
    for (int64_t c = 0; c < line.size; ++c) most = std::max(most, line[c]);
    for (int64_t c = 0; c < line.size; ++c) total += std::exp(line[c] - most);
    for (int64_t c = 0; c < line.size && !normalized(n); ++c) line[c] -= most + std::log(total);
    auto label = counted_label(in[1].v[static_cast<size_t>(i)], f.loss, line.size);
    double weight = label_weight(label, n.has_input(2) ? &in[2] : nullptr);
    losses.v.push_back(label ? -weight * line[*label] : 0);
    sum += losses.v.back();
    weights += weight;
  }
  bool mean = f.loss.reduction == LossReduction::Mean;
  Array loss{DType::F32, {}, {mean ? sum / weights : sum}};
  if (f.loss.reduction == LossReduction::None) loss = losses;
  if (f.loss_at < 0 && n.node.outputs.size() == 1) return std::vector{log_prob};
  return std::vector{loss, log_prob};
}

Result<std::vector<TensorId>> gradient(GradientContext& g) {
  std::vector<TensorId> d(g.node.inputs.size());
  if (!g.wanted[0]) return d;
  auto& build = g.build;
  NodeContext n{build.graph(), g.node};
  TRY(auto f, forward(n));
  auto name = build.name(g.node.inputs[0]) + "_grad";
  bool two = g.d_outputs.size() > 1 && g.d_outputs[1];
  // The forward node keeps its log-probabilities for the gradient.
  auto scores = normalized(n) ? g.node.inputs[0] : build.output(g.node, 1, build.type(g.node.inputs[0]), "log_prob");
  if (g.d_outputs[0]) {
    std::vector<TensorId> inputs{g.d_outputs[0], scores, g.node.inputs[1]};
    if (n.has_input(2)) inputs.push_back(g.node.inputs[2]);
    Attributes attributes{{"reduction", reduction_name(f.loss.reduction)}};
    if (f.loss.ignore) attributes.set("ignore_index", *f.loss.ignore);
    auto type = normalized(n) ? "NegativeLogLikelihoodLossGrad" : "SoftmaxCrossEntropyLossGrad";
    d[0] = build.node({"com.microsoft", type}, std::move(inputs), std::move(attributes), two ? name + ".loss" : name);
  }
  if (two) {
    auto through = build.node({"com.microsoft", "LogSoftmaxGrad_13"}, {g.d_outputs[1], scores}, {{"axis", int64_t{1}}},
                              d[0] ? name + ".log_prob" : name);
    d[0] = d[0] ? build.node({"", "Add"}, {d[0], through}, {}, name) : through;
  }
  CHECK_OK(build.status());
  return d;
}

constexpr Operator loss(std::string_view domain, std::string_view type, std::string_view summary, int since) {
  return {.domain = domain,
          .type = type,
          .since = since,
          .summary = summary,
          .verified = "onnx, torch",
          .infer = infer,
          .reference = reference,
          .gradient = gradient,
          .tile_map = tile_map,
          .kernel = kernel,
          .cycles = cycles};
}

}  // namespace

namespace defined {

const Operator SoftmaxCrossEntropyLoss = loss(
    "", "SoftmaxCrossEntropyLoss", "loss and log-probabilities of scores (weights, ignore_index, all reductions)", 12);
const Operator SoftmaxCrossEntropyLossInternal =
    loss("com.microsoft", "SoftmaxCrossEntropyLossInternal", "SoftmaxCrossEntropyLoss with ignore_index as input", 1);
const Operator NegativeLogLikelihoodLoss =
    loss("", "NegativeLogLikelihoodLoss", "loss of log-probabilities (weights, ignore_index, all reductions)", 12);

}  // namespace defined
}  // namespace tessera::ops
