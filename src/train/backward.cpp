#include "train/backward.hpp"

#include "ops/builder.hpp"

namespace tessera::train {

namespace {

class Backward {
 public:
  Backward(Graph& graph, const std::vector<TensorId>& wanted)
      : graph_(graph), build_(graph), forward_(graph.nodes().size()) {
    grow();
    for (auto t : wanted) wanted_[index(t)] = needed_[index(t)] = true;
    for (auto& node : graph.nodes()) {
      bool depends = false;
      for (auto t : node.inputs) depends |= t && needed_[index(t)];
      for (auto t : node.outputs)
        if (t && depends) needed_[index(t)] = true;
      if (!depends) continue;
      for (auto t : node.inputs)
        if (t) ++pending_[index(t)];
    }
  }

  Result<void> run(TensorId loss, const std::function<Result<void>(TensorId, TensorId)>& ready) {
    if (!needed_[index(loss)]) return {};
    parts_[index(loss)].push_back(build_.scalar(1.0f, graph_.at(loss).name + "_grad"));
    for (size_t n = forward_; n-- > 0;) CHECK_OK(differentiate(graph_.nodes()[n], ready));
    return {};
  }

 private:
  static size_t index(TensorId t) { return static_cast<size_t>(t.index); }

  void grow() {
    auto n = graph_.tensors().size();
    needed_.resize(n);
    wanted_.resize(n);
    pending_.resize(n);
    parts_.resize(n);
  }

  // The parts are summed in the order in which the backward pass meets the consumers: last consumer first.
  TensorId total(TensorId t) {
    grow();
    auto& parts = parts_[index(t)];
    if (parts.empty()) return {};
    TensorId sum = parts[0];
    for (size_t i = 1; i < parts.size(); ++i)
      sum = build_.node({"", "Add"}, {sum, parts[i]}, {}, graph_.at(t).name + "_grad_sum");
    parts = {sum};
    return sum;
  }

  // By value: the graph's nodes move as new ones are added.
  Result<void> differentiate(Node node, const std::function<Result<void>(TensorId, TensorId)>& ready) {
    bool depends = false;
    for (auto t : node.inputs) depends |= t && needed_[index(t)];
    if (!depends) return {};
    std::vector<TensorId> d_outputs;
    bool reached = false;
    for (auto t : node.outputs) {
      d_outputs.push_back(t ? total(t) : TensorId{});
      reached |= static_cast<bool>(d_outputs.back());
    }
    if (reached) CHECK_OK(propagate(node, std::move(d_outputs)));
    for (auto t : node.inputs) {
      if (!t || --pending_[index(t)] > 0 || !wanted_[index(t)]) continue;
      if (auto gradient = total(t)) CHECK_OK(ready(t, gradient));
    }
    return build_.status();
  }

  Result<void> propagate(const Node& node, std::vector<TensorId> d_outputs) {
    TRY(auto* op, ops::definition(graph_, node));
    if (!op->gradient)
      return input_error("node '{}' ({}): training through it is meaningless, it has no gradient", node.name,
                         to_string(node.op))
          .hint("freeze the parameters before it with --trainable, or take the node out of the network");
    ops::GradientContext context{build_, node, std::move(d_outputs), {}};
    for (auto t : node.inputs) context.wanted.push_back(t && needed_[index(t)]);
    TRY(auto gradients, op->gradient(context));
    CHECK_OK(build_.status());
    grow();
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (context.wanted[i] && i < gradients.size() && gradients[i])
        parts_[index(node.inputs[i])].push_back(gradients[i]);
    return {};
  }

  Graph& graph_;
  ops::Builder build_;
  size_t forward_;
  std::vector<bool> needed_, wanted_;         // by tensor
  std::vector<int> pending_;                  // consumers on needed paths that the pass has not met yet
  std::vector<std::vector<TensorId>> parts_;  // gradients so far, one a consumer
};

}  // namespace

Result<void> add_backward(Graph& graph, TensorId loss, const std::vector<TensorId>& wanted,
                          const std::function<Result<void>(TensorId, TensorId)>& ready) {
  return Backward(graph, wanted).run(loss, ready);
}

}  // namespace tessera::train
