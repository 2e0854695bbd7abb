#include <algorithm>
#include <cmath>

#include "ops/builder.hpp"
#include "ops/product.hpp"
#include "simplify/simplify.hpp"

namespace tessera::simplify {
namespace {

// Who makes a tensor for a single reader, and for nobody outside of the graph: only that may vanish.
class Producers {
 public:
  explicit Producers(const Graph& graph) : graph_(graph), uses_(graph) {}

  bool read_once(TensorId t) const {
    return t && uses_.consumers[static_cast<size_t>(t.index)].size() == 1 && !std::ranges::count(graph_.outputs, t);
  }
  // The node of that operator that makes the tensor for the given reader alone, or none.
  NodeId sole(TensorId t, std::initializer_list<std::string_view> types, const Node& reader) const {
    if (!read_once(t) || std::ranges::count(reader.inputs, t) != 1) return {};
    auto id = uses_.producer[static_cast<size_t>(t.index)];
    if (id.index < 0) return {};
    auto& node = graph_.at(id);
    bool fits = node.op.domain.empty() && std::ranges::count(types, node.op.type) && node.outputs.size() == 1;
    return fits && node.phase == reader.phase ? id : NodeId{};
  }

 private:
  const Graph& graph_;
  Uses uses_;
};

void keep_all_but(Graph& graph, const std::vector<bool>& dropped) {
  std::vector<NodeId> kept;
  for (int32_t n = 0; n < static_cast<int32_t>(graph.nodes().size()); ++n)
    if (static_cast<size_t>(n) >= dropped.size() || !dropped[static_cast<size_t>(n)]) kept.push_back(NodeId{n});
  graph.keep_nodes(kept);
}

// Relu of a Conv or Gemm comes with it.
void fuse_activations(Graph& graph) {
  Producers producers(graph);
  std::vector<bool> dropped(graph.nodes().size());
  for (int32_t n = 0; n < static_cast<int32_t>(graph.nodes().size()); ++n) {
    auto& relu = graph.at(NodeId{n});
    if (!(relu.op == OpName{"", "Relu"})) continue;
    auto id = producers.sole(relu.inputs[0], {"Conv", "Gemm"}, relu);
    if (id.index < 0) continue;
    auto& node = graph.at(id);
    node.op = {"com.microsoft", "Fused" + node.op.type};
    node.version = 0;
    node.attributes.set("activation", "Relu");
    node.outputs = relu.outputs;
    dropped[static_cast<size_t>(n)] = true;
  }
  keep_all_but(graph, dropped);
}

// The addend of an Add whose other operand is `t`.
TensorId other(const Node& add, TensorId t) {
  return add.inputs[0] == t ? add.inputs[1] : add.inputs[0];
}

// A bias, one element a channel: where it stands in the shape that it broadcasts to.
bool is_bias(const Shape& bias, const Shape& y, size_t axis) {
  if (bias.size() > y.size() || bias.size() + axis < y.size()) return false;
  auto at = axis - (y.size() - bias.size());
  for (size_t i = 0; i < bias.size(); ++i)
    if (bias[i] != (i == at ? y[axis] : 1)) return false;
  return true;
}

// MatMul + a bias a column is a Gemm over all rows; Conv + a bias a channel is a Conv with one.
class Biases {
 public:
  explicit Biases(Graph& graph) : graph_(graph), build_(graph), producers_(graph), count_(graph.nodes().size()) {}

  Result<void> run() {
    std::vector<NodeId> order;
    std::vector<bool> dropped(count_);
    for (int32_t n = 0; n < static_cast<int32_t>(count_); ++n) {
      auto first = static_cast<int32_t>(graph_.nodes().size());
      TRY(auto gone, visit(NodeId{n}));
      if (gone.index >= 0) {
        dropped[static_cast<size_t>(gone.index)] = true;
        for (auto made = first; made < static_cast<int32_t>(graph_.nodes().size()); ++made)
          order.push_back(NodeId{made});
      } else {
        order.push_back(NodeId{n});
      }
    }
    std::erase_if(order, [&](NodeId id) {
      return static_cast<size_t>(id.index) < count_ && dropped[static_cast<size_t>(id.index)];
    });
    graph_.keep_nodes(order);
    return {};
  }

 private:
  // The node that the nodes just appended replace, together with the Add; none where nothing changed.
  Result<NodeId> visit(NodeId id) {
    Node add = graph_.at(id);
    if (!(add.op == OpName{"", "Add"}) || add.inputs.size() != 2) return NodeId{};
    for (auto t : add.inputs) {
      auto of = producers_.sole(t, {"MatMul", "Conv"}, add);
      if (of.index < 0) continue;
      Node node = graph_.at(of);
      bool done = node.op.type == "Conv" ? conv(node, add, other(add, t)) : matmul(node, add, other(add, t));
      CHECK_OK(build_.status());
      if (done) return of;
    }
    return NodeId{};
  }

  TensorId reshaped(TensorId t, const Shape& shape, const std::string& name) {
    if (build_.type(t).shape == shape) return t;
    return build_.node({"", "Reshape"}, {t, build_.integers(shape, name + ".shape")}, {}, name);
  }

