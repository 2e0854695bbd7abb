#include "train/zoo_networks.hpp"

#include <cmath>

namespace tessera::train {

TensorId perceptron(Layers& l, int64_t batch, const std::vector<int64_t>& widths) {
  TensorId x = l.input({batch, widths[0]});
  for (size_t layer = 1; layer < widths.size(); ++layer) {
    x = l.linear(fmt::format("fc{}", layer), x, widths[layer]);
    if (layer + 1 < widths.size()) x = l.relu(x);
  }
  return x;
}

namespace {

// Where the biases of batch norms lie in networks without skips, so that most units are awake. Where half of them
// sleep, rounding grows through every norm, a unit that it wakes changes all that follows, and float32 is off from
// float64 in the second digit after a few steps: the more so the deeper the network and the fewer values a norm sees.
// The last norm before a mean stays around 0: the mean would be its bias, whatever the sample is.
constexpr float kAwakeDense = 2, kAwakeShallow = 1, kAwakeDeep = 3;

}  // namespace

TensorId autoencoder(Layers& l, int64_t batch) {
  constexpr int64_t kInput = 640;
  TensorId x = l.input({batch, kInput});
  int layer = 0;
  for (int64_t width : {128, 128, 128, 128, 8, 128, 128, 128, 128}) {
    ++layer;
    x = l.linear(fmt::format("fc{}", layer), x, width);
    x = l.relu(l.batch_norm(fmt::format("bn{}", layer), x, kAwakeDense));
  }
  return l.linear(fmt::format("fc{}", layer + 1), x, kInput);
}

namespace {

TensorId conv_norm_relu(Layers& l, const std::string& name, TensorId x, const ConvShape& shape, float around = 0) {
  return l.relu(l.batch_norm(name + ".bn", l.conv(name + ".conv", x, shape), around));
}

struct Separable {
  int64_t out, stride = 1;
};

// A stem of stride 2, then depthwise 3x3 and pointwise 1x1 in turn, the mean over each channel, and a linear layer.
// Batch norms but the last have their biases around `awake`.
TensorId separable_network(Layers& l, TensorId x, const ConvShape& stem, const std::vector<Separable>& blocks,
                           int64_t classes, float awake) {
  x = conv_norm_relu(l, "stem", x, stem, awake);
  for (size_t i = 0; i < blocks.size() && l.status(); ++i) {
    const auto name = fmt::format("blocks.{}", i);
    const int64_t in = l.shape(x)[1];
    x = conv_norm_relu(l, name + ".dw", x, {.out = in, .stride = blocks[i].stride, .groups = in}, awake);
    const float around = i + 1 < blocks.size() ? awake : 0;
    x = conv_norm_relu(l, name + ".pw", x, {.out = blocks[i].out, .kernel = {1, 1}}, around);
  }
  return l.linear("fc", l.global_average(x), classes);
}

// Two 3x3 beside a skip, which is a 1x1 where the shape changes.
TensorId residual(Layers& l, const std::string& name, TensorId x, int64_t out, int64_t stride) {
  TensorId y = conv_norm_relu(l, name + ".1", x, {.out = out, .stride = stride});
  y = l.batch_norm(name + ".2.bn", l.conv(name + ".2.conv", y, {.out = out}));
  if (stride != 1) x = l.conv(name + ".skip", x, {.out = out, .kernel = {1, 1}, .stride = stride});
  return l.relu(l.add(y, x));
}

}  // namespace

TensorId dscnn(Layers& l, int64_t batch) {
  const ConvShape stem{.out = 64, .kernel = {10, 4}, .stride = 2};
  return separable_network(l, l.input({batch, 1, 49, 10}), stem, {{64}, {64}, {64}, {64}}, 12, kAwakeShallow);
}

TensorId resnet8(Layers& l, int64_t batch) {
  TensorId x = conv_norm_relu(l, "stem", l.input({batch, 3, 32, 32}), {.out = 16});
  x = residual(l, "stacks.0", x, 16, 1);
  x = residual(l, "stacks.1", x, 32, 2);
  x = residual(l, "stacks.2", x, 64, 2);
  return l.linear("fc", l.global_average(x), 10);
}

TensorId mobilenetv1(Layers& l, int64_t batch) {
  const std::vector<Separable> blocks{{16},  {32, 2}, {32},  {64, 2}, {64},     {128, 2}, {128},
                                      {128}, {128},   {128}, {128},   {256, 2}, {256}};
  return separable_network(l, l.input({batch, 3, 96, 96}), {.out = 8, .stride = 2}, blocks, 2, kAwakeDeep);
}

namespace {

// Tokens stand as rows of one matrix [batch * tokens, width]: linear layers and norms are one operator each.
struct Tokens {
  int64_t batch, count, width;
  int64_t rows() const { return batch * count; }
};
constexpr int64_t kHeads = 2;

// [batch * tokens, width] -> one matrix a head, its axes in the given order.
TensorId heads(Layers& l, TensorId x, const Tokens& t, std::vector<int64_t> order) {
  return l.transpose(l.reshape(x, {t.batch, t.count, kHeads, t.width / kHeads}), std::move(order));
}

// proj(softmax(q k / sqrt(width of a head)) v), for each head.
TensorId self_attention(Layers& l, const std::string& name, TensorId x, const Tokens& t) {
  TensorId q = heads(l, l.linear(name + ".q", x, t.width, false), t, {0, 2, 1, 3});
  TensorId k = heads(l, l.linear(name + ".k", x, t.width, false), t, {0, 2, 3, 1});
  TensorId v = heads(l, l.linear(name + ".v", x, t.width, false), t, {0, 2, 1, 3});
  TensorId scores = l.scaled(l.matmul(q, k), 1.0f / std::sqrt(static_cast<float>(t.width / kHeads)));
  TensorId mixed = l.transpose(l.matmul(l.softmax(scores), v), {0, 2, 1, 3});
  return l.linear(name + ".proj", l.reshape(mixed, {t.rows(), t.width}), t.width);
}

TensorId encoder(Layers& l, const std::string& name, TensorId x, const Tokens& t) {
  x = l.add(x, self_attention(l, name + ".attention", l.layer_norm(name + ".norm1", x), t));
  x = l.layer_norm(name + ".norm2", x);
  TensorId wide = l.gelu(l.linear(name + ".linear1", x, t.width));
  return l.add(x, l.linear(name + ".linear2", wide, t.width));
}

// A part of the transformer on its own: tokens in, tokens out.
template <class Part>
TensorId on_tokens(Layers& l, const Tokens& t, const Part& part) {
  TensorId x = l.reshape(l.input({t.batch, t.count, t.width}), {t.rows(), t.width});
  return l.reshape(part(x), {t.batch, t.count, t.width});
}

}  // namespace

TensorId attention_block(Layers& l, int64_t batch, int64_t tokens, int64_t width) {
  const Tokens t{batch, tokens, width};
  return on_tokens(l, t, [&](TensorId x) { return self_attention(l, "attention", x, t); });
}

TensorId encoder_block(Layers& l, int64_t batch, int64_t tokens, int64_t width) {
  const Tokens t{batch, tokens, width};
  return on_tokens(l, t, [&](TensorId x) { return encoder(l, "block", x, t); });
}

TensorId cct(Layers& l, int64_t batch, int64_t image, int64_t width) {
  TensorId x = l.input({batch, 3, image, image});
  x = l.max_pool(l.relu(l.conv("tokenizer.0", x, {.out = width / 2, .bias = false})), 3, 2, 1);
  x = l.max_pool(l.relu(l.conv("tokenizer.1", x, {.out = width, .bias = false})), 3, 2, 1);
  if (!l.status()) return {};
  const Tokens t{batch, l.shape(x)[2] * l.shape(x)[3], width};
  x = l.transpose(l.reshape(x, {batch, width, t.count}), {0, 2, 1});
  x = l.add(x, l.parameter("position", {1, t.count, width}, 0.2f));
  x = l.reshape(x, {t.rows(), width});
  for (int block = 0; block < 2; ++block) x = encoder(l, fmt::format("blocks.{}", block), x, t);
  x = l.layer_norm("norm", x);
  // Attention pooling: each token says how much it counts.
  TensorId weights = l.softmax(l.reshape(l.linear("pool", x, 1), {batch, 1, t.count}));
  x = l.matmul(weights, l.reshape(x, {batch, t.count, width}));
  return l.linear("fc", l.reshape(x, {batch, width}), 10);
}

}  // namespace tessera::train
