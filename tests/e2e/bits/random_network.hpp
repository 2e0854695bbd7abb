// Random networks out of every operator that trains, with the sizes that go wrong: primes, ones, batches of 1 and 7.
//
//   random_network(17) -> input f32[7,13], Gemm, Tanh, Add (a row), Softmax, Reshape, Gemm -> f32[7,5]
#pragma once

#include <cstdint>

#include "graph/graph.hpp"
#include "train/options.hpp"

namespace tessera::test {

struct RandomNetwork {
  Graph graph;
  train::Loss loss = train::Loss::CrossEntropy;
};

// The same seed gives the same network.
RandomNetwork random_network(uint64_t seed);

// Batch and layer normalisation in training, over groups that small memories cannot hold.
RandomNetwork normalizing_network(uint64_t seed);

}  // namespace tessera::test
