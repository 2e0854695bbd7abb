// The fused operations with the x86 FMA instruction; chosen at run time by fma_host.cpp.
#if defined(__x86_64__)
#include "sim/ops_float.hpp"

namespace tessera::sim {
namespace {

// asm, so that this file needs no flags of its own and nothing else in it is compiled for a newer CPU.
inline constexpr auto hardware_fma = [](float a, float b, float c) {
  __asm__("vfmadd213ss %2, %1, %0" : "+x"(a) : "x"(b), "x"(c));
  return a;
};

}  // namespace

FmaHandlers fma_handlers_x86() {
  return {handlers_of<FloatFma<false, false, hardware_fma>>(), handlers_of<FloatFma<false, true, hardware_fma>>(),
          handlers_of<FloatFma<true, false, hardware_fma>>(), handlers_of<FloatFma<true, true, hardware_fma>>()};
}

}  // namespace tessera::sim
#endif
