#include "train/build.hpp"

#include <algorithm>

#include "ops/builder.hpp"
#include "simplify/simplify.hpp"
#include "train/adopt.hpp"
#include "train/backward.hpp"
#include "train/batch_norm.hpp"
#include "train/chance.hpp"
#include "train/lora.hpp"
#include "train/steps.hpp"
#include "train/trainable.hpp"

namespace tessera::train {

GraphKind kind_of(const Graph& graph) {
  bool accumulates = false, optimizes = false;
  for (auto& node : graph.nodes()) {
    accumulates |= is_accumulator(node);
    optimizes |= is_update(node);
  }
  return optimizes ? GraphKind::Complete : accumulates ? GraphKind::Training : GraphKind::Inference;
}

namespace {

std::vector<Parameter> frozen_parameters(const Graph& graph) {
  std::vector<Parameter> all;
  for (int32_t i = 0; i < static_cast<int32_t>(graph.tensors().size()); ++i)
    if (graph.at(TensorId{i}).role == Role::Parameter) all.push_back({.weight = TensorId{i}});
  return all;
}

// PyTorch's losses between an output and a target of its shape, as operators.
std::string_view elementwise_loss(Loss loss) {
  switch (loss) {
    case Loss::L1:
      return "L1Loss";
    case Loss::Huber:
      return "HuberLoss";
    case Loss::Bce:
      return "BCELoss";
    case Loss::BceLogits:
      return "BCEWithLogitsLoss";
    default:
      return "MSELoss";
  }
}

void pass_rounding(Graph& graph) {
  for (int32_t n = 0; n < static_cast<int32_t>(graph.nodes().size()); ++n)
    for (auto* rounds : {"Round", "Floor", "Ceil"})
      if (auto& node = graph.at(NodeId{n}); node.op == OpName{"", rounds})
        node.attributes.set("straight_through", int64_t{1});
}

// The truth comes in as one more input: class indices beside the scores' batch axes, or a target like the output.
Result<void> add_loss(Program& program, Loss loss) {
  auto& graph = program.graph;
  auto scores = graph.outputs[0];
  auto& type = graph.at(scores).type;
  if (type.dtype != DType::F32)
    return input_error("output '{}' is {}: a loss needs float scores", graph.at(scores).name, name_of(type.dtype));
  ops::Builder build(graph);
  if (loss == Loss::CrossEntropy || loss == Loss::Nll) {
    if (type.shape.size() < 2)
      return input_error("output '{}' is {}: {} needs scores [batch, classes, ...]", graph.at(scores).name,
                         to_string(type), name_of(loss))
          .hint("--loss mse takes an output of any shape");
    Shape labels{type.shape[0]};
    labels.insert(labels.end(), type.shape.begin() + 2, type.shape.end());
    program.label = graph.add_tensor({"label", {DType::I64, labels}, Role::Input, {}});
    const bool logarithms = loss == Loss::Nll;
    program.loss =
        build.node({"", logarithms ? "NegativeLogLikelihoodLoss" : "SoftmaxCrossEntropyLoss"}, {scores, program.label},
                   {{"reduction", std::string("mean")}}, "loss", logarithms ? 1 : 2)[0];
  } else {
    program.label = graph.add_tensor({"target", type, Role::Input, {}});
    program.loss = build.node({"com.microsoft", std::string(elementwise_loss(loss))}, {scores, program.label},
                              {{"reduction", std::string("mean")}}, "loss");
  }
  CHECK_OK(build.status());
  graph.inputs.push_back(program.label);
  return {};
}

Result<Program> typed_program(Graph graph, simplify::Compositions which) {
  CHECK_OK(verify(graph));
  CHECK_OK(simplify::simplify(graph, which));
  Program program{.graph = std::move(graph)};
  program.data = program.graph.inputs;
  program.parameters = frozen_parameters(program.graph);
  return program;
}

// Adapters are added where the choice is theirs.
Result<std::vector<TensorId>> prepare_trainable(Graph& graph, const Options& options) {
  const auto choice = options.trainable.value_or("all");
  TRY(auto rank, lora_rank(choice));
  if (!rank) {
    if (options.lora_alpha || options.lora_layers)
      return input_error("--lora-alpha and --lora-layers go with --trainable lora:RANK, not with '{}'", choice);
    return choose_trainable(graph, choice);
  }
  const LoraOptions lora{
      .rank = *rank, .alpha = options.lora_alpha.value_or(16.0f), .layers = options.lora_layers.value_or("*")};
  TRY(auto trainable, add_lora(graph, lora));
  if (auto rest = beside_lora(choice); !rest.empty()) {
    TRY(auto more, choose_trainable(graph, rest));
    trainable.insert(trainable.end(), more.begin(), more.end());
  }
  std::ranges::sort(trainable);
  const auto twice = std::ranges::unique(trainable);
  trainable.erase(twice.begin(), twice.end());
  return trainable;
}

// Large gradients go to their accumulators as soon as they are made: they need memory no longer, and work that needs
// little of it comes between the gradients of a layer.
void accumulate_at_once(Graph& graph) {
  constexpr Bytes kLarge(16 * 1024);
  std::vector<NodeId> order;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    NodeId id{static_cast<int32_t>(n)};
    auto& node = graph.at(id);
    auto place = order.end();
    if (is_accumulator(node) && graph.at(node.inputs[1]).type.bytes() >= kLarge)
      while (place != order.begin() && std::ranges::none_of(graph.at(place[-1]).outputs, [&](auto made) {
               return std::ranges::count(node.inputs, made) > 0;
             }))
        --place;
    order.insert(place, id);
  }
  graph.keep_nodes(order);
}

Result<Program> from_inference(Graph graph, const Options& options) {
  if (!options.loss)
    return input_error("'{}' is an inference graph: training it needs a loss", graph.name)
        .hint("for example --loss cross_entropy, or --loss mse");
  if (graph.outputs.empty()) return input_error("'{}' has no output to take a loss of", graph.name);
  TRY(auto program, typed_program(std::move(graph), simplify::Compositions::WithoutGradient));
  TRY(auto trainable, prepare_trainable(program.graph, options));
  if (options.batch_norm == BatchNorm::Train) train_batch_norms(program.graph);
  if (options.straight_through) pass_rounding(program.graph);
  program.parameters = frozen_parameters(program.graph);
  auto dropout_step = add_dropout_step(program.graph);
  CHECK_OK(add_loss(program, *options.loss));
  program.reset = add_reset_flag(program.graph);
  CHECK_OK(
      add_backward(program.graph, program.loss, trainable, [&](TensorId weight, TensorId gradient) -> Result<void> {
        auto& parameter = *std::ranges::find(program.parameters, weight, &Parameter::weight);
        TRY(parameter.accumulator, add_accumulator(program.graph, weight, gradient, program.reset));
        return {};
      }));
  accumulate_at_once(program.graph);
  program.graph.outputs = {program.loss};
  CHECK_OK(count_dropout_step(program.graph, dropout_step));
  CHECK_OK(add_updates(program, options));
  return program;
}

}  // namespace

