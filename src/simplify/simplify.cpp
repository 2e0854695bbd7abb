#include "simplify/simplify.hpp"

#include <algorithm>

#include "ops/builder.hpp"

namespace tessera::simplify {
namespace {

// A result that is larger than this and than what it is computed from (a vast Expand) is cheaper made than stored.
constexpr Bytes kWorthStoring = Bytes(4096);

class Pass {
 public:
  Pass(Graph& graph, Compositions which) : graph_(graph), which_(which) {}

  Result<void> run() {
    fix_compile_time_operands();
    auto count = static_cast<int32_t>(graph_.nodes().size());
    for (int32_t n = 0; n < count; ++n) CHECK_OK(visit(NodeId{n}));
    graph_.keep_nodes(kept_);
    return {};
  }

 private:
  void fix_compile_time_operands();
  Result<void> visit(NodeId id);
  Result<bool> expand(NodeId id, const ops::Operator& op);
  Result<bool> fold(NodeId id, const ops::Operator& op);
  bool known(const Node& node, const ops::Operator& op) const;

  Graph& graph_;
  Compositions which_;
  std::vector<NodeId> kept_;
};

// By tensor: how many operands read it, and how many of them at compile time.
void Pass::fix_compile_time_operands() {
  std::vector<int> reads(graph_.tensors().size()), fixed(graph_.tensors().size());
  for (auto& node : graph_.nodes()) {
    auto* op = ops::find(node.op, node.version);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i]) continue;
      auto t = static_cast<size_t>(node.inputs[i].index);
      ++reads[t];
      fixed[t] += op && i < 32 && (op->known >> i & 1u);
    }
  }
  for (size_t t = 0; t < reads.size(); ++t) {
    auto& tensor = graph_.at(TensorId{static_cast<int32_t>(t)});
    if (tensor.role == Role::Parameter && reads[t] > 0 && reads[t] == fixed[t]) tensor.role = Role::Constant;
  }
}

Result<void> Pass::visit(NodeId id) {
  TRY(auto* op, ops::definition(graph_, graph_.at(id)));
  CHECK_OK(ops::infer_types(graph_, id));
  TRY(bool folded, fold(id, *op));
  if (folded) return {};
  TRY(bool expanded, expand(id, *op));
  if (!expanded) kept_.push_back(id);
  return {};
}

bool Pass::known(const Node& node, const ops::Operator& op) const {
  if (op.of_types) return true;
  return std::ranges::all_of(node.inputs, [&](TensorId t) { return !t || graph_.at(t).role == Role::Constant; });
}

bool in_place(const ops::NodeContext& n, const ops::Operator& op) {
  if (!op.aliases) return false;
  return std::ranges::any_of(op.aliases(n), [](auto& a) { return a.kind == ops::Alias::Kind::InPlace; });
}

// The nodes of a composition take the place of the node, and what it made keeps its id: the tensors that stand for it
// give way. One that the composition only passes on gets a name of its own by an Identity.
Result<bool> Pass::expand(NodeId id, const ops::Operator& op) {
  if (!op.expand || (op.gradient && which_ == Compositions::WithoutGradient)) return false;
  Node node = graph_.at(id);
  auto first = static_cast<int32_t>(graph_.nodes().size());
  ops::Builder build(graph_, node.phase);
  ops::ExpandContext context{build, node};
  TRY(auto made, op.expand(context));
  CHECK_OK(build.status());
  if (made.empty()) return false;
  auto made_here = [&](TensorId t) {
    for (int32_t n = first; n < static_cast<int32_t>(graph_.nodes().size()); ++n)
      if (std::ranges::count(graph_.at(NodeId{n}).outputs, t)) return true;
    return false;
  };
  for (size_t o = 0; o < node.outputs.size(); ++o) {
    if (!node.outputs[o]) continue;
    bool shared = std::ranges::count(made, made[o]) > 1;
    if (shared || !made_here(made[o]))
      made[o] = build.node({"", "Identity"}, {made[o]}, {}, graph_.at(node.outputs[o]).name);
    CHECK_OK(build.status());
    if (build.type(made[o]) != build.type(node.outputs[o]))
      return internal_error("node '{}' ({}): its composition makes {} instead of {}", node.name, to_string(node.op),
                            to_string(build.type(made[o])), to_string(build.type(node.outputs[o])));
    for (int32_t n = first; n < static_cast<int32_t>(graph_.nodes().size()); ++n) {
      std::ranges::replace(graph_.at(NodeId{n}).inputs, made[o], node.outputs[o]);
      std::ranges::replace(graph_.at(NodeId{n}).outputs, made[o], node.outputs[o]);
    }
  }
  auto end = static_cast<int32_t>(graph_.nodes().size());
  for (int32_t n = first; n < end; ++n) CHECK_OK(visit(NodeId{n}));
  return true;
}

Result<bool> Pass::fold(NodeId id, const ops::Operator& op) {
  auto& node = graph_.at(id);
  ops::NodeContext context{graph_, node};
  if (!op.reference || !known(node, op) || in_place(context, op)) return false;
  Bytes read, made;
  for (auto t : node.inputs)
    if (t) read += graph_.at(t).type.bytes();
  for (auto t : node.outputs)
    if (t) made += graph_.at(t).type.bytes();
  bool can_run = op.tile_map || op.expand || ops::is_view(op);
  if (can_run && !op.of_types && made > std::max(read, kWorthStoring)) return false;

  std::vector<ops::Array> operands;
  for (auto t : node.inputs) {
    operands.push_back(t ? ops::array_of(graph_.at(t).value) : ops::Array{});
    if (t) operands.back().dtype = graph_.at(t).type.dtype, operands.back().shape = graph_.at(t).type.shape;
  }
  TRY(auto results, op.reference(context, operands));
  for (size_t o = 0; o < node.outputs.size(); ++o) {
    if (!node.outputs[o]) continue;
    auto& tensor = graph_.at(node.outputs[o]);
    tensor.value = ops::data_of(results[o]).reshaped(tensor.type.shape);
    tensor.role = Role::Constant;
  }
  return true;
}

}  // namespace

Result<void> simplify(Graph& graph, Compositions which) {
  return Pass(graph, which).run();
}

}  // namespace tessera::simplify
