#include "train/zoo.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "ops/builder.hpp"
#include "train/random.hpp"

namespace tessera::train {
namespace {

constexpr std::string_view kFamily = "mlp:";
constexpr std::array kZoo = {
    ZooEntry{"simplemlp", "perceptron 784-128-10 with ReLU, 101 770 parameters", "cross_entropy"},
    ZooEntry{"mlp:<w0>-<w1>-...", "perceptron of these widths, ReLU between the layers", "cross_entropy"},
};

Result<std::vector<int64_t>> parse_widths(std::string_view name) {
  constexpr int64_t kWidest = 1 << 20;
  constexpr size_t kMostLayers = 4096;
  auto refuse = [&](std::string_view why) {
    return input_error("zoo model '{}': {}", name, why)
        .hint("write the widths from input to output, as in mlp:784-128-10");
  };
  std::vector<int64_t> widths;
  auto text = name.substr(kFamily.size());
  const char *at = text.data(), *end = text.data() + text.size();
  while (true) {
    int64_t width = 0;
    auto [stop, code] = std::from_chars(at, end, width);
    if (code != std::errc() || stop == at) return refuse("a width is not a number");
    if (width < 1 || width > kWidest) return refuse(fmt::format("a width must lie between 1 and {}", kWidest));
    widths.push_back(width);
    if (stop == end) break;
    if (*stop != '-') return refuse("widths are separated by '-'");
    at = stop + 1;
  }
  if (widths.size() < 2) return refuse("needs at least an input and an output width");
  if (widths.size() > kMostLayers) return refuse(fmt::format("has more than {} layers", kMostLayers));
  return widths;
}

// PyTorch's initialisation of a linear layer: weights and biases uniform in +-1/sqrt(fan_in).
TensorData uniform(Random& random, Shape shape, int64_t fan_in) {
  const float bound = 1.0f / std::sqrt(static_cast<float>(fan_in));
  std::vector<float> values(static_cast<size_t>(count(shape)));
  for (auto& v : values) v = random.uniform() * bound;
  return TensorData::f32(std::move(shape), values);
}

TensorId parameter(Graph& graph, std::string name, TensorData value) {
  auto type = value.type();
  return graph.add_tensor({std::move(name), std::move(type), Role::Parameter, std::move(value)});
}

Result<Graph> perceptron(std::string name, const std::vector<int64_t>& widths, int64_t batch, uint64_t seed) {
  Graph graph;
  graph.name = std::move(name);
  Random random(seed);
  ops::Builder build(graph);
  TensorId x = graph.add_tensor({"input", {DType::F32, {batch, widths[0]}}, Role::Input, {}});
  graph.inputs = {x};
  for (size_t layer = 1; layer < widths.size(); ++layer) {
    const int64_t in = widths[layer - 1], out = widths[layer];
    const auto fc = fmt::format("fc{}", layer);
    TensorId weight = parameter(graph, fc + ".weight", uniform(random, {out, in}, in));
    TensorId bias = parameter(graph, fc + ".bias", uniform(random, {out}, in));
    x = build.node({"", "Gemm"}, {x, weight, bias}, {{"transB", int64_t{1}}}, fc);
    if (layer + 1 < widths.size()) x = build.node({"", "Relu"}, {x}, {}, fmt::format("relu{}", layer));
  }
  CHECK_OK(build.status());
  graph.outputs = {x};
  return graph;
}

}  // namespace

std::span<const ZooEntry> zoo() {
  return kZoo;
}

const ZooEntry* find_in_zoo(std::string_view name) {
  if (name.starts_with(kFamily)) return &kZoo[1];
  for (auto& entry : kZoo)
    if (entry.name == name) return &entry;
  return nullptr;
}

Result<Graph> zoo_model(std::string_view name, int64_t batch, uint64_t seed) {
  if (batch < 1)
    return input_error("zoo model '{}': a batch of {} samples", name, batch).hint("give --batch 1 or more");
  std::string wanted(name == "simplemlp" ? "mlp:784-128-10" : name);
  if (!wanted.starts_with(kFamily))
    return input_error("'{}' is not a model of the zoo", name).hint("`tessera zoo list` shows them");
  TRY(auto widths, parse_widths(wanted));
  return perceptron(std::string(name), widths, batch, seed);
}

}  // namespace tessera::train
