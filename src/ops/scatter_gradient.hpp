// The gradient of scattering, with every reduction, for indices along an axis and for tuples of indices alike.
//
//   y = ScatterElements(x, i, u) {reduction = add}      dx = dy,  du = GatherElements(dy, i)
#pragma once

#include "ops/operator.hpp"

namespace tessera::ops {

// Of a node (data, indices, updates) whose reduction is the number `reduction` (see scatter_reduction): `scatter` and
// `gather` are the operators that put and pick, with their attributes. Where a maximum or minimum is the data's own,
// the data has the gradient; equal updates share it.
Result<std::vector<TensorId>> scatter_gradient(GradientContext& g, std::string scatter, std::string gather,
                                               Attributes attributes, int64_t reduction);

}  // namespace tessera::ops