std::vector<onnx::Trained> accumulated_weights(const Graph& graph) {
  std::vector<onnx::Trained> weights;
  for (auto& node : graph.nodes()) {
    if (!is_accumulator(node) || !node.inputs[0]) continue;
    auto& buffer = graph.at(node.inputs[0]);
    weights.push_back({buffer.name.substr(0, buffer.name.rfind("_grad")), buffer.type});
  }
  return weights;
}

Result<Program> inference_program(Graph graph) {
  TRY(auto program, typed_program(std::move(graph), simplify::Compositions::All));
  CHECK_OK(simplify::prune(program.graph));
  CHECK_OK(verify(program.graph));
  return program;
}

Result<Program> training_program(Graph graph, std::optional<Graph> optimizer_graph, const Options& options) {
  auto kind = kind_of(graph);
  CHECK_OK(check_tuning(options));
  if (kind != GraphKind::Inference && options.loss)
    return input_error("'{}' is a training graph and has its own loss: --loss {} contradicts it", graph.name,
                       name_of(*options.loss))
        .hint("leave --loss out, or give the inference graph");
  if (kind != GraphKind::Training && optimizer_graph)
    return input_error("--optimizer-graph goes with a training graph; '{}' {}", graph.name,
                       kind == GraphKind::Complete ? "holds its optimizer already" : "is an inference graph")
        .hint("leave --optimizer-graph out");
  auto program = kind == GraphKind::Inference ? from_inference(std::move(graph), options)
                                              : adopt(std::move(graph), std::move(optimizer_graph), options);
  if (!program) return program;
  CHECK_OK(simplify::simplify(program->graph));
  CHECK_OK(simplify::prune(program->graph));
  CHECK_OK(verify(program->graph));
  return program;
}

}  // namespace tessera::train
