#include "train/lora.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "train/random.hpp"
#include "train/trainable.hpp"

namespace tessera::train {
namespace {

// "blocks.0.q.weight" -> "blocks.0.q"
std::string layer_of(const std::string& weight) {
  constexpr std::string_view suffix = ".weight";
  return weight.ends_with(suffix) ? weight.substr(0, weight.size() - suffix.size()) : weight;
}

bool is_product(const Node& node) {
  if (node.inputs.size() < 2 || !node.inputs[0] || !node.inputs[1]) return false;
  if (node.op == OpName{"com.microsoft", "FusedMatMul"})
    return node.attributes.integer("transBatchA", 0) == 0 && node.attributes.integer("transBatchB", 0) == 0;
  return node.op == OpName{"", "Gemm"} || node.op == OpName{"", "MatMul"};
}

// The matrix of weights that a linear layer multiplies by: as it lies, or transposed by the product or by a node of its
// own (PyTorch writes one where it folds nothing). y = x W has it second, y = W x first.
struct Matrix {
  TensorId weight;
  bool first;      // the product's first operand
  bool out_first;  // lies as [out, in]
};

std::optional<Matrix> matrix_at(const Graph& graph, const Uses& uses, const Node& product, bool first) {
  auto transposed = product.attributes.integer(first ? "transA" : "transB", 0) != 0;
  Matrix m{product.inputs[first ? 0 : 1], first, transposed != first};
  if (graph.at(m.weight).type.shape.size() != 2) return std::nullopt;
  auto maker = [&] { return uses.producer[static_cast<size_t>(m.weight.index)]; };
  while (maker() != NodeId{}) {
    auto& node = graph.at(maker());
    if (!node.op.domain.empty() || (node.op.type != "Transpose" && node.op.type != "Identity")) return std::nullopt;
    if (node.op.type == "Transpose" && node.attributes.integers("perm").value_or(std::vector<int64_t>{1, 0})[0] == 1)
      m.out_first = !m.out_first;
    m.weight = node.inputs[0];
  }
  auto& weight = graph.at(m.weight);
  if (weight.role != Role::Parameter || weight.name.contains(".lora_")) return std::nullopt;
  return m;
}

std::optional<Matrix> matrix_of(const Graph& graph, const Uses& uses, const Node& product) {
  if (!is_product(product)) return std::nullopt;
  auto second = matrix_at(graph, uses, product, false);
  return second ? second : matrix_at(graph, uses, product, true);
}

class Lora {
 public:
  Lora(Graph& graph, const LoraOptions& options)
      : graph_(graph), uses_(graph), options_(options), random_(options.seed) {}

  Result<std::vector<TensorId>> run() {
    const size_t before = graph_.nodes().size();
    CHECK_OK(choose());
    std::vector<NodeId> order;
    for (size_t n = 0; n < before; ++n) {
      order.push_back(NodeId{static_cast<int32_t>(n)});
      if (auto at = chosen_.find(order.back()); at != chosen_.end()) {
        const size_t from = graph_.nodes().size();
        adapt(at->first, at->second);
        for (size_t added = from; added < graph_.nodes().size(); ++added)
          order.push_back(NodeId{static_cast<int32_t>(added)});
      }
    }
    graph_.keep_nodes(order);
    return std::move(made_);
  }

 private:
  Result<void> choose() {
    std::vector<std::string> layers;
    for (int32_t n = 0; n < static_cast<int32_t>(graph_.nodes().size()); ++n) {
      auto& node = graph_.at(NodeId{n});
      const auto matrix = matrix_of(graph_, uses_, node);
      if (!matrix) continue;
      layers.push_back(layer_of(graph_.at(matrix->weight).name));
      if (wanted(node, *matrix, layers.back())) chosen_.emplace(NodeId{n}, *matrix);
    }
    if (layers.empty())
      return input_error("the network has no Gemm or MatMul with a matrix of weights: there is nothing to adapt")
          .hint("train its parameters themselves, for example with --trainable last:2");
    if (chosen_.empty())
      return input_error("no linear layer is called '{}'", options_.layers)
          .hint(fmt::format("the linear layers are {}", fmt::join(layers, ", ")));
    return {};
  }

