// What losses over class labels have in common, forward and backward: attributes, shapes, labels that count.
//
//   scores f32[4,10,7,7], labels i64[4,7,7]  ->  class_lines: outer 4, axis 10, inner 49
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/lines.hpp"
#include "ops/operator.hpp"

namespace tessera::ops {

enum class LossReduction { None, Sum, Mean };  // in the kernels' numbering

Result<LossReduction> reduction_of(const NodeContext& n);
std::string reduction_name(LossReduction reduction);

struct LossAttributes {
  LossReduction reduction = LossReduction::Mean;
  std::optional<int64_t> ignore;  // a label that does not count
};
// ignore_index is the attribute, or the constant input `ignore_input` (-1: there is no such input).
Result<LossAttributes> loss_attributes(const NodeContext& n, int ignore_input);

// Which input is which; -1: the operator has none.
struct ClassOperands {
  int dloss, scores, labels, weights, ignore, bias;
};

// The scores as [samples, classes, inner], with labels and weights checked against them.
Result<Lines> class_lines(const NodeContext& n, const ClassOperands& operands);

// The kernels' fields label_words, ignore and reduction.
std::vector<KernelCall::Field> label_fields(const NodeContext& n, const ClassOperands& operands,
                                            const LossAttributes& loss, int64_t classes);

// For references: the class where the label counts, and its weight (0 where it does not).
std::optional<int64_t> counted_label(double label, const LossAttributes& loss, int64_t classes);
double label_weight(std::optional<int64_t> label, const Array* weights);

}  // namespace tessera::ops
