#include <algorithm>
#include <map>

#include "graph/updates.hpp"
#include "train/steps.hpp"

namespace tessera::train {
namespace {

class Completion {
 public:
  Completion(Graph& graph, std::optional<float> rate) : graph_(graph), rate_(rate) {}

  Result<void> run() {
    const auto count = static_cast<int32_t>(graph_.nodes().size());
    std::vector<NodeId> order;
    for (int32_t n = 0; n < count; ++n) {
      if (auto* form = update_form(graph_.at(NodeId{n}).op)) {
        CHECK_OK(complete(NodeId{n}, *form));
        order.insert(order.end(), counters_made_.begin(), counters_made_.end());
        counters_made_.clear();
      }
      order.push_back(NodeId{n});
    }
    graph_.keep_nodes(order);
    return {};
  }

 private:
  bool is_open(TensorId t) const { return graph_.at(t).role != Role::Activation; }
  TensorId input(NodeId id, int i) const {
    auto& list = graph_.at(id).inputs;
    return i >= 0 && static_cast<size_t>(i) < list.size() ? list[static_cast<size_t>(i)] : TensorId{};
  }

  Result<void> complete(NodeId id, const UpdateForm& form) {
    if (graph_.at(id).inputs.size() < static_cast<size_t>(form.weight + form.groups()) || !input(id, form.weight) ||
        !input(id, form.gradient))
      return input_error("node '{}' ({}): an update has a weight and a gradient", graph_.at(id).name,
                         to_string(graph_.at(id).op));
    CHECK_OK(set_rate(id));
    if (auto step = input(id, form.step); step && is_open(step))
      graph_.at(id).inputs[static_cast<size_t>(form.step)] = counter(step, form.first_step);
    if (auto signal = input(id, form.signal); signal && is_open(signal))
      graph_.at(id).inputs.resize(static_cast<size_t>(form.signal));  // nobody holds an update back here
    for (int s = 0; s < form.states; ++s) CHECK_OK(set_state(id, input(id, form.gradient + 1 + s)));
    name_outputs(id, form);
    return {};
  }

  Result<void> set_rate(NodeId id) {
    auto t = operands_of_update(graph_.at(id)).rate;
    if (!t) {
      if (rate_) graph_.at(id).attributes.set("lr", *rate_);
      return {};
    }
    auto& tensor = graph_.at(t);
    if (!is_open(t)) {
      if (!rate_) return {};
      return input_error("node '{}' computes its learning rate: --lr cannot replace it", graph_.at(id).name)
          .hint("leave --lr out");
    }
    if (rate_ || tensor.value.empty())
      tensor.value = TensorData::scalar(rate_.value_or(0.01f)).reshaped(tensor.type.shape);
    tensor.role = Role::Constant;
    std::erase(graph_.inputs, t);
    return {};
  }

  Result<void> set_state(NodeId id, TensorId t) {
    if (!t) return input_error("node '{}' ({}): a state is missing", graph_.at(id).name, to_string(graph_.at(id).op));
    auto& tensor = graph_.at(t);
    if (!is_open(t))
      return input_error("node '{}' ({}): its state '{}' is made by another node, so nothing would keep it",
                         graph_.at(id).name, to_string(graph_.at(id).op), tensor.name)
          .hint("a state must be an input or an initializer of the graph");
    tensor.role = Role::State;
    if (tensor.value.empty()) tensor.value = TensorData::zeros(tensor.type);
    std::erase(graph_.inputs, t);
    return {};
  }

  // The value that the file gives a step is how many there have been.
  TensorId counter(TensorId step, int64_t first) {
    auto [at, fresh] = counters_.try_emplace({step, first});
    if (!fresh) return at->second;
    const bool taken = graph_.at(step).role == Role::State;
    const auto type = graph_.at(step).type;
    const int64_t done = graph_.at(step).value.empty() ? 0 : static_cast<int64_t>(graph_.at(step).value.at(0));
    const int64_t before = done + first - 1;
    auto value = TensorData::i64(type.shape, std::span(&before, 1));
    auto counted = step;
    if (taken) {
      counted = graph_.add_tensor({graph_.at(step).name, {DType::I64, type.shape}, Role::State, value});
    } else {
      graph_.at(step) = {graph_.at(step).name, {DType::I64, type.shape}, Role::State, value};
      std::erase(graph_.inputs, step);
    }
    at->second = graph_.add_tensor({graph_.at(counted).name + ".now", {DType::I64, type.shape}, Role::Activation, {}});
    Node node{.name = graph_.at(counted).name + ".count", .op = {"org.tessera", "Increment"}};
    node.inputs = {counted};
    node.outputs = {at->second};
    node.phase = Phase::Optimizer;
    counters_made_.push_back(graph_.add_node(std::move(node)));
    return at->second;
  }

  void name_outputs(NodeId id, const UpdateForm& form) {
    auto outputs = graph_.at(id).outputs;
    const auto first = static_cast<size_t>(form.updated), count = static_cast<size_t>(1 + form.states);
    outputs.resize(first + count);
    if (form.flag >= 0) outputs[static_cast<size_t>(form.flag)] = TensorId{};
    for (size_t i = 0; i < count; ++i) {
      if (outputs[first + i]) continue;
      auto from = input(id, i == 0 ? form.weight : form.gradient + static_cast<int>(i));
      outputs[first + i] =
          graph_.add_tensor({graph_.at(from).name + "_updated", graph_.at(from).type, Role::Activation, {}});
    }
    graph_.at(id).outputs = std::move(outputs);
  }

  Graph& graph_;
  std::optional<float> rate_;
  std::map<std::pair<TensorId, int64_t>, TensorId> counters_;  // by step and where it begins
  std::vector<NodeId> counters_made_;
};

}  // namespace

Result<void> complete_updates(Graph& graph, std::optional<float> rate) {
  return Completion(graph, rate).run();
}

}  // namespace tessera::train
