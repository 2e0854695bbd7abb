#include "sim/kinds.hpp"

#include <array>

#include "sim/ops_float.hpp"
#include "sim/ops_pulp.hpp"

namespace tessera::sim {

const HandlerSet& handlers_of_kind(Kind kind) {
  static const auto table = [] {
    std::array<HandlerSet, static_cast<size_t>(Kind::Count)> t{};
#define X(name, ...) t[static_cast<size_t>(Kind::name)] = handlers_of<__VA_ARGS__>();
    TESSERA_KINDS(X)
#undef X
    const FmaHandlers fma = fma_handlers();
    t[static_cast<size_t>(Kind::Fmadd)] = fma.madd, t[static_cast<size_t>(Kind::Fmsub)] = fma.msub;
    t[static_cast<size_t>(Kind::Fnmsub)] = fma.nmsub, t[static_cast<size_t>(Kind::Fnmadd)] = fma.nmadd;
    return t;
  }();
  return table[static_cast<size_t>(kind)];
}

}  // namespace tessera::sim
