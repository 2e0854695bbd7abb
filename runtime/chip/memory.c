/* Memory that is asked for once, at start-up: what the linker left over, in order. */
#include <stddef.h>

#include "pmsis.h"

extern uint8_t __l1_heap[], __l1_heap_end[], __l2_heap[], __l2_heap_end[], __l3_heap[], __l3_heap_end[];

struct pool {
  uintptr_t next, end;
};
static struct pool l1, l2, l3;

static uintptr_t take(struct pool* pool, const uint8_t* begin, const uint8_t* end, uint32_t size) {
  if (!pool->end) *pool = (struct pool){(uintptr_t)begin, (uintptr_t)end};
  if (size > pool->end - pool->next) return UINTPTR_MAX;
  const uintptr_t chunk = pool->next;
  const uintptr_t rounded = (size + 15u) & ~15u;
  pool->next = rounded > pool->end - pool->next ? pool->end : pool->next + rounded;
  return chunk;
}

static void* pointer(uintptr_t chunk) {
  return chunk == UINTPTR_MAX ? NULL : (void*)chunk;
}

void* pi_l2_malloc(int size) {
  return size < 0 ? NULL : pointer(take(&l2, __l2_heap, __l2_heap_end, (uint32_t)size));
}
void pi_l2_free(void* chunk, int size) {
  (void)chunk, (void)size;
}
void* pmsis_l1_malloc(uint32_t size) {
  return pointer(take(&l1, __l1_heap, __l1_heap_end, size));
}
void* pi_cl_l1_malloc(struct pi_device* device, uint32_t size) {
  (void)device;
  return pmsis_l1_malloc(size);
}
void pi_cl_l1_free(struct pi_device* device, void* chunk, int size) {
  (void)device, (void)chunk, (void)size;
}

int pi_ram_alloc(struct pi_device* device, uint32_t* addr, uint32_t size) {
  (void)device;
  const uintptr_t chunk = take(&l3, __l3_heap, __l3_heap_end, size);
  if (chunk == UINTPTR_MAX) return -1;
  *addr = (uint32_t)chunk;
  return 0;
}
int pi_ram_free(struct pi_device* device, uint32_t addr, uint32_t size) {
  (void)device, (void)addr, (void)size;
  return 0;
}
