// Layers as PyTorch calls them, with seeded weights under PyTorch's names: what the zoo's networks are written with.
//
//   Layers l(graph, 1);   x = l.relu(l.batch_norm("bn1", l.conv("conv1", x, {.out = 16, .kernel = {3, 3}})))
//   before: x f32[1,3,32,32]      after: + conv1.weight, conv1.bias, bn1.weight, ..., x f32[1,16,32,32]
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "ops/builder.hpp"
#include "train/random.hpp"

namespace tessera::train {

struct ConvShape {
  int64_t out = 1;
  std::array<int64_t, 2> kernel{3, 3};
  int64_t stride = 1;
  int64_t groups = 1;
  bool bias = true;
};

class Layers {
 public:
  Layers(Graph& graph, uint64_t seed) : graph_(graph), build_(graph), random_(seed) {}

  TensorId input(Shape shape);  // the network's only one, called "input"

  TensorId linear(const std::string& name, TensorId x, int64_t out, bool bias = true);  // of a matrix
  // "Same" padding: as many outputs as strides begin; what cannot be halved goes behind.
  TensorId conv(const std::string& name, TensorId x, const ConvShape& shape);
  TensorId batch_norm(const std::string& name, TensorId x, float around = 0);  // where its biases lie
  TensorId layer_norm(const std::string& name, TensorId x);                    // over the last axis
  TensorId relu(TensorId x) { return plain("Relu", "relu", {x}); }
  TensorId gelu(TensorId x);
  TensorId max_pool(TensorId x, int64_t kernel, int64_t stride, int64_t pad);
  TensorId global_average(TensorId x);  // [N,C,H,W] -> [N,C]
  TensorId reshape(TensorId x, Shape shape);
  TensorId transpose(TensorId x, std::vector<int64_t> order);
  TensorId softmax(TensorId x);  // over the last axis
  TensorId add(TensorId a, TensorId b) { return plain("Add", "add", {a, b}); }
  TensorId matmul(TensorId a, TensorId b) { return plain("MatMul", "matmul", {a, b}); }
  TensorId scaled(TensorId x, float factor);
  TensorId parameter(std::string name, Shape shape, float bound, float middle = 0);  // uniform in middle +- bound

  const Shape& shape(TensorId id) const { return build_.type(id).shape; }
  Result<void> status() const { return build_.status(); }

 private:
  // A layer without weights: named after its kind, numbered.
  TensorId plain(std::string type, std::string kind, std::vector<TensorId> inputs, Attributes attributes = {});
  std::string numbered(const std::string& kind);

  Graph& graph_;
  ops::Builder build_;
  Random random_;
  std::vector<std::pair<std::string, int>> counts_;
};

}  // namespace tessera::train
