#include "train/adopt.hpp"

#include <algorithm>
#include <map>

#include "ops/builder.hpp"
#include "simplify/simplify.hpp"
#include "train/steps.hpp"
#include "train/trainable.hpp"

namespace tessera::train {

namespace {

bool is_cross_entropy(const Node& node) {
  return node.op.type == "SoftmaxCrossEntropyLoss" || node.op.type == "SoftmaxCrossEntropyLossInternal";
}
bool is_loss(const Node& node) {
  return is_cross_entropy(node) || node.op.type.ends_with("Loss");
}

void erase_input(Graph& graph, TensorId t) {
  std::erase(graph.inputs, t);
}

// What a loss's gradient reads as log-probabilities: operand 1, or operand 0 in the form without dLoss.
TensorId log_probabilities(const Node& node) {
  if (!node.op.type.starts_with("SoftmaxCrossEntropyLoss") || !node.op.type.ends_with("Grad")) return {};
  return node.inputs.size() >= 3 ? node.inputs[1] : node.inputs[0];
}

// A one-output cross entropy is the loss, except where a gradient consumes it as log-probabilities (Deeploy): then it
// gets the loss as well, because a training run that does not know its loss cannot be trusted.
void complete_losses(Graph& graph) {
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    NodeId id{static_cast<int32_t>(n)};
    if (!is_cross_entropy(graph.at(id)) || graph.at(id).outputs.size() != 1) continue;
    auto only = graph.at(id).outputs[0];
    bool consumed =
        std::ranges::any_of(graph.nodes(), [&](const Node& other) { return log_probabilities(other) == only; });
    if (!consumed) continue;
    auto loss = graph.add_tensor({graph.at(only).name + "_loss", {}, Role::Activation, {}});
    graph.at(id).outputs = {loss, only};
    graph.at(id).op = {"", "SoftmaxCrossEntropyLoss"};
  }
}

// Told by the declared type; where the file declares none, a sum would have a reader.
bool gives_only_a_flag(const Graph& graph, const Node& accumulator) {
  if (accumulator.outputs.size() != 1 || !accumulator.outputs[0]) return false;
  auto only = accumulator.outputs[0];
  auto& type = graph.at(only).type;
  if (type.dtype == DType::Bool) return true;
  if (type != TensorType{} || accumulator.op.domain.empty()) return false;
  return std::ranges::none_of(graph.nodes(), [&](const Node& n) { return std::ranges::count(n.inputs, only) > 0; });
}

Result<void> adopt_accumulators(Program& program) {
  auto& graph = program.graph;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    NodeId id{static_cast<int32_t>(n)};
    if (!is_accumulator(graph.at(id))) continue;
    auto& node = graph.at(id);
    if (node.inputs.size() < 2 || !node.inputs[0] || !node.inputs[1])
      return input_error("node '{}' ({}): an accumulator has a buffer and a gradient", node.name, to_string(node.op));
    auto& buffer = graph.at(node.inputs[0]);
    if (buffer.role == Role::Activation)
      return input_error("node '{}' ({}): its buffer '{}' is made by another node, so nothing would keep the sum",
                         node.name, to_string(node.op), buffer.name)
          .hint("the buffer must be an input or an initializer of the graph");
    if (buffer.value.empty()) buffer.value = TensorData::zeros(buffer.type);
    buffer.role = Role::State;
    erase_input(graph, node.inputs[0]);
    auto reset = node.inputs.size() > 2 ? node.inputs[2] : TensorId{};
    if (reset && graph.at(reset).role != Role::Input)
      return input_error("node '{}' ({}): its reset flag '{}' is not an input of the graph", node.name,
                         to_string(node.op), graph.at(reset).name);
    if (reset && program.reset && reset != program.reset)
      return input_error("node '{}' ({}): two reset flags, '{}' and '{}'", node.name, to_string(node.op),
                         graph.at(program.reset).name, graph.at(reset).name);
    if (!program.reset) program.reset = reset ? reset : add_reset_flag(graph);
    // ONNX Runtime's only output may be the flag "updated"; the optimizer reads the sum, so it is named too.
    if (gives_only_a_flag(graph, graph.at(id))) {
      auto kept = graph.at(graph.at(id).inputs[0]);
      graph.at(graph.at(id).outputs[0]).type = {DType::Bool, {1}};
      auto sum = graph.add_tensor({kept.name + ".sum", kept.type, Role::Activation, {}});
      graph.at(id).outputs.push_back(sum);
    }
    auto& again = graph.at(id);
    again.inputs.resize(3);
    again.inputs[2] = program.reset;
  }
  return {};
}

// The optimizer's names for what the training graph made: the same name, or, for a gradient, the accumulator of the
// weight that the same update changes.
class OptimizerMerge {
 public:
  OptimizerMerge(Graph& training, const Graph& optimizer) : graph_(training), optimizer_(optimizer) {}

