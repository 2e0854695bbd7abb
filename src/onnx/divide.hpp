// Updates of several weights, as files have them, divided into one node a weight.
//
//   Adam(R, T, X1, X2, G1, G2, V1, V2, H1, H2) -> (X1', X2', V1', V2', H1', H2')
//   becomes  Adam(R, T, X1, G1, V1, H1) -> (X1', V1', H1')  and  Adam(R, T, X2, G2, V2, H2) -> (X2', V2', H2')
#pragma once

#include <vector>

#include "base/error.hpp"
#include "graph/graph.hpp"
#include "graph/updates.hpp"

namespace tessera::onnx {

// By operand of the form: one tensor, or as many as there are weights.
using OperandLists = std::vector<std::vector<TensorId>>;

// The flat operands of a form that has several tensors one after the other, by operand.
Result<OperandLists> group_inputs(const UpdateForm& form, const std::vector<TensorId>& flat);
OperandLists group_outputs(const UpdateForm& form, size_t weights, const std::vector<TensorId>& flat);

// One node a weight, named after `whole` and numbered where there are several; the last one has the flag.
Result<std::vector<Node>> divide(const UpdateForm& form, const Node& whole, const OperandLists& inputs,
                                 const OperandLists& outputs);

}  // namespace tessera::onnx
