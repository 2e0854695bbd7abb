#include "select.h"

TS_CHOICES(TS_DEFINE_TERNARY)
