#include <algorithm>
#include <ranges>

#include "graph/updates.hpp"
#include "ops/builder.hpp"
#include "train/steps.hpp"

namespace tessera::train {
namespace {

// The node that an optimizer of the command line is, with PyTorch's meanings.
struct Rule {
  OpName op;
  Attributes attributes;
  std::vector<std::string> states;  // how PyTorch calls them
};

Rule rule_of(const Options& options) {
  const auto& tuning = options.tuning;
  const float l2 = tuning.weight_decay.value_or(0);
  switch (options.optimizer.value_or(Optimizer::Sgd)) {
    case Optimizer::Sgd:
    case Optimizer::Momentum: {
      const float momentum = momentum_of(options);
      if (momentum == 0) {
        Rule plain{{"com.microsoft", "SGDOptimizer"}, {}, {}};
        if (l2 != 0) plain.attributes.set("weight_decay", l2);
        return plain;
      }
      return {{std::string(kPreview), "Momentum"},
              {{"alpha", momentum},
               {"beta", 1.0f},
               {"mode", std::string(tuning.nesterov ? "nesterov" : "standard")},
               {"norm_coefficient", l2}},
              {"momentum_buffer"}};
    }
    case Optimizer::Adagrad:
      return {{std::string(kPreview), "Adagrad"},
              {{"decay_factor", 0.0f}, {"epsilon", tuning.epsilon.value_or(1e-10f)}, {"norm_coefficient", l2}},
              {"sum"}};
    case Optimizer::Adam:
    case Optimizer::AdamW: {
      const bool decoupled = options.optimizer == Optimizer::AdamW;
      Rule adam{{"com.microsoft", "AdamWOptimizer"},
                {{"adam_mode", int64_t{0}},
                 {"alpha", tuning.beta1.value_or(0.9f)},
                 {"beta", tuning.beta2.value_or(0.999f)},
                 {"correct_bias", int64_t{1}},
                 {"epsilon", tuning.epsilon.value_or(1e-8f)},
                 {"weight_decay", decoupled ? tuning.weight_decay.value_or(0.01f) : 0.0f}},
                {"exp_avg", "exp_avg_sq"}};
      if (!decoupled && l2 != 0) adam.attributes.set("norm_coefficient", l2);
      return adam;
    }
  }
  return {};
}

}  // namespace

Result<void> add_updates(Program& program, const Options& options) {
  auto& graph = program.graph;
  const auto rule = rule_of(options);
  const auto& form = *update_form(rule.op);
  const auto rate = graph.add_tensor({"learning_rate",
                                      {DType::F32, {1}},
                                      Role::Constant,
                                      TensorData::scalar(learning_rate_of(options)).reshaped({1})});
  TensorId step;
  if (form.step >= 0) step = graph.add_tensor({"step", {DType::I64, {1}}, Role::Input, {}});
  // The backward pass ends with the first layers: their gradients have the others' updates to get home. Nothing hides
  // the end of the last update, which is least of the largest.
  std::vector<Parameter*> order;
  for (auto& parameter : program.parameters | std::views::reverse)
    if (parameter.accumulator) order.push_back(&parameter);
  std::ranges::stable_sort(order, {}, [&](Parameter* p) { return graph.at(p->weight).type.bytes().count; });
  for (auto* each : order) {
    auto& parameter = *each;
    const auto name = graph.at(parameter.weight).name;
    const auto type = graph.at(parameter.weight).type;
    Node node{.name = name + "_update", .op = rule.op, .attributes = rule.attributes, .phase = Phase::Optimizer};
    node.inputs = {rate};
    if (step) node.inputs.push_back(step);
    node.inputs.insert(node.inputs.end(), {parameter.weight, accumulated(graph, parameter.accumulator)});
    for (auto& state : rule.states)
      node.inputs.push_back(graph.add_tensor({name + "." + state, type, Role::Input, {}}));
    TRY(auto* op, ops::definition(graph, node));
    CHECK_OK(op->infer(ops::NodeContext{graph, node}));
    graph.add_node(std::move(node));
  }
  CHECK_OK(complete_updates(graph, {}));
  for (auto& node : graph.nodes())
    if (is_update(node))
      std::ranges::find(program.parameters, operands_of_update(node).weight, &Parameter::weight)->updated =
          operands_of_update(node).updated;
  return {};
}

}  // namespace tessera::train
