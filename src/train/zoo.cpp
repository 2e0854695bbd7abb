#include "train/zoo.hpp"

#include <array>
#include <charconv>
#include <vector>

#include "train/lora.hpp"
#include "train/zoo_networks.hpp"

namespace tessera::train {
namespace {

constexpr std::string_view kFamily = "mlp:";
constexpr std::string_view kAdapters = "*.lora_A,*.lora_B";

// A network of a fixed shape, and how it is built.
struct Network {
  ZooEntry entry;
  TensorId (*build)(Layers&, int64_t batch);
  bool lora = false;
};

TensorId simplemlp(Layers& l, int64_t batch) {
  return perceptron(l, batch, {784, 128, 10});
}
TensorId full_cct(Layers& l, int64_t batch) {
  return cct(l, batch, 32, 128);
}
TensorId tiny_cct(Layers& l, int64_t batch) {
  return cct(l, batch, 8, 32);
}
TensorId attention(Layers& l, int64_t batch) {
  return attention_block(l, batch, 64, 128);
}
TensorId transformer(Layers& l, int64_t batch) {
  return encoder_block(l, batch, 64, 128);
}

constexpr std::array kNetworks = {
    Network{{"simplemlp", "perceptron 784-128-10 with ReLU, 101 770 parameters", "cross_entropy"}, simplemlp},
    Network{{"autoencoder", "anomaly detection of MLPerf Tiny: 10 dense layers, 269 992 parameters", "mse", "all", 16},
            autoencoder},
    Network{{"dscnn", "keyword spotting of MLPerf Tiny: separable convolutions, 24 908 parameters", "cross_entropy"},
            dscnn},
    Network{{"resnet8", "image classification of MLPerf Tiny: residual network, 78 666 parameters", "cross_entropy"},
            resnet8},
    Network{{"mobilenetv1", "visual wake words of MLPerf Tiny: MobileNetV1 0.25 at 96x96, 221 794 parameters",
             "cross_entropy"},
            mobilenetv1},
    Network{{"cct", "compact convolutional transformer CCT-2/3x2 at 32x32, 283 723 parameters", "cross_entropy"},
            full_cct},
    Network{{"cct_lora", "cct with adapters of rank 4 on its 12 linear layers; the adapters alone train",
             "cross_entropy", kAdapters},
            full_cct,
            true},
    Network{{"cct:tiny", "cct of width 32 at 8x8, for quick tests", "cross_entropy"}, tiny_cct},
    Network{{"cct_lora:tiny", "cct:tiny with the adapters of cct_lora", "cross_entropy", kAdapters}, tiny_cct, true},
    Network{{"attention", "self-attention of 2 heads on 64 tokens of width 128", "mse"}, attention},
    Network{{"transformer", "encoder block of cct on 64 tokens of width 128", "mse"}, transformer},
};

constexpr ZooEntry kPerceptrons{"mlp:<w0>-<w1>-...", "perceptron of these widths, ReLU between the layers",
                                "cross_entropy"};

constexpr auto kZoo = [] {
  std::array<ZooEntry, kNetworks.size() + 1> entries{};
  for (size_t i = 0; i < kNetworks.size(); ++i) entries[i] = kNetworks[i].entry;
  entries.back() = kPerceptrons;
  return entries;
}();

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

const Network* find_network(std::string_view name) {
  for (auto& network : kNetworks)
    if (network.entry.name == name) return &network;
  return nullptr;
}

}  // namespace

std::span<const ZooEntry> zoo() {
  return kZoo;
}

const ZooEntry* find_in_zoo(std::string_view name) {
  if (name.starts_with(kFamily)) return &kPerceptrons;
  auto* network = find_network(name);
  return network ? &network->entry : nullptr;
}

Result<Graph> zoo_model(std::string_view name, std::optional<int64_t> batch, uint64_t seed) {
  auto* entry = find_in_zoo(name);
  if (!entry) return input_error("'{}' is not a model of the zoo", name).hint("`tessera zoo list` shows them");
  const int64_t samples = batch.value_or(entry->batch);
  if (samples < 1)
    return input_error("zoo model '{}': a batch of {} samples", name, samples).hint("give --batch 1 or more");
  Graph graph;
  graph.name = name;
  Layers layers(graph, seed);
  auto* network = find_network(name);
  TensorId out;
  if (network) {
    out = network->build(layers, samples);
  } else {
    TRY(auto widths, parse_widths(name));
    out = perceptron(layers, samples, widths);
  }
  CHECK_OK(layers.status());
  graph.outputs = {out};
  if (network && network->lora)
    CHECK_OK(add_lora(graph, {.rank = 4, .alpha = 16, .layers = "q,k,v,proj,linear1,linear2"}));
  return graph;
}

}  // namespace tessera::train
