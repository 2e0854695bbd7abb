// Random graphs out of every operator of the table: a forest of them in one Graph, so that one project holds many.
//
//   Maker maker(7);   maker.grow(20);      // 20 graphs of 3 to 20 nodes, disconnected
//   maker.forest.graph -> parameters with values, nodes, the leaves as outputs
//
// A node is drawn, tried and kept where type inference takes it and its reference gives ordinary numbers; so what is
// known of an operator here is only what makes it likely to be taken (recipes.cpp), never whether it is right.
#pragma once

#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "ops/builder.hpp"

namespace tessera::test {

struct Forest {
  Graph graph;
  std::vector<TensorId> learned;  // float parameters: what gradients are taken for
  std::vector<TensorId> leaves;   // what nobody reads
  std::vector<TensorId> smooth;   // those of them through which everything has a gradient
  std::set<const ops::Operator*> drawn;
};

// A node with one of an operator's likely operands and attributes.
struct Draft {
  std::vector<TensorId> inputs;
  Attributes attributes;
  size_t outputs = 1;
  size_t smooth = 9;  // so many of the outputs pass a gradient on: running statistics do not
};

class Maker {
 public:
  explicit Maker(uint64_t seed) : random_(seed) {}

  void grow(int graphs);
  // One node of that operator, over operands of its own: whether a few tries found one that is legal.
  bool grow(const ops::Operator& op);
  Forest forest;

  // For recipes: dice, what stands in this graph so far, and new operands.
  int64_t pick(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  template <class T>
  T one_of(std::vector<T> values) {
    return values[static_cast<size_t>(pick(static_cast<int64_t>(values.size())))];
  }
  const Tensor& tensor(TensorId t) const {
    auto known = forest.graph.tensors().size(), i = static_cast<size_t>(t.index);
    return i < known ? forest.graph.tensors()[i] : staged_[i - known];
  }
  const Shape& shape(TensorId t) const { return tensor(t).type.shape; }
  int64_t rank(TensorId t) const { return static_cast<int64_t>(shape(t).size()); }
  const Node* maker_of(TensorId t) const;        // null: an operand of its own
  TensorId any(DType type = DType::F32);         // absent where there is none
  TensorId ranked(int64_t least, int64_t most);  // a float tensor with that many axes
  TensorId like(TensorId t);                     // of that type and shape: one that is there, or new
  TensorId broadcasting(TensorId t);             // a float tensor that broadcasts to t
  TensorId fresh(Shape shape, float low = -1, float high = 1);
  TensorId positive(Shape shape) { return fresh(std::move(shape), 0.3f, 2); }
  TensorId fixed(Shape shape, float low, float high);  // a constant: nothing learns it
  TensorId integers(std::vector<int64_t> values);      // a list
  TensorId labels(Shape shape, int64_t classes, DType type = DType::I64);
  TensorId scalar(float value);
  TensorId numbers(const std::vector<float>& values);  // a list: a constant
  TensorId constant(TensorData data);

 private:
  void one_graph();
  void one_node();
  void find_leaves();
  Shape some_shape(size_t rank);
  bool attempt(const ops::Operator& op);
  TensorId stage(Tensor tensor);
  void keep_staged();
  std::optional<std::vector<ops::Array>> tried(const ops::Operator& op, const Draft& draft, int version) const;

  std::mt19937_64 random_;
  std::vector<Tensor> staged_;      // operands of the node that is being tried, numbered behind the graph's
  std::vector<TensorId> pool_;      // of the graph that grows
  std::vector<ops::Array> values_;  // by tensor
  std::vector<bool> rough_;         // by tensor: no gradient passes here
  int count_ = 0;
};

// Nothing where the graph has nothing that suits.
std::optional<Draft> draft(Maker& m, const ops::Operator& op, int version);

}  // namespace tessera::test
