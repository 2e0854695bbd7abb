#include "train/zoo_layers.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::train {
namespace {

// PyTorch's linear layer: weights and biases uniform in +-1/sqrt(fan_in).
float narrow(int64_t fan_in) {
  return 1.0f / std::sqrt(static_cast<float>(fan_in));
}

// Variance 2/fan_in: a signal keeps its size through any number of layers that end in a ReLU, normalised or not.
float wide(int64_t fan_in) {
  return std::sqrt(6.0f / static_cast<float>(fan_in));
}

// What stands before and behind `size` elements so that windows begin at every stride.
std::pair<int64_t, int64_t> same_padding(int64_t size, int64_t kernel, int64_t stride) {
  const int64_t outputs = (size + stride - 1) / stride;
  const int64_t all = std::max<int64_t>(0, (outputs - 1) * stride + kernel - size);
  return {all / 2, all - all / 2};
}

}  // namespace

TensorId Layers::input(Shape shape) {
  auto id = graph_.add_tensor({"input", {DType::F32, std::move(shape)}, Role::Input, {}});
  graph_.inputs = {id};
  return id;
}

TensorId Layers::parameter(std::string name, Shape shape, float bound, float middle) {
  std::vector<float> values(static_cast<size_t>(count(shape)));
  for (auto& v : values) v = middle + random_.uniform() * bound;
  auto value = TensorData::f32(std::move(shape), values);
  auto type = value.type();
  return graph_.add_tensor({std::move(name), std::move(type), Role::Parameter, std::move(value)});
}

std::string Layers::numbered(const std::string& kind) {
  auto at = std::ranges::find(counts_, kind, &std::pair<std::string, int>::first);
  if (at == counts_.end()) at = counts_.insert(at, {kind, 0});
  return fmt::format("{}{}", kind, ++at->second);
}

TensorId Layers::plain(std::string type, std::string kind, std::vector<TensorId> inputs, Attributes attributes) {
  return build_.node({"", std::move(type)}, std::move(inputs), std::move(attributes), numbered(kind));
}

TensorId Layers::linear(const std::string& name, TensorId x, int64_t out, bool bias) {
  if (!status()) return {};
  const int64_t in = shape(x)[1];
  std::vector<TensorId> operands{x, parameter(name + ".weight", {out, in}, narrow(in))};
  if (bias) operands.push_back(parameter(name + ".bias", {out}, narrow(in)));
  return build_.node({"", "Gemm"}, std::move(operands), {{"transB", int64_t{1}}}, name);
}

TensorId Layers::conv(const std::string& name, TensorId x, const ConvShape& s) {
  if (!status()) return {};
  const auto from = shape(x);
  const auto [kh, kw] = s.kernel;
  const int64_t in = from[1] / s.groups, fan_in = in * kh * kw;
  std::vector<TensorId> operands{x, parameter(name + ".weight", {s.out, in, kh, kw}, wide(fan_in))};
  if (s.bias) operands.push_back(parameter(name + ".bias", {s.out}, narrow(fan_in)));
  const auto [top, bottom] = same_padding(from[2], kh, s.stride);
  const auto [left, right] = same_padding(from[3], kw, s.stride);
  return build_.node({"", "Conv"}, std::move(operands),
                     {{"kernel_shape", std::vector<int64_t>{kh, kw}},
                      {"strides", std::vector<int64_t>{s.stride, s.stride}},
                      {"pads", std::vector<int64_t>{top, left, bottom, right}},
                      {"group", s.groups}},
                     name);
}

// Values near those that PyTorch starts from, but each its own, so that a mix-up of channels shows.
TensorId Layers::batch_norm(const std::string& name, TensorId x, float around) {
  if (!status()) return {};
  const Shape channels{shape(x)[1]};
  auto weight = parameter(name + ".weight", channels, 0.1f, 1);
  auto bias = parameter(name + ".bias", channels, 0.1f, around);
  auto mean = parameter(name + ".running_mean", channels, 0.1f);
  auto variance = parameter(name + ".running_var", channels, 0.1f, 1);
  return build_.node({"", "BatchNormalization"}, {x, weight, bias, mean, variance},
                     {{"epsilon", 1e-5f}, {"momentum", 0.9f}}, name);
}

TensorId Layers::layer_norm(const std::string& name, TensorId x) {
  if (!status()) return {};
  const Shape width{shape(x).back()};
  auto weight = parameter(name + ".weight", width, 0.1f, 1);
  auto bias = parameter(name + ".bias", width, 0.1f);
  return build_.node({"", "LayerNormalization"}, {x, weight, bias}, {{"axis", int64_t{-1}}, {"epsilon", 1e-5f}}, name);
}

// ONNX Runtime's: the default domain has it only from operator set 20 on, which many tools cannot read yet.
TensorId Layers::gelu(TensorId x) {
  return build_.node({"com.microsoft", "Gelu"}, {x}, {}, numbered("gelu"));
}

TensorId Layers::max_pool(TensorId x, int64_t kernel, int64_t stride, int64_t pad) {
  return plain("MaxPool", "pool", {x},
               {{"kernel_shape", std::vector<int64_t>{kernel, kernel}},
                {"strides", std::vector<int64_t>{stride, stride}},
                {"pads", std::vector<int64_t>{pad, pad, pad, pad}}});
}

TensorId Layers::global_average(TensorId x) {
  return plain("Flatten", "flatten", {plain("GlobalAveragePool", "average", {x})}, {{"axis", int64_t{1}}});
}

TensorId Layers::reshape(TensorId x, Shape shape) {
  auto name = numbered("reshape");
  return build_.node({"", "Reshape"}, {x, build_.integers(std::move(shape), name + ".shape")}, {}, name);
}

TensorId Layers::transpose(TensorId x, std::vector<int64_t> order) {
  return plain("Transpose", "transpose", {x}, {{"perm", std::move(order)}});
}

TensorId Layers::softmax(TensorId x) {
  return plain("Softmax", "softmax", {x}, {{"axis", int64_t{-1}}});
}

TensorId Layers::scaled(TensorId x, float factor) {
  auto name = numbered("scale");
  return build_.node({"", "Mul"}, {x, build_.scalar(factor, name + ".factor")}, {}, name);
}

}  // namespace tessera::train
