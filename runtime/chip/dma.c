/* The calls of the cluster's DMA as functions, where who called them is to be known. */
#include "pmsis.h"

#ifdef TS_CHIP_SANITIZE
#define TS_DMA_CALL
#include "dma.h"
#endif
