#include "random_network.hpp"

#include <algorithm>
#include <random>

#include "ops/builder.hpp"

namespace tessera::test {

namespace {

class Maker {
 public:
  explicit Maker(uint64_t seed) : random_(seed), build_(graph_) {}

  RandomNetwork run() {
    graph_.name = "random";
    Shape shape{one_of({1, 1, 2, 3, 5, 7}), size()};
    if (pick(3) == 0) shape.push_back(size());
    auto x = graph_.add_tensor({"input", {DType::F32, shape}, Role::Input, {}});
    graph_.inputs = {x};
    auto layers = 2 + pick(7);
    for (int64_t i = 0; i < layers; ++i) x = layer(x);
    bool classes = pick(3) > 0;
    if (shape_of(x).size() != 2) x = node("Flatten", {x}, {{"axis", int64_t{1}}});
    x = gemm(x, classes ? 2 + pick(9) : 1 + pick(5));
    graph_.outputs = {x};
    return {finished(), classes ? train::Loss::CrossEntropy : train::Loss::Mse};
  }

  RandomNetwork normalizing() {
    graph_.name = "normalizing";
    auto x = graph_.add_tensor(
        {"input", {DType::F32, {one_of({2, 3, 5}), one_of({1, 3, 7}), one_of({40, 150, 301})}}, Role::Input, {}});
    graph_.inputs = {x};
    x = node("Relu", {batch_norm(x)});
    x = layer_norm(x, pick(2) ? 1 : 2);
    x = batch_norm(arithmetic(x));
    x = gemm(node("Flatten", {x}, {{"axis", int64_t{1}}}), 4);
    graph_.outputs = {x};
    return {finished(), train::Loss::CrossEntropy};
  }

 private:
  Graph finished() {
    auto ok = build_.status();
    if (!ok) throw std::runtime_error(ok.error().text());
    return std::move(graph_);
  }

