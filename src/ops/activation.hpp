// The activation that FusedConv and FusedGemm of com.microsoft end with. As nodes of a user's model they are written
// out, and what the kernels can do on their way out is fused again when everything else is known.
//
//   FusedConv(x, w) {activation = "LeakyRelu", activation_params = [0.1]}  ->  Conv(x, w), LeakyRelu(., alpha = 0.1)
#pragma once

#include "ops/builder.hpp"

namespace tessera::ops {

// Whether the kernel ends with it: Relu, or none at all.
Result<bool> fused_relu(const NodeContext& n);

// The node without its activation and the activation, as two nodes; `addend`: what is added before it, if present.
Result<std::vector<TensorId>> without_activation(ExpandContext& e, OpName plain, size_t inputs, TensorId addend);

}  // namespace tessera::ops
