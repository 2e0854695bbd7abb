// Low-rank adapters: beside a frozen matrix of any linear layer, two small ones that train.
//
//   before: y = Gemm(x, fc.weight[out,in], fc.bias)
//   after:  y = Gemm(x, fc.weight, fc.bias) + alpha/rank * (x fc.lora_A') fc.lora_B'     A [rank,in], B [out,rank] = 0
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "graph/graph.hpp"

namespace tessera::train {

struct LoraOptions {
  int64_t rank = 4;
  float alpha = 16;
  std::string layers = "*";  // comma-separated patterns of layers: "blocks.*.q", or the last part of the name: "q,v"
  uint64_t seed = 1;         // of the A matrices
};

// Every Gemm and MatMul with a matrix of parameters, or its transpose, as its second operand or else its first, that
// the patterns choose; returns the adapters' parameters. B starts at zero, so the network computes what it did.
Result<std::vector<TensorId>> add_lora(Graph& graph, const LoraOptions& options);

}  // namespace tessera::train
