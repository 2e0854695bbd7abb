#include "train/dataset.hpp"

#include <cstring>

namespace tessera::train {
namespace {

int64_t batch_of(const TensorType& input) {
  return input.shape.empty() ? 1 : input.shape[0];
}

Result<void> check_labels(const Program& program, const TensorData& labels, const std::string& source) {
  const auto classes = classes_of(program);
  if (classes.count == 0) return {};
  for (int64_t i = 0; i < labels.type().elements(); ++i) {
    const auto label = static_cast<int64_t>(labels.at(i));
    if (classes.ignored && label == *classes.ignored) continue;
    if (label < 0 || label >= classes.count)
      return input_error("{}: label {} (of sample {}) is out of range: the network has {} classes, 0 to {}", source,
                         label, i * labels.shape()[0] / labels.type().elements(), classes.count, classes.count - 1)
          .hint("labels are class indices that start at 0");
  }
  return {};
}

// Inputs with the same batch must have the same number of samples, or they would drift apart as they cycle.
Result<void> check_counts(const std::vector<onnx::Slot>& slots, const std::vector<TensorData>& values,
                          const std::string& source) {
  for (size_t s = 1; s < slots.size(); ++s)
    if (batch_of(slots[s].type) == batch_of(slots[0].type) && values[s].shape()[0] != values[0].shape()[0])
      return input_error("{}: {} samples for '{}' but {} for '{}'", source, values[0].shape()[0], slots[0].name,
                         values[s].shape()[0], slots[s].name)
          .hint("the first axis of every array counts the same samples");
  return {};
}

}  // namespace

Result<Dataset> bind_dataset(const Program& program, std::span<const onnx::NamedArray> arrays, onnx::Rows rows,
                             const std::string& source) {
  std::vector<onnx::Slot> slots;
  for (auto id : program.data) slots.push_back(onnx::slot(program.graph, id));
  if (program.label) {
    slots.push_back(onnx::slot(program.graph, program.label, {"label", "target"}));
    slots.back().careful = true;  // a wrong truth would train, and nobody would notice
  }
  TRY(auto bound, onnx::bind_arrays(slots, arrays, rows, source));
  if (rows == onnx::Rows::Samples) CHECK_OK(check_counts(slots, bound.values, source));
  Dataset set{.data = std::move(bound.values), .label = {}, .notes = std::move(bound.notes)};
  if (program.label) {
    set.label = std::move(set.data.back());
    set.data.pop_back();
    CHECK_OK(check_labels(program, set.label, source));
  }
  return set;
}

TensorData micro_batch(const TensorData& samples, const TensorType& input, int64_t i) {
  const int64_t batch = batch_of(input), available = samples.shape()[0];
  const auto sample = static_cast<size_t>(input.bytes().count / batch);
  std::vector<std::byte> bytes(static_cast<size_t>(input.bytes().count));
  for (int64_t j = 0; j < batch; ++j) {
    const auto from = static_cast<size_t>((i * batch + j) % available) * sample;
    std::memcpy(bytes.data() + static_cast<size_t>(j) * sample, samples.bytes().data() + from, sample);
  }
  return {input, std::move(bytes)};
}

Dataset reached(const Program& program, Dataset dataset, int64_t micro_batches) {
  auto shorten = [&](TensorData& samples, TensorId input) {
    if (samples.empty()) return;
    auto shape = samples.shape();
    const auto sample = samples.bytes().size() / static_cast<size_t>(shape[0]);
    const auto taken = micro_batches * batch_of(program.graph.at(input).type);
    if (taken >= shape[0]) return;
    shape[0] = taken;
    auto kept = samples.bytes().first(static_cast<size_t>(taken) * sample);
    samples = TensorData({samples.type().dtype, shape}, {kept.begin(), kept.end()});
  };
  for (size_t i = 0; i < dataset.data.size(); ++i) shorten(dataset.data[i], program.data[i]);
  if (program.label) shorten(dataset.label, program.label);
  return dataset;
}

Classes classes_of(const Program& program) {
  if (!program.label || program.graph.at(program.label).type.dtype == DType::F32) return {};
  for (auto& node : program.graph.nodes()) {
    // The scores, or the log-probabilities of a gradient, stand right before the labels.
    auto& type = node.op.type;
    if (!type.starts_with("SoftmaxCrossEntropyLoss") && !type.starts_with("NegativeLogLikelihoodLoss")) continue;
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != program.label || !node.inputs[i - 1]) continue;
      auto& shape = program.graph.at(node.inputs[i - 1]).type.shape;
      if (shape.size() < 2) continue;
      Classes classes{shape[1], std::nullopt};
      if (node.attributes.find("ignore_index")) classes.ignored = node.attributes.integer("ignore_index", 0);
      return classes;
    }
  }
  return {};
}

}  // namespace tessera::train
