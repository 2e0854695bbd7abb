#include "trigonometric.h"

#include "ts_hyperbolic.h"
#include "ts_trig.h"

TS_TRIGONOMETRIC_FUNCTIONS(TS_DEFINE_MAP)
TS_TRIGONOMETRIC_GRADIENTS(TS_DEFINE_GRADIENT)
