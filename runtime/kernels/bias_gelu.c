#include "bias_gelu.h"

#include "ts_gelu.h"

TS_BIAS_GELUS(TS_DEFINE_BINARY)
TS_BIAS_GELU_GRADIENTS(TS_DEFINE_TERNARY)
