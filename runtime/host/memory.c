/* Memory that is asked for once, at start-up: static, so that its addresses have 32 bits. */
#include <stdint.h>

#include "pmsis.h"

enum { POOL_SIZE = 4 << 20 };
static _Alignas(16) uint8_t pool[POOL_SIZE];
static uint32_t used;

static void* take(uint32_t size) {
  if (size > POOL_SIZE - used) return NULL;
  void* chunk = pool + used;
  used += (size + 15u) & ~15u;
  return chunk;
}

void* pi_l2_malloc(int size) {
  return size < 0 ? NULL : take((uint32_t)size);
}
void pi_l2_free(void* chunk, int size) {
  (void)chunk, (void)size;
}
void* pmsis_l1_malloc(uint32_t size) {
  return take(size);
}
void* pi_cl_l1_malloc(struct pi_device* device, uint32_t size) {
  (void)device;
  return take(size);
}
void pi_cl_l1_free(struct pi_device* device, void* chunk, int size) {
  (void)device, (void)chunk, (void)size;
}
