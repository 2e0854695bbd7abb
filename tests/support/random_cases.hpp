// Nodes of the elementwise, softmax, loss and update families with random shapes, and values that suit them.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "support/one_node.hpp"

namespace tessera::test {

inline Shape random_shape(std::mt19937& rng, size_t most_axes, int64_t most) {
  Shape shape(rng() % (most_axes + 1));
  for (auto& extent : shape) extent = random_extent(rng, most);
  return shape;
}

// A shape that broadcasts with the given one: some axes 1, some leading ones missing.
inline Shape random_partner(std::mt19937& rng, Shape shape) {
  for (auto& extent : shape)
    if (rng() % 3 == 0) extent = 1;
  shape.erase(shape.begin(), shape.begin() + static_cast<long>(rng() % 3 ? 0 : rng() % (shape.size() + 1)));
  return shape;
}

// Class scores with labels: [samples, classes, ...] and [samples, ...].
struct ClassCase {
  Shape scores, labels;
  DType label_type = DType::I64;
  bool weights = false;
  Attributes attributes;
  int64_t classes() const { return scores[1]; }
};
inline ClassCase random_class_case(std::mt19937& rng, int variant) {
  ClassCase c;
  c.scores = {random_extent(rng, 9), random_extent(rng, 11)};
  for (unsigned i = 0, axes = rng() % 3; i < axes; ++i) c.scores.push_back(random_extent(rng, 5));
  c.labels = c.scores;
  c.labels.erase(c.labels.begin() + 1);
  c.label_type = rng() % 2 ? DType::I64 : DType::I32;
  const char* reductions[] = {"mean", "sum", "none"};
  c.attributes.set("reduction", reductions[variant % 3]);
  c.weights = variant / 3 % 2 == 1;
  if (variant / 6 % 2 == 1) c.attributes.set("ignore_index", static_cast<int64_t>(rng() % 2 ? -100 : 0));
  return c;
}

// Labels: mostly classes; -100 (ignored, or outside and so ignored too) now and then, but not all of them.
inline TensorData random_labels(std::mt19937& rng, const ClassCase& c) {
  std::vector<int64_t> labels(static_cast<size_t>(count(c.labels)));
  for (auto& l : labels) l = rng() % 5 == 0 ? -100 : static_cast<int64_t>(rng() % static_cast<unsigned>(c.classes()));
  labels.back() = c.classes() - 1;
  return cast(TensorData::i64(c.labels, labels), c.label_type);
}

inline TensorData random_floats(std::mt19937& rng, Shape shape, float lo, float hi) {
  std::uniform_real_distribution<float> uniform(lo, hi);
  std::vector<float> v(static_cast<size_t>(count(shape)));
  for (auto& x : v) x = uniform(rng);
  return TensorData::f32(std::move(shape), v);
}

}  // namespace tessera::test
