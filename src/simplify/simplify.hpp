// Makes a graph as small as what is known at compile time allows, and infers every type on the way.
//
//   Shape(x) -> Gather(., 0) -> Concat(., [-1]) -> Reshape(y, .)     becomes     Reshape(y, [4,-1])
//   Einsum("ij,jk->ik", a, b)                                        becomes     MatMul(a, b)
#pragma once

#include "base/error.hpp"
#include "graph/graph.hpp"

namespace tessera::simplify {

// Which compositions are written out. Before the backward pass only those without a gradient of their own, so that a
// Split has its Concat; afterwards every one.
enum class Compositions : uint8_t { WithoutGradient, All };

// Node by node, in order: compositions are written out (Operator::expand), types inferred, and what has a known result
// becomes a Constant. So a shape that a chain of nodes computes is known when the node that needs it is met. Tensors
// keep their ids and names. A Parameter that is only used at compile time (the scales of a Resize) becomes a Constant.
Result<void> simplify(Graph& graph, Compositions which = Compositions::All);

// Work that one kernel does on its way out: the bias of a Conv or MatMul, and the Relu of a Conv or Gemm, where nobody
// else reads what stands between. Keeps every bit.
//   before: MatMul -> Add(., b) -> Relu        after: FusedGemm(a, w, b) {activation = Relu}
Result<void> fuse(Graph& graph);

// A BatchNormalization with known statistics goes into the weights of the Conv before it. For inference: the weights
// are others, and the last bits of the result, too.
void fold_batch_norms(Graph& graph);

// Drops the nodes that no output, parameter or state needs, and outputs (but the first) that nobody reads. What remains
// and has no elements is refused: there would be nothing to compute.
Result<void> prune(Graph& graph);

}  // namespace tessera::simplify
