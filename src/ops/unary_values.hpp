// Functions of one number and their derivatives in double precision: what the references of elementwise operators are
// made of.
#pragma once

#include <cmath>
#include <numbers>

#include "ops/parameters.hpp"

namespace tessera::ops::values {

using P = ParameterValues;

inline double sigmoid(double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
inline double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}
inline double sign(double x) {
  return x > 0 ? 1 : x < 0 ? -1 : x;
}
inline double unit_clamp(double x) {
  return x < 0 ? 0 : x > 1 ? 1 : x;
}
inline double density(double x) {  // of the normal distribution
  return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
}
inline double below(double x) {  // how likely a normal number is below x
  return std::erfc(-x / std::numbers::sqrt2) / 2;
}

inline double elu(double x, P p) {
  return x < 0 ? p.alpha * std::expm1(x) : x;
}
inline double mish(double x) {
  return x * std::tanh(softplus(x));
}
inline double mish_slope(double x) {
  double t = std::tanh(softplus(x));
  return t + x * (1 - t * t) * sigmoid(x);
}
inline double swish_slope(double x, P p) {
  double s = sigmoid(p.alpha * x);
  return s + p.alpha * x * s * (1 - s);
}
// 0.5 x (1 + tanh(u)), u = sqrt(2/pi) (x + 0.044715 x^3)
inline double fast_gelu(double x) {
  double u = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return x * sigmoid(2 * u);
}
inline double fast_gelu_slope(double x) {
  double c = std::sqrt(2 / std::numbers::pi), s = sigmoid(2 * c * (x + 0.044715 * x * x * x));
  return s + x * s * (1 - s) * 2 * c * (1 + 3 * 0.044715 * x * x);
}
inline double gelu(double x) {
  return x * below(x);
}
inline double gelu_slope(double x) {
  return below(x) + x * density(x);
}

}  // namespace tessera::ops::values
