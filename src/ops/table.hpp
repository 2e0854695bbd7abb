// The explicit table: every operator is declared and listed here, and nowhere else. A file of src/ops includes this
// header and defines its operators under the names below:
//
//   X(Gemm)      and in gemm.cpp:      const Operator Gemm{.domain = "", .type = "Gemm", .since = 7, ...};
#pragma once

#include "ops/operator.hpp"

// One line an operator (or a form of it), the families in the order of their files.
#define TESSERA_OPERATORS(X) \
  /* views */                \
  X(Reshape)                 \
  X(Flatten)                 \
  X(Squeeze)                 \
  X(Unsqueeze)               \
  X(Identity)

namespace tessera::ops::defined {

#define X(name) extern const Operator name;
TESSERA_OPERATORS(X)
#undef X

}  // namespace tessera::ops::defined
