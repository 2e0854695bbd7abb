// Convolutions and pools of random geometry: one to three axes, groups, strides, dilations, odd and uneven pads.
#pragma once

#include <random>
#include <vector>

#include "support/one_node.hpp"

namespace tessera::test {

struct ConvCase {
  Shape x, w;  // [n, groups * c, ...], [groups * m, c, ...]
  int64_t groups = 1;
  Attributes attributes;
};

inline int64_t among(std::mt19937& rng, int64_t lo, int64_t hi) {
  return std::uniform_int_distribution<int64_t>(lo, hi)(rng);
}

// Spatial extents, kernel and the attributes of a window that fits; `large`: extents up to it.
struct WindowCase {
  Shape in, kernel;
  Attributes attributes;
};
inline WindowCase random_window(std::mt19937& rng, int64_t large, bool auto_pad = true) {
  WindowCase c;
  std::vector<int64_t> strides, dilations, pads, ends;
  size_t rank = 1 + rng() % 3;
  if (rank == 3) large = std::min<int64_t>(large, 6);
  for (size_t i = 0; i < rank; ++i) {
    int64_t kernel = among(rng, 1, rng() % 3 ? 3 : 5);
    strides.push_back(among(rng, 1, 3));
    dilations.push_back(rng() % 3 ? 1 : among(rng, 1, 3));
    auto span = (kernel - 1) * dilations.back() + 1;
    pads.push_back(rng() % 2 ? among(rng, 0, span - 1) : 0);
    ends.push_back(rng() % 2 ? among(rng, 0, span - 1) : 0);
    c.in.push_back(std::max(span - pads.back() - ends.back(), among(rng, 1, large)));
    c.kernel.push_back(kernel);
  }
  pads.insert(pads.end(), ends.begin(), ends.end());
  c.attributes = {{"strides", strides}, {"dilations", dilations}};
  const char* modes[] = {"SAME_UPPER", "SAME_LOWER"};
  if (auto_pad && rng() % 4 == 0)
    c.attributes.set("auto_pad", modes[rng() % 2]);
  else
    c.attributes.set("pads", pads);
  return c;
}

inline ConvCase random_conv(std::mt19937& rng, int64_t channels, int64_t large) {
  auto window = random_window(rng, large);
  ConvCase c;
  c.groups = rng() % 3 ? 1 : among(rng, 1, 5);
  auto per_group = [&] { return c.groups > 1 && rng() % 2 ? 1 : random_extent(rng, channels); };
  int64_t m = per_group(), in = per_group();
  c.x = {random_extent(rng, 3), c.groups * in};
  c.w = {c.groups * m, in};
  c.x.insert(c.x.end(), window.in.begin(), window.in.end());
  c.w.insert(c.w.end(), window.kernel.begin(), window.kernel.end());
  c.attributes = window.attributes;
  c.attributes.set("group", c.groups);
  return c;
}

inline OneNode weight_gradient(const ConvCase& c) {
  auto forward = one_node({"", "Conv"}, {f32(c.x), f32(c.w)}, c.attributes);
  if (!forward.status) return forward;
  auto dy = forward.graph.at(forward.graph.outputs[0]).type.shape;
  auto n = one_node({"com.microsoft", "ConvGrad"}, {f32(dy), f32(c.x), f32(c.w)}, c.attributes, 2);
  n.graph.at(n.node).outputs[0] = {};
  return n;
}

// The transposed convolution that goes back to x.
inline OneNode data_gradient(const ConvCase& c) {
  auto forward = one_node({"", "Conv"}, {f32(c.x), f32(c.w)}, c.attributes);
  if (!forward.status) return forward;
  auto dy = forward.graph.at(forward.graph.outputs[0]).type.shape;
  auto attributes = c.attributes;
  attributes.set("output_shape", Shape(c.x.begin() + 2, c.x.end()));
  return one_node({"", "ConvTranspose"}, {f32(dy), f32(c.w)}, attributes);
}

}  // namespace tessera::test
