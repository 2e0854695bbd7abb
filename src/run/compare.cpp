#include "run/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::run {
namespace {

double error_of(double value, double reference) {
  if (value == reference || (std::isnan(value) && std::isnan(reference))) return 0;
  const double error = std::abs(value - reference) / std::max(1.0, std::abs(reference));
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

}  // namespace

void Comparison::add(std::string_view name, const TensorData& value, const TensorData& reference) {
  for (int64_t i = 0; i < reference.type().elements(); ++i) {
    const double error = error_of(value.at(i), reference.at(i));
    worst = std::max(worst, error);
    if (error > tolerance && !first)
      first = fmt::format("{}[{}] is {:.9g}, the reference says {:.9g} (error {:.3g}, tolerance {:.3g})", name, i,
                          value.at(i), reference.at(i), error, tolerance);
  }
}

}  // namespace tessera::run