  // The last node made takes the place of the Add: what it makes is what the Add made.
  void becomes(const Node& add, TensorId made) {
    for (int32_t n = static_cast<int32_t>(count_); n < static_cast<int32_t>(graph_.nodes().size()); ++n)
      std::ranges::replace(graph_.at(NodeId{n}).outputs, made, add.outputs[0]);
  }

  bool matmul(const Node& node, const Node& add, TensorId bias) {
    auto p = ops::product(ops::NodeContext{graph_, node});
    auto& y = build_.type(add.outputs[0]).shape;
    if (!p.one_b() || p.a.vector || p.b.vector || build_.type(node.inputs[1]).shape.size() != 2) return false;
    if (y != p.out() || !is_bias(build_.type(bias).shape, y, y.size() - 1)) return false;
    Shape out = y, columns{p.n};
    auto name = graph_.at(add.outputs[0]).name;
    int64_t rows = count(p.batch) * p.m;
    auto a = reshaped(node.inputs[0], {rows, p.k}, name + ".rows");
    auto c = reshaped(bias, columns, name + ".bias");
    auto made = build_.node({"", "Gemm"}, {a, node.inputs[1], c}, {}, name + ".gemm");
    if (build_.status()) becomes(add, reshaped(made, out, name + ".view"));
    return true;
  }

  bool conv(const Node& node, const Node& add, TensorId bias) {
    Shape y = build_.type(add.outputs[0]).shape;
    if (node.inputs.size() != 2 || y != build_.type(node.outputs[0]).shape) return false;
    if (!is_bias(build_.type(bias).shape, y, 1)) return false;
    auto name = graph_.at(add.outputs[0]).name;
    auto b = reshaped(bias, {y[1]}, name + ".bias");
    becomes(add, build_.node({"", "Conv"}, {node.inputs[0], node.inputs[1], b}, node.attributes, name + ".conv"));
    return true;
  }

  Graph& graph_;
  ops::Builder build_;
  Producers producers_;
  size_t count_;
};

}  // namespace

Result<void> fuse(Graph& graph) {
  CHECK_OK(Biases(graph).run());
  fuse_activations(graph);
  return {};
}

// ---- batch normalisation

namespace {

std::vector<double> values(const Graph& graph, TensorId t) {
  std::vector<double> all;
  auto& data = graph.at(t).value;
  for (int64_t i = 0; i < data.type().elements(); ++i) all.push_back(data.at(i));
  return all;
}

void set_values(Graph& graph, TensorId t, const std::vector<double>& all) {
  std::vector<float> rounded(all.begin(), all.end());
  auto& tensor = graph.at(t);
  tensor.value = TensorData::f32(tensor.type.shape, rounded);
}

// y = (w.x + b - mean) * factor + shift, by output channel: w and b take it in.
void fold(Graph& graph, Node& conv, const Node& norm) {
  auto scale = values(graph, norm.inputs[1]), shift = values(graph, norm.inputs[2]);
  auto mean = values(graph, norm.inputs[3]), variance = values(graph, norm.inputs[4]);
  auto w = values(graph, conv.inputs[1]);
  bool biased = conv.inputs.size() > 2 && conv.inputs[2];
  auto b = biased ? values(graph, conv.inputs[2]) : std::vector<double>(scale.size());
  double epsilon = norm.attributes.real("epsilon", 1e-5f);
  auto each = w.size() / scale.size();
  for (size_t c = 0; c < scale.size(); ++c) {
    double factor = scale[c] / std::sqrt(variance[c] + epsilon);
    for (size_t i = 0; i < each; ++i) w[c * each + i] *= factor;
    b[c] = (b[c] - mean[c]) * factor + shift[c];
  }
  set_values(graph, conv.inputs[1], w);
  if (!biased) {
    conv.inputs.resize(3);
    conv.inputs[2] = norm.inputs[2];
  }
  set_values(graph, conv.inputs[2], b);
  conv.outputs = {norm.outputs[0]};
}

}  // namespace

void fold_batch_norms(Graph& graph) {
  Producers producers(graph);
  std::vector<bool> dropped(graph.nodes().size());
  for (int32_t n = 0; n < static_cast<int32_t>(graph.nodes().size()); ++n) {
    Node norm = graph.at(NodeId{n});
    if (!(norm.op == OpName{"", "BatchNormalization"}) || norm.outputs.size() != 1 || norm.inputs.size() != 5 ||
        norm.attributes.integer("training_mode", 0) != 0 || norm.attributes.integer("spatial", 1) != 1)
      continue;
    auto id = producers.sole(norm.inputs[0], {"Conv"}, norm);
    if (id.index < 0) continue;
    auto& conv = graph.at(id);
    auto known = [&](TensorId t) { return t && !graph.at(t).value.empty() && graph.at(t).role != Role::State; };
    bool biased = conv.inputs.size() > 2 && conv.inputs[2];
    auto changed = biased ? conv.inputs[2] : norm.inputs[2];
    if (!std::ranges::all_of(norm.inputs.begin() + 1, norm.inputs.end(), known) || !known(conv.inputs[1]) ||
        !known(changed) || !producers.read_once(conv.inputs[1]) || !producers.read_once(changed))
      continue;
    fold(graph, conv, norm);
    dropped[static_cast<size_t>(n)] = true;
  }
  keep_all_but(graph, dropped);
}

}  // namespace tessera::simplify
