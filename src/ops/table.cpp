#include "ops/table.hpp"

namespace tessera::ops {

std::span<const Operator* const> table() {
#define X(name) &defined::name,
  static constexpr const Operator* all[] = {TESSERA_OPERATORS(X)};
#undef X
  return all;
}

}  // namespace tessera::ops
