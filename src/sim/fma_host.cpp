// The fused operations: with the host's own instruction where it has one, through the C library otherwise. Same bits.
#include "sim/ops_float.hpp"

namespace tessera::sim {
namespace {

inline constexpr auto library_fma = [](float a, float b, float c) { return std::fma(a, b, c); };

template <auto Fma>
FmaHandlers all() {
  return {handlers_of<FloatFma<false, false, Fma>>(), handlers_of<FloatFma<false, true, Fma>>(),
          handlers_of<FloatFma<true, false, Fma>>(), handlers_of<FloatFma<true, true, Fma>>()};
}

}  // namespace

#if defined(__x86_64__)
FmaHandlers fma_handlers_x86();
#endif

FmaHandlers fma_handlers() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("fma")) return fma_handlers_x86();
#endif
  return all<library_fma>();
}

}  // namespace tessera::sim