  Result<void> run() {
    for (auto& node : optimizer_.nodes()) {
      Node copy = node;
      copy.phase = Phase::Optimizer;
      copy.name = node.name;
      for (auto& input : copy.inputs) {
        if (!input) continue;
        TRY(input, map(node, input));
      }
      for (size_t o = 0; o < node.outputs.size(); ++o)
        if (node.outputs[o])
          copy.outputs[o] = made_[node.outputs[o]] = graph_.add_tensor(optimizer_.at(node.outputs[o]));
      while (std::ranges::any_of(graph_.nodes(), [&](auto& n) { return n.name == copy.name; }))
        copy.name += "_optimizer";
      graph_.add_node(std::move(copy));
    }
    return {};
  }

 private:
  Result<TensorId> map(const Node& node, TensorId theirs) {
    if (auto at = made_.find(theirs); at != made_.end()) return at->second;
    auto& tensor = optimizer_.at(theirs);
    auto ours = graph_.find_tensor(tensor.name);
    const auto operands = is_update(node) ? operands_of_update(node) : UpdateOperands{};
    const bool gradient = theirs == operands.gradient;
    // A gradient by its own name is that of one micro-batch: the optimizer means their sum.
    if (gradient && (!ours || graph_.at(ours).role == Role::Activation))
      if (auto buffer = buffer_of(node)) ours = buffer;
    if (ours && graph_.at(ours).role == Role::State) ours = accumulated(graph_, ours);
    const bool own = is_update(node) && theirs != operands.weight && !gradient;  // the rate, the step, a moment
    if (!ours && (own || !tensor.value.empty())) ours = graph_.add_tensor(tensor);
    if (!ours)
      return input_error("optimizer graph: node '{}' ({}) reads '{}', which the training graph does not have",
                         node.name, to_string(node.op), tensor.name)
          .hint("weights and accumulators must have the same names in both graphs");
    auto& found = graph_.at(ours);
    if (found.role == Role::Input && !tensor.value.empty()) {
      found.value = tensor.value;
      found.role = Role::Parameter;
      erase_input(graph_, ours);
    }
    return made_[theirs] = ours;
  }

  TensorId buffer_of(const Node& node) const {
    auto& weight = optimizer_.at(operands_of_update(node).weight).name;
    for (auto* suffix : {"_grad.accumulation.buffer", "_grad"})
      if (auto t = graph_.find_tensor(weight + suffix); t && graph_.at(t).role == Role::State) return t;
    return {};
  }

  Graph& graph_;
  const Graph& optimizer_;
  std::map<TensorId, TensorId> made_;  // the optimizer graph's tensors in the training graph
};

// Updates go to the optimizer's entry point, behind an accumulator each, whatever order the file had them in.
Result<void> split_updates(Program& program) {
  auto& graph = program.graph;
  if (std::ranges::none_of(graph.nodes(), is_update)) return {};
  auto count = graph.nodes().size();
  std::vector<std::vector<NodeId>> after(count);  // accumulators to stand right behind a node
  Uses uses(graph);
  for (size_t n = 0; n < count; ++n) {
    NodeId id{static_cast<int32_t>(n)};
    if (!is_update(graph.at(id))) continue;
    graph.at(id).phase = Phase::Optimizer;
    auto operands = operands_of_update(graph.at(id));
    const auto [weight, gradient] = std::pair(operands.weight, operands.gradient);
    auto producer = uses.producer[static_cast<size_t>(gradient.index)];
    if (producer.index < 0)
      return input_error("node '{}' ({}): its gradient '{}' is made by no node", graph.at(id).name,
                         to_string(graph.at(id).op), graph.at(gradient).name);
    if (is_accumulator(graph.at(producer))) continue;
    if (!program.reset) program.reset = add_reset_flag(graph);
    TRY(auto buffer, add_accumulator(graph, weight, gradient, program.reset));
    auto& inputs = graph.at(id).inputs;
    std::replace(inputs.begin(), inputs.end(), gradient, accumulated(graph, buffer));
    after[static_cast<size_t>(producer.index)].push_back(NodeId{static_cast<int32_t>(graph.nodes().size() - 1)});
  }
  std::vector<NodeId> order, updates;
  for (size_t n = 0; n < count; ++n) {
    NodeId id{static_cast<int32_t>(n)};
    (graph.at(id).phase == Phase::Optimizer ? updates : order).push_back(id);
    order.insert(order.end(), after[n].begin(), after[n].end());
  }
  order.insert(order.end(), updates.begin(), updates.end());
  graph.keep_nodes(order);
  return {};
}

