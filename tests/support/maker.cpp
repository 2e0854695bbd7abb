#include "support/maker.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace tessera::test {

namespace {

constexpr int64_t most_elements = 400;

ops::Array array_of(const TensorData& data) {
  ops::Array a{data.type().dtype, data.shape(), {}};
  for (int64_t i = 0; i < data.type().elements(); ++i) a.v.push_back(data.at(i));
  return a;
}

// Neither so large nor so small that squares and cubes of it leave the floats.
bool ordinary(const ops::Array& a) {
  auto size = static_cast<int64_t>(a.v.size());
  double most = a.dtype == DType::F32 ? 20 : 1e6, least = 1e-9;
  return size > 0 && size <= most_elements && a.shape.size() <= 5 && std::ranges::all_of(a.v, [&](double v) {
           return v == 0 || (std::isfinite(v) && std::abs(v) <= most && std::abs(v) >= least);
         });
}

bool replaces(const ops::Operator& op, const ops::NodeContext& n) {
  if (!op.aliases) return false;
  return std::ranges::any_of(op.aliases(n), [](auto& a) { return a.kind == ops::Alias::Kind::InPlace; });
}

// A normalisation by the deviation alone makes whatever the mean was rounded by as large as it likes, where values are
// all but equal: no arithmetic in floats does that well.
bool well_posed(const ops::Operator& op, Graph graph, Node node, std::span<const ops::Array> operands) {
  if (op.type != "MeanVarianceNormalization") return true;
  constexpr size_t inv_std = 2;  // beyond what ONNX names, it gives its statistics
  auto types = op.infer({graph, node}).value();
  for (auto o = node.outputs.size(); o <= inv_std; ++o)
    node.outputs.push_back(graph.add_tensor({fmt::format("more{}", o), types[o], Role::Activation, {}}));
  return ordinary(op.reference({graph, node}, operands).value()[inv_std]);
}

// A composition passes gradients on by its parts.
bool passes_gradients(const ops::Operator& op) {
  return op.gradient || (op.expand && !op.tile_map);
}

}  // namespace

TensorId Maker::stage(Tensor tensor) {
  staged_.push_back(std::move(tensor));
  return TensorId{static_cast<int32_t>(forest.graph.tensors().size() + staged_.size()) - 1};
}

void Maker::keep_staged() {
  for (auto& tensor : std::exchange(staged_, {})) {
    values_.push_back(tensor.value.empty() ? ops::Array{} : array_of(tensor.value));
    rough_.push_back(false);
    auto role = tensor.role;
    auto id = forest.graph.add_tensor(std::move(tensor));
    if (role == Role::Parameter) forest.learned.push_back(id);
  }
}

TensorId Maker::fresh(Shape shape, float low, float high) {
  std::vector<float> v(static_cast<size_t>(count(shape)));
  for (auto& e : v) e = std::uniform_real_distribution<float>(low, high)(random_);
  auto data = TensorData::f32(std::move(shape), v);
  return stage({fmt::format("p{}", ++count_), data.type(), Role::Parameter, data});
}

TensorId Maker::fixed(Shape shape, float low, float high) {
  auto id = fresh(std::move(shape), low, high);
  staged_.back().role = Role::Constant;
  return id;
}

TensorId Maker::integers(std::vector<int64_t> values) {
  return constant(TensorData::i64({static_cast<int64_t>(values.size())}, values));
}

TensorId Maker::labels(Shape shape, int64_t classes, DType type) {
  std::vector<int64_t> v(static_cast<size_t>(count(shape)));
  for (auto& e : v) e = pick(std::max<int64_t>(classes, 1));
  return constant(cast(TensorData::i64(std::move(shape), v), type));
}

TensorId Maker::constant(TensorData data) {
  auto type = data.type();
  return stage({fmt::format("c{}", ++count_), std::move(type), Role::Constant, std::move(data)});
}

TensorId Maker::scalar(float value) {
  return constant(TensorData::scalar(value));
}

TensorId Maker::numbers(const std::vector<float>& values) {
  return constant(TensorData::f32({static_cast<int64_t>(values.size())}, values));
}

const Node* Maker::maker_of(TensorId t) const {
  for (auto& node : forest.graph.nodes())
    if (std::ranges::find(node.outputs, t) != node.outputs.end()) return &node;
  return nullptr;
}

TensorId Maker::any(DType type) {
  std::vector<TensorId> suit;
  for (auto t : pool_)
    if (forest.graph.at(t).type.dtype == type) suit.push_back(t);
  // Late ones are likelier: graphs grow deep.
  if (suit.empty()) return {};
  auto n = static_cast<int64_t>(suit.size());
  return suit[static_cast<size_t>(std::max(pick(n), pick(n)))];
}

TensorId Maker::ranked(int64_t least, int64_t most) {
  for (int tries = 0; tries < 8; ++tries)
    if (auto t = any(); t && rank(t) >= least && rank(t) <= most) return t;
  return {};
}

TensorId Maker::like(TensorId t) {
  auto type = tensor(t).type;
  std::vector<TensorId> suit;
  for (auto other : pool_)
    if (forest.graph.at(other).type == type) suit.push_back(other);
  if (!suit.empty() && pick(3)) return one_of(suit);
  if (type.dtype == DType::F32) return fresh(type.shape);
  return suit.empty() ? TensorId{} : one_of(suit);
}

TensorId Maker::broadcasting(TensorId t) {
  if (pick(3) == 0) return like(t);
  Shape s = shape(t);
  for (auto& extent : s)
    if (pick(3) == 0) extent = 1;
  s.erase(s.begin(), s.begin() + pick(static_cast<int64_t>(s.size()) + 1));
  return fresh(std::move(s));
}

