// The gradient nodes of an operator against central differences of its own reference, both in double precision.
//
//   auto n = one_node({"", "MatMul"}, {f32({2, 3}), f32({3, 4})}, {});
//   EXPECT_EQ(gradient_failure(n, random_arrays(n, rng), {true, true}, rng), "");
#pragma once

#include <random>
#include <string>
#include <vector>

#include "support/one_node.hpp"

namespace tessera::test {

// Values for the graph's inputs, in order: [-1, 1] where float, small integers elsewhere.
std::vector<ops::Array> random_arrays(const OneNode& n, std::mt19937& rng);

// Every float input that is not a constant.
std::vector<bool> differentiable(const OneNode& n);

// The first disagreement as text, "" where the gradients of all wanted inputs have the inputs' shapes and agree within
// `tolerance`, relative to max(1, |difference quotient|). At most 64 elements of an input are tried. `d_outputs`:
// which outputs something depends on; empty: all float ones.
std::string gradient_failure(const OneNode& n, std::vector<ops::Array> inputs, std::vector<bool> wanted,
                             std::mt19937& rng, double tolerance = 1e-6, std::vector<bool> d_outputs = {});

}  // namespace tessera::test