// Weights that trained: their updates say which. One that is still a bare input has no value to start from.
Result<void> adopt_parameters(Program& program, const Options& options) {
  auto& graph = program.graph;
  auto weight_like = [&](TensorId t) -> Result<void> {
    auto& tensor = graph.at(t);
    if (tensor.value.empty())
      return input_error("weight '{}' has no initial value: the graph takes it as an input", tensor.name)
          .hint("give the values with --weights F.npz, by parameter name, or as initializers");
    tensor.role = Role::Parameter;
    erase_input(graph, t);
    return {};
  };
  std::map<TensorId, Parameter> found;
  for (auto& node : graph.nodes()) {
    if (!is_update(node)) continue;
    const auto [weight, gradient, rate, updated] = operands_of_update(node);
    CHECK_OK(weight_like(weight));
    if (found.contains(weight))
      return input_error("node '{}' ({}) updates '{}' a second time", node.name, to_string(node.op),
                         graph.at(weight).name);
    found[weight] = {.weight = weight, .accumulator = {}, .updated = updated};
    for (auto& other : graph.nodes())
      if (is_accumulator(other) && other.outputs.back() == gradient) found[weight].accumulator = other.inputs[0];
  }
  bool has_optimizer = !found.empty();
  for (auto& node : graph.nodes()) {
    if (has_optimizer || !is_accumulator(node)) continue;
    auto& buffer = graph.at(node.inputs[0]).name;
    auto weight = graph.find_tensor(buffer.substr(0, buffer.rfind("_grad")));
    if (!weight)
      return input_error("node '{}' ({}): no weight belongs to the accumulator '{}' by name", node.name,
                         to_string(node.op), buffer)
          .hint("name it <weight>_grad.accumulation.buffer, or give --optimizer-graph");
    CHECK_OK(weight_like(weight));
    found[weight] = {.weight = weight, .accumulator = node.inputs[0]};
  }
  for (int32_t i = 0; i < static_cast<int32_t>(graph.tensors().size()); ++i) {
    TensorId t{i};
    if (graph.at(t).role == Role::Parameter)
      program.parameters.push_back(found.contains(t) ? found[t] : Parameter{.weight = t});
  }
  return has_optimizer ? Result<void>{} : add_updates(program, options);
}

Result<void> find_loss(Program& program) {
  auto& graph = program.graph;
  const Node* loss = nullptr;
  for (auto& node : graph.nodes())
    if (is_loss(node) && (!loss || std::ranges::count(graph.outputs, node.outputs[0]))) loss = &node;
  if (loss) {
    program.loss = loss->outputs[0];
    if (graph.at(loss->inputs[1]).role == Role::Input) program.label = loss->inputs[1];
  } else {
    auto scalar = std::ranges::find_if(graph.outputs, [&](TensorId t) {
      return graph.at(t).type.dtype == DType::F32 && graph.at(t).type.elements() == 1;
    });
    if (scalar != graph.outputs.end()) program.loss = *scalar;
  }
  if (!program.loss)
    return input_error("'{}' is a training graph without a loss", graph.name)
        .hint("one of its outputs must be a float scalar, or come from a loss operator");
  return {};
}

// --trainable on a ready-made graph: what is not chosen loses its accumulator and its update, and dead code goes.
Result<void> restrict_to(Program& program, std::string_view choice) {
  if (choice == "all") return {};
  if (choice.starts_with("lora:"))
    return input_error("--trainable {}: adapters are added to an inference graph, and this is a training graph", choice)
        .hint("give the inference graph and --loss");
  auto& graph = program.graph;
  TRY(auto chosen, choose_trainable(graph, choice));
  std::vector<NodeId> kept;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    auto& node = graph.nodes()[n];
    bool dropped = std::ranges::any_of(program.parameters, [&](const Parameter& p) {
      bool frozen = std::ranges::find(chosen, p.weight) == chosen.end();
      return frozen && ((is_update(node) && operands_of_update(node).updated == p.updated) ||
                        (is_accumulator(node) && node.inputs[0] == p.accumulator));
    });
    if (!dropped) kept.push_back(NodeId{static_cast<int32_t>(n)});
  }
  graph.keep_nodes(kept);
  for (auto& p : program.parameters)
    if (std::ranges::find(chosen, p.weight) == chosen.end()) p.accumulator = p.updated = TensorId{};
  return {};
}

}  // namespace

Result<Program> adopt(Graph graph, std::optional<Graph> optimizer_graph, const Options& options) {
  Program program{.graph = std::move(graph)};
  CHECK_OK(verify(program.graph));
  complete_losses(program.graph);
  CHECK_OK(adopt_accumulators(program));
  if (optimizer_graph) CHECK_OK(OptimizerMerge(program.graph, *optimizer_graph).run());
  CHECK_OK(complete_updates(program.graph, options.learning_rate));
  CHECK_OK(simplify::simplify(program.graph));
  CHECK_OK(split_updates(program));
  CHECK_OK(adopt_parameters(program, options));
  CHECK_OK(find_loss(program));
  CHECK_OK(restrict_to(program, options.trainable.value_or("all")));
  CHECK_OK(simplify::simplify(program.graph));
  auto& loss = program.graph.at(program.loss);
  if (loss.type.dtype != DType::F32 || loss.type.elements() != 1)
    return input_error("loss '{}' is {}: a training run needs a float scalar", loss.name, to_string(loss.type));
  program.graph.outputs = {program.loss};
  for (auto t : program.graph.inputs)
    if (t != program.label && t != program.reset) program.data.push_back(t);
  return program;
}

}  // namespace tessera::train