void Maker::grow(int graphs) {
  for (int i = 0; i < graphs; ++i) one_graph();
  find_leaves();
}

bool Maker::grow(const ops::Operator& op) {
  for (int tries = 0; tries < 60; ++tries) {
    pool_.clear();
    for (int i = 0; i < 3; ++i) pool_.push_back(fresh(some_shape(static_cast<size_t>(i ? pick(5) : 2 + pick(3)))));
    auto shape = some_shape(static_cast<size_t>(pick(4)));
    for (auto [classes, type] : {std::pair{2, DType::Bool}, std::pair{4, DType::I64}}) {
      pool_.push_back(labels(shape, classes, type));
      staged_.back().role = Role::Input;  // with a value, but not at compile time
    }
    keep_staged();
    if (!attempt(op)) continue;
    find_leaves();
    return true;
  }
  return false;
}

Shape Maker::some_shape(size_t rank) {
  Shape s(rank);
  for (auto& e : s) e = one_of<int64_t>({1, 2, 3, 4, 5, 6, 7, 8, 9, 12});
  while (count(s) > most_elements) s.pop_back();
  return s;
}

void Maker::find_leaves() {
  // What nobody reads is what a graph is for.
  std::vector<bool> read(forest.graph.tensors().size());
  for (auto& node : forest.graph.nodes())
    for (auto t : node.inputs)
      if (t) read[static_cast<size_t>(t.index)] = true;
  for (auto& node : forest.graph.nodes())
    for (auto t : node.outputs) {
      if (!t || read[static_cast<size_t>(t.index)]) continue;
      forest.leaves.push_back(t);
      if (forest.graph.at(t).type.dtype == DType::F32 && !rough_[static_cast<size_t>(t.index)])
        forest.smooth.push_back(t);
    }
  forest.graph.outputs = forest.leaves;
}

void Maker::one_graph() {
  pool_.clear();
  for (int i = 0; i < 2; ++i) {
    pool_.push_back(fresh(some_shape(static_cast<size_t>(i == 0 ? 2 + pick(3) : pick(5)))));
    keep_staged();
  }
  for (auto nodes = 3 + pick(18); nodes > 0; --nodes) one_node();
}

// An operator of the table, each as likely as the other; most draws are taken within a few tries.
void Maker::one_node() {
  auto table = ops::table();
  for (int tries = 0; tries < 400; ++tries)
    if (attempt(*table[static_cast<size_t>(pick(static_cast<int64_t>(table.size())))])) return;
  throw std::runtime_error("no operator suits the graph:\n" + to_string(forest.graph));
}

bool Maker::attempt(const ops::Operator& op) {
  int newest = op.until ? op.until : std::max(op.since, 21), oldest = std::min(std::max(op.since, 7), newest);
  int version = op.domain.empty() ? oldest + static_cast<int>(pick(newest - oldest + 1)) : 1;
  OpName name{std::string(op.domain), std::string(op.type)};
  if (ops::find(name, version) != &op) return false;
  auto made = draft(*this, op, version);
  auto results = made ? tried(op, *made, version) : std::nullopt;
  if (!results) {
    staged_.clear();
    return false;
  }
  keep_staged();
  Node node{.name = fmt::format("n{}", ++count_),
            .op = name,
            .version = version,
            .attributes = made->attributes,
            .inputs = made->inputs};
  bool rough = !passes_gradients(op);
  for (auto t : node.inputs) rough |= t && rough_[static_cast<size_t>(t.index)];
  for (size_t o = 0; o < made->outputs; ++o) {
    auto& value = (*results)[o];
    pool_.push_back(
        forest.graph.add_tensor({fmt::format("t{}_{}", count_, o), {value.dtype, value.shape}, Role::Activation, {}}));
    node.outputs.push_back(pool_.back());
    values_.push_back(std::move(value));
    rough_.push_back(rough || o >= made->smooth);
  }
  forest.graph.add_node(std::move(node));
  forest.drawn.insert(&op);
  return true;
}

// The node by itself: what it gives, where it is legal and gives ordinary numbers.
std::optional<std::vector<ops::Array>> Maker::tried(const ops::Operator& op, const Draft& draft, int version) const {
  Graph trial;
  Node node{.name = "trial",
            .op = {std::string(op.domain), std::string(op.type)},
            .version = version,
            .attributes = draft.attributes};
  std::vector<ops::Array> operands;
  bool known = true;
  for (auto t : draft.inputs) {
    node.inputs.push_back(t ? trial.add_tensor(tensor(t)) : TensorId{});
    auto i = static_cast<size_t>(t ? t.index : 0);
    operands.push_back(!t ? ops::Array{} : i < values_.size() ? values_[i] : array_of(tensor(t).value));
    known &= !t || tensor(t).role == Role::Constant;
  }
  for (size_t o = 0; o < draft.outputs; ++o)
    node.outputs.push_back(trial.add_tensor({fmt::format("out{}", o), {}, Role::Activation, {}}));
  ops::NodeContext n{trial, node};
  auto types = op.infer(n);
  if (known || !types || types->size() < draft.outputs) return std::nullopt;
  for (size_t o = 0; o < draft.outputs; ++o) trial.at(node.outputs[o]).type = (*types)[o];
  if (replaces(op, n) || (op.tile_map && !op.tile_map(n)) || !op.reference) return std::nullopt;
  auto results = op.reference(n, operands);
  if (!results || results->size() < draft.outputs) return std::nullopt;
  for (size_t o = 0; o < draft.outputs; ++o)
    if (!ordinary((*results)[o]) || (*results)[o].shape != (*types)[o].shape) return std::nullopt;
  if (!well_posed(op, trial, node, operands)) return std::nullopt;
  return *std::move(results);
}

}  // namespace tessera::test