  int64_t pick(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  int64_t one_of(std::vector<int64_t> values) {
    return values[static_cast<size_t>(pick(static_cast<int64_t>(values.size())))];
  }
  int64_t size() { return one_of({1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 29, 61}); }
  const Shape& shape_of(TensorId t) const { return graph_.at(t).type.shape; }
  std::string name(std::string_view op) { return fmt::format("{}{}", op, ++count_); }
  TensorId node(std::string op, std::vector<TensorId> inputs, Attributes attributes = {}) {
    auto label = name(op);
    return build_.node({"", std::move(op)}, std::move(inputs), std::move(attributes), label);
  }

  TensorId parameter(Shape shape, float low = -0.5f, float high = 0.5f) {
    std::vector<float> v(static_cast<size_t>(count(shape)));
    for (auto& e : v) e = std::uniform_real_distribution<float>(low, high)(random_);
    auto value = TensorData::f32(shape, v);
    return graph_.add_tensor({name("weight"), value.type(), Role::Parameter, value});
  }

  // With running statistics that live for the run, or frozen ones.
  TensorId batch_norm(TensorId x) {
    Shape channels{shape_of(x)[1]};
    auto state = [&](float low, float high) {
      auto t = parameter(channels, low, high);
      graph_.at(t).role = Role::State;
      return t;
    };
    std::vector<TensorId> inputs{x, parameter(channels), parameter(channels), state(-1, 1), state(0.5f, 2)};
    bool training = pick(4) > 0;
    return build_.node({"", "BatchNormalization"}, inputs,
                       {{"training_mode", int64_t{training}}, {"unbiased", int64_t{1}}}, name("norm"),
                       training ? 3 : 1)[0];
  }

  TensorId layer_norm(TensorId x, int64_t axis) {
    Shape normal(shape_of(x).begin() + axis, shape_of(x).end());
    return node("LayerNormalization", {x, parameter(normal), parameter(normal)}, {{"axis", axis}});
  }

  TensorId gemm(TensorId x, int64_t out) {
    auto in = shape_of(x)[1];
    bool transposed = pick(2);
    std::vector<TensorId> inputs{x, parameter(transposed ? Shape{out, in} : Shape{in, out})};
    auto m = shape_of(x)[0];
    std::vector<Shape> biases{{out}, {1, out}, {m, 1}, {m, out}, {}, {1}};
    if (pick(4))
      inputs.push_back(parameter(biases[static_cast<size_t>(pick(4) ? 0 : pick(static_cast<int64_t>(biases.size())))]));
    Attributes attributes{{"transB", int64_t{transposed}}};
    if (pick(4) == 0) attributes.set("alpha", 0.75f);
    if (pick(4) == 0) attributes.set("beta", 1.5f);
    return node("Gemm", inputs, attributes);
  }

  TensorId matmul(TensorId x) {
    auto& s = shape_of(x);
    Shape weight{s.back(), size()};
    if (s.size() == 3 && pick(2)) weight.insert(weight.begin(), pick(2) ? 1 : s[0]);
    return node("MatMul", {x, parameter(weight)});
  }

  // A parameter that broadcasts against x: some axes one, some leading axes missing.
  TensorId arithmetic(TensorId x) {
    Shape s = shape_of(x);
    for (auto& d : s)
      if (pick(3) == 0) d = 1;
    s.erase(s.begin(), s.begin() + pick(static_cast<int64_t>(s.size()) + 1));
    auto op = std::vector<std::string>{"Add", "Sub", "Mul", "Div"}[static_cast<size_t>(pick(4))];
    auto other = op == "Div" ? parameter(s, 1.0f, 2.0f) : parameter(s);
    bool swapped = op != "Div" && pick(2);
    return node(op, swapped ? std::vector<TensorId>{other, x} : std::vector<TensorId>{x, other});
  }

  TensorId residual(TensorId x) { return node("Add", {node(pick(2) ? "Relu" : "Tanh", {x}), x}); }

  TensorId reshape(TensorId x) {
    auto& s = shape_of(x);
    if (s.size() == 2) return node("Unsqueeze", {x, build_.integers({pick(3)}, name("axes"))});
    for (int64_t a = 0; a < 3; ++a)
      if (s[static_cast<size_t>(a)] == 1 && s.size() == 3)
        return node("Squeeze", {x, build_.integers({a}, name("axes"))});
    return node("Reshape", {x, build_.integers({s[0], -1}, name("shape"))});
  }

  TensorId transpose(TensorId x) {
    std::vector<int64_t> perm(shape_of(x).size());
    for (size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<int64_t>(i);
    std::ranges::shuffle(perm, random_);
    return node("Transpose", {x}, {{"perm", perm}});
  }

  TensorId reduce(TensorId x) {
    auto axis = pick(static_cast<int64_t>(shape_of(x).size()));
    std::vector<int64_t> axes{axis};
    if (pick(3) == 0 && axis > 0) axes.insert(axes.begin(), 0);
    return node(pick(2) ? "ReduceMean" : "ReduceSum",
                pick(2) ? std::vector<TensorId>{x, build_.integers(axes, name("axes"))}
                        : std::vector<TensorId>{x, build_.integers(axes, name("axes"))},
                {{"keepdims", int64_t{1}}});
  }

  TensorId layer(TensorId x) {
    auto rank = static_cast<int64_t>(shape_of(x).size());
    switch (pick(12)) {
      case 0:
      case 1:
        return rank == 2 ? gemm(x, size()) : matmul(x);
      case 2:
        return matmul(x);
      case 3:
        return node("Relu", {x});
      case 4:
        return node(pick(2) ? "Sigmoid" : "Tanh", {x});
      case 5:
        return node(pick(2) ? "Softmax" : "LogSoftmax", {x}, {{"axis", pick(rank)}});
      case 6:
        return arithmetic(x);
      case 7:
        return residual(x);
      case 8:
        return reshape(x);
      case 9:
        return transpose(x);
      case 10:
        return reduce(x);
      default:
        return pick(2) ? node("Identity", {x}) : arithmetic(x);
    }
  }

  std::mt19937_64 random_;
  Graph graph_;
  ops::Builder build_;
  int count_ = 0;
};

}  // namespace

RandomNetwork random_network(uint64_t seed) {
  return Maker(seed).run();
}

RandomNetwork normalizing_network(uint64_t seed) {
  return Maker(seed).normalizing();
}

}  // namespace tessera::test
