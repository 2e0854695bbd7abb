// Results against a reference: the largest error, and the first item that is too far off.
//
//   Comparison c(1e-3); c.add("losses", losses, reference);
//   c.worst -> 2e-7        c.first -> "losses[3] is 2.31, the reference says 2.10 (error 0.1)"
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "graph/tensor.hpp"

namespace tessera::run {

struct Comparison {
  explicit Comparison(double limit) : tolerance(limit) {}

  // Element by element, relative to max(1, |reference|). What is NaN on one side only is infinitely far off. Both have
  // the same number of elements.
  void add(std::string_view name, const TensorData& value, const TensorData& reference);

  double tolerance;
  double worst = 0;
  std::optional<std::string> first;
};

}  // namespace tessera::run
