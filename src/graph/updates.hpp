// The operators that change parameters and gradients in place: which of a node's operands is the weight, the gradient,
// the rate.
//
//   update_form({"com.microsoft", "AdamWOptimizer"})   rate 0, step 1, weight 2, gradient 3, states 4 and 5
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "graph/graph.hpp"

namespace tessera {

// Operands by position. In files, those from the weight on may be several: one after the other (`Tensors`), or as
// sequences (`Sequences`). A graph has one node a weight: the importer divides the others.
struct UpdateForm {
  enum class Many : uint8_t { One, Tensors, Sequences };
  std::string_view domain, type;
  int rate = -1;  // -1: an attribute, or where the node has it as operand 2
  int step = -1;  // -1: it does not count its steps
  int weight = 0, gradient = 1;
  int states = 0;          // moments, behind the gradient
  int signal = -1;         // a flag that says whether to update at all
  int flag = -1;           // the output that says whether it did
  int updated = 0;         // the output that is the new weight; the new states follow it
  int64_t first_step = 1;  // what the step says at the first update
  Many many = Many::One;

  int groups() const { return 2 + states; }  // operands that there are as many of as weights
};

inline constexpr std::string_view kMicrosoft = "com.microsoft", kPreview = "ai.onnx.preview.training";

inline constexpr std::array kUpdateForms{
    UpdateForm{.domain = "", .type = "SGD"},
    UpdateForm{.domain = kMicrosoft, .type = "SGD"},
    UpdateForm{.domain = kMicrosoft, .type = "SGDOptimizer", .rate = 0, .weight = 1, .gradient = 2},
    UpdateForm{.domain = kMicrosoft,
               .type = "SGDOptimizerV2",
               .rate = 0,
               .weight = 1,
               .gradient = 2,
               .signal = 3,
               .flag = 0,
               .updated = 1,
               .many = UpdateForm::Many::Sequences},
    UpdateForm{.domain = kMicrosoft,
               .type = "AdamWOptimizer",
               .rate = 0,
               .step = 1,
               .weight = 2,
               .gradient = 3,
               .states = 2,
               .signal = 6,
               .flag = 0,
               .updated = 1,
               .many = UpdateForm::Many::Sequences},
    // Momentum and Adagrad say what they do at step 0; Adam's bias correction is right where the first step is 1.
    UpdateForm{.domain = kPreview,
               .type = "Momentum",
               .rate = 0,
               .step = 1,
               .weight = 2,
               .gradient = 3,
               .states = 1,
               .first_step = 0,
               .many = UpdateForm::Many::Tensors},
    UpdateForm{.domain = kPreview,
               .type = "Adagrad",
               .rate = 0,
               .step = 1,
               .weight = 2,
               .gradient = 3,
               .states = 1,
               .first_step = 0,
               .many = UpdateForm::Many::Tensors},
    UpdateForm{.domain = kPreview,
               .type = "Adam",
               .rate = 0,
               .step = 1,
               .weight = 2,
               .gradient = 3,
               .states = 2,
               .many = UpdateForm::Many::Tensors},
};

// Null: the operator is not an update.
constexpr const UpdateForm* update_form(std::string_view domain, std::string_view type) {
  for (auto& form : kUpdateForms)
    if (form.domain == domain && form.type == type) return &form;
  return nullptr;
}
inline const UpdateForm* update_form(const OpName& op) {
  return update_form(op.domain, op.type);
}

// The sum of the micro-batches' gradients. Ours and ONNX Runtime's stand in com.microsoft; Deeploy writes the same
// operator in the default domain.
inline bool is_accumulator(const Node& node) {
  return node.op.type == "InPlaceAccumulatorV2" && (node.op.domain.empty() || node.op.domain == kMicrosoft) &&
         !node.inputs.empty();
}

}  // namespace tessera
