// Reverse-mode differentiation: appends the nodes that compute the gradient of a scalar.
//
//   before: y = Relu(x), loss = f(y)       after: + y_grad = fGrad(...), x_grad = ReluGrad(y_grad, y)
#pragma once

#include <functional>
#include <vector>

#include "base/error.hpp"
#include "graph/graph.hpp"

namespace tessera::train {

// Appends to `graph` the gradient of `loss` with respect to each of `wanted`, and calls `ready(tensor, gradient)` as
// soon as a wanted gradient is complete, so that its consumer can stand right behind it. Only the paths from wanted
// tensors to the loss are differentiated. A wanted tensor that the loss does not depend on gets no call.
Result<void> add_backward(Graph& graph, TensorId loss, const std::vector<TensorId>& wanted,
                          const std::function<Result<void>(TensorId, TensorId)>& ready);

}  // namespace tessera::train