  bool wanted(const Node& node, const Matrix& matrix, const std::string& layer) const {
    const auto last = layer.substr(layer.rfind('.') + 1);
    std::string_view rest = options_.layers;
    while (!rest.empty()) {
      auto pattern = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), pattern.size() + 1));
      for (std::string_view name : {std::string_view(layer), std::string_view(last), std::string_view(node.name),
                                    std::string_view(graph_.at(matrix.weight).name)})
        if (matches(pattern, name)) return true;
    }
    return false;
  }

  struct Factors {
    TensorId down, up;
    bool out_first;
  };

  // The two factors lie as the matrix does, [out, in] or [in, out]. Layers that share a matrix share its adapter; one
  // that uses it the other way round goes through the factors the other way round.
  Factors adapter(const Matrix& m) {
    if (auto at = adapters_.find(m.weight); at != adapters_.end()) {
      auto [down, up, out_first] = at->second;
      return out_first == m.out_first ? at->second : Factors{up, down, m.out_first};
    }
    const auto shape = graph_.at(m.weight).type.shape;
    const int64_t in = shape[m.out_first ? 1 : 0], out = shape[m.out_first ? 0 : 1], rank = options_.rank;
    const float bound = 1.0f / std::sqrt(static_cast<float>(in));
    std::vector<float> values(static_cast<size_t>(rank * in));
    for (auto& v : values) v = random_.uniform() * bound;
    auto a = TensorData::f32(m.out_first ? Shape{rank, in} : Shape{in, rank}, values);
    auto b = TensorData::zeros({DType::F32, m.out_first ? Shape{out, rank} : Shape{rank, out}});
    const auto name = layer_of(graph_.at(m.weight).name);
    auto add = [&](const char* suffix, TensorData value) {
      auto type = value.type();
      made_.push_back(graph_.add_tensor({name + suffix, type, Role::Parameter, std::move(value)}));
      return made_.back();
    };
    auto first = add(".lora_A", std::move(a));
    return adapters_[m.weight] = {first, add(".lora_B", std::move(b)), m.out_first};
  }

  TensorId node(std::string name, OpName op, Attributes attributes, std::vector<TensorId> inputs, TensorId out) {
    graph_.add_node({.name = std::move(name),
                     .op = std::move(op),
                     .attributes = std::move(attributes),
                     .inputs = std::move(inputs),
                     .outputs = {out}});
    return out;
  }
  TensorId activation(std::string name, Shape shape) {
    return graph_.add_tensor({std::move(name), {DType::F32, std::move(shape)}, Role::Activation, {}});
  }

  // A product of the data and a factor, in the operands' order, with the factor turned as it must be.
  TensorId product(std::string name, const Node& layer, const Matrix& m, TensorId data, bool data_transposed,
                   TensorId factor, float scale, TensorId sum, TensorId out) {
    const bool turned = m.first ? !m.out_first : m.out_first;
    const int64_t data_trans = data_transposed, factor_trans = turned;
    Attributes attributes{{"transA", m.first ? factor_trans : data_trans},
                          {"transB", m.first ? data_trans : factor_trans}};
    if (scale != 1) attributes.set("alpha", scale);
    std::vector<TensorId> operands{data, factor};
    if (m.first) std::swap(operands[0], operands[1]);
    if (sum) operands.push_back(sum);
    const bool gemm = layer.op.type == "Gemm";
    return node(std::move(name), gemm ? OpName{"", "Gemm"} : OpName{"com.microsoft", "FusedMatMul"}, attributes,
                std::move(operands), out);
  }

  // The layer's own product gets another name; the sum takes its place.
  void adapt(NodeId id, const Matrix& matrix) {
    const Node layer = graph_.at(id);
    const auto factors = adapter(matrix);
    const auto type = graph_.at(layer.outputs[0]).type;
    auto base = activation(layer.name + ".base", type.shape);
    graph_.at(id).outputs[0] = base;
    auto narrow_shape = type.shape;
    narrow_shape[narrow_shape.size() - (matrix.first && narrow_shape.size() > 1 ? 2 : 1)] = options_.rank;
    auto narrow = activation(layer.name + ".lora", std::move(narrow_shape));
    const bool turned = layer.attributes.integer(matrix.first ? "transB" : "transA", 0) != 0;
    product(layer.name + ".lora_down", layer, matrix, layer.inputs[matrix.first ? 1 : 0], turned, factors.down, 1, {},
            narrow);
    const float scale = options_.alpha / static_cast<float>(options_.rank) * layer.attributes.real("alpha", 1);
    const auto up = layer.name + ".lora_up";
    if (layer.op.type == "Gemm") {
      product(up, layer, matrix, narrow, false, factors.up, scale, base, layer.outputs[0]);
      return;
    }
    auto wide = product(up, layer, matrix, narrow, false, factors.up, scale, {},
                        activation(layer.name + ".adapted", type.shape));
    node(layer.name + ".sum", {"", "Add"}, {}, {base, wide}, layer.outputs[0]);
  }

  Graph& graph_;
  const Uses uses_;  // of the graph as it came
  const LoraOptions& options_;
  Random random_;
  std::map<NodeId, Matrix> chosen_;
  std::map<TensorId, Factors> adapters_;  // by matrix
  std::vector<TensorId> made_;
};

}  // namespace

Result<std::vector<TensorId>> add_lora(Graph& graph, const LoraOptions& options) {
  if (options.rank < 1)
    return input_error("adapters of rank {}: the rank must be at least 1", options.rank).hint("for example lora:4");
  return Lora(graph, options).run();
}

}  // namespace tessera::train
