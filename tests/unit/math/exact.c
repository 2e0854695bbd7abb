/* True values, in double precision, for floats by the block. Compiled so that the loops take libmvec's vector
 * functions, which are within 4 units of a double's last place: far below what a float can tell. */
#include "exact.h"

#include <math.h>

#define EXACT(name, value)                                  \
  void exact_##name(const float* from, double* to, int n) { \
    for (int i = 0; i < n; ++i) {                           \
      const double x = from[i];                             \
      to[i] = (value);                                      \
    }                                                       \
  }
MATH_FUNCTIONS(EXACT)
