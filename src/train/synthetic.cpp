#include <cmath>

#include "train/dataset.hpp"
#include "train/random.hpp"

namespace tessera::train {
namespace {

constexpr float kNoise = 0.25f;  // beside patterns of +-1: every sample is its own, every class can be told

constexpr int64_t kKinds = 16;  // of samples, where the truth is not a class

// The shape of `n` micro-batches of an input, sample by sample.
Shape samples_shape(const TensorType& input, int64_t n) {
  Shape shape = input.shape.empty() ? Shape{1} : input.shape;
  shape[0] *= n;
  return shape;
}

TensorData patterns(const TensorType& input, const std::vector<int64_t>& classes, int64_t n, Random& random) {
  Shape shape = samples_shape(input, n);
  const int64_t samples = shape[0], width = count(shape) / samples;
  int64_t kinds = classes.empty() ? kKinds : 1;
  for (auto c : classes) kinds = std::max(kinds, c + 1);
  std::vector<float> pattern(static_cast<size_t>(kinds * width)), values;
  for (auto& v : pattern) v = random.uniform();
  values.reserve(static_cast<size_t>(samples * width));
  for (int64_t s = 0; s < samples; ++s) {
    const int64_t kind = classes.empty() ? s % kKinds : classes[static_cast<size_t>(s) % classes.size()];
    for (int64_t i = 0; i < width; ++i)
      values.push_back(pattern[static_cast<size_t>(kind * width + i)] + kNoise * random.normal());
  }
  return TensorData::f32(std::move(shape), values);
}

// Class c for the samples s = c, c + classes, ...; all positions of a sample have its class.
TensorData class_labels(const TensorType& label, const std::vector<int64_t>& classes, int64_t n) {
  Shape shape = samples_shape(label, n);
  const int64_t width = count(shape) / shape[0];
  std::vector<int64_t> values;
  for (int64_t s = 0; s < shape[0]; ++s)
    values.insert(values.end(), static_cast<size_t>(width), classes[static_cast<size_t>(s) % classes.size()]);
  return cast(TensorData::i64(std::move(shape), values), label.dtype);
}

// t = x T / sqrt(width): numbers about as large as the data, and a linear layer could learn them exactly.
TensorData teacher(const TensorData& x, const TensorType& target, int64_t n, Random& random) {
  Shape shape = samples_shape(target, n);
  const int64_t samples = shape[0], out = count(shape) / samples;
  const int64_t in = x.type().elements() / x.shape()[0];
  const float scale = 1.0f / std::sqrt(static_cast<float>(in));
  std::vector<float> matrix(static_cast<size_t>(in * out)), values(static_cast<size_t>(samples * out));
  for (auto& v : matrix) v = random.uniform() * scale;
  auto data = x.as<float>();
  for (int64_t s = 0; s < samples; ++s)
    for (int64_t i = 0; i < in; ++i)
      for (int64_t j = 0; j < out; ++j) {
        auto& sum = values[static_cast<size_t>(s * out + j)];
        sum = std::fmaf(data[static_cast<size_t>(s % x.shape()[0] * in + i)], matrix[static_cast<size_t>(i * out + j)],
                        sum);
      }
  return TensorData::f32(std::move(shape), values);
}

// Whether the truth is the probability of something: 0 or 1.
bool is_probability(const Program& program) {
  for (auto& node : program.graph.nodes())
    if (!node.outputs.empty() && node.outputs[0] == program.loss) return node.op.type.starts_with("BCE");
  return false;
}

TensorData zero_or_one(const TensorData& data) {
  std::vector<float> values;
  for (float v : data.as<float>()) values.push_back(v > 0 ? 1.0f : 0.0f);
  return TensorData::f32(data.shape(), values);
}

}  // namespace

Dataset synthetic_samples(const Program& program, int64_t micro_batches, uint64_t seed) {
  Random random(seed);
  Dataset set;
  const int64_t kinds = classes_of(program).count;
  std::vector<int64_t> classes;
  if (kinds > 0) {
    const int64_t samples = samples_shape(program.graph.at(program.label).type, micro_batches)[0];
    const auto first = static_cast<int64_t>(random.below(static_cast<uint64_t>(kinds)));
    for (int64_t s = 0; s < samples; ++s) classes.push_back((first + s) % kinds);
  }
  for (auto id : program.data) {
    auto& type = program.graph.at(id).type;
    auto values = patterns(type, classes, micro_batches, random);
    set.data.push_back(type.dtype == DType::F32 ? values : cast(values, type.dtype));
  }
  if (!program.label) return set;
  auto& label = program.graph.at(program.label).type;
  if (kinds > 0)
    set.label = class_labels(label, classes, micro_batches);
  else if (!set.data.empty() && label == program.graph.at(program.data[0]).type)
    set.label = set.data[0];  // what comes out is like what goes in: an autoencoder
  else if (!set.data.empty() && set.data[0].type().dtype == DType::F32)
    set.label = teacher(set.data[0], label, micro_batches, random);
  else
    set.label = TensorData::zeros({label.dtype, samples_shape(label, micro_batches)});
  if (kinds == 0 && is_probability(program)) set.label = zero_or_one(set.label);
  return set;
}

}  // namespace tessera::train
