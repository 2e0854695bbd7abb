// Samples for a program: one array a data input, and the truth. The first axis counts samples.
//
//   bind_dataset(program, {"input": f32[100,784], "label": i64[100]}, Rows::Samples, "d.npz")   a program of batch 4:
//   micro_batch(dataset.data[0], f32[4,784], 25) -> samples 0..3 (100 samples are 25 micro-batches, then it cycles)
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "onnx/bind.hpp"
#include "train/program.hpp"

namespace tessera::train {

struct Dataset {
  std::vector<TensorData> data;    // by Program::data
  TensorData label;                // where the program has one
  std::vector<std::string> notes;  // for the user: arrays that nothing asked for
};

// The truth is found as the input's name, as `label` or as `target`. Refuses, beside what binding refuses, a class that
// is not there and inputs with different numbers of samples.
Result<Dataset> bind_dataset(const Program& program, std::span<const onnx::NamedArray> arrays, onnx::Rows rows,
                             const std::string& source);

// Samples [i*batch, (i+1)*batch), cycling; `input` is the type of the program's input, with the batch as first axis.
TensorData micro_batch(const TensorData& samples, const TensorType& input, int64_t i);

// Without the samples that so many micro-batches do not reach: a data set may be far larger than a device.
Dataset reached(const Program& program, Dataset dataset, int64_t micro_batches);

// How many classes the labels of a program choose from, and the label that counts for nothing (if any).
struct Classes {
  int64_t count = 0;  // 0: the truth is not a class
  std::optional<int64_t> ignored;
};
Classes classes_of(const Program& program);

// Seeded samples that the network can learn: a pattern for each class, with noise; or, where the truth is a number,
// what a linear teacher says, or the sample itself where it has the shape of one. Enough for `micro_batches`, the same
// on every machine.
Dataset synthetic_samples(const Program& program, int64_t micro_batches, uint64_t seed);

}  // namespace tessera::train
