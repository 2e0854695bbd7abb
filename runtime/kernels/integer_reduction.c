#include "integer_reduction.h"

TS_ALL_INTEGER_REDUCTIONS(TS_DEFINE_REDUCTION)
