/* A transfer in flight, whichever engine it belongs to. */
#ifndef TS_HOST_TRANSFER_H
#define TS_HOST_TRANSFER_H

#include <stdint.h>

/* `size` bytes in lines of `line` bytes, the last one perhaps shorter. */
struct ts_transfer {
  const void* request; /* whose transfer it is */
  uint8_t *from, *to;
  uint32_t from_stride, to_stride;
  uint32_t size, line;
};

uint8_t* ts_host_pointer(uint32_t address);
/* `id` and `state` are the request's own fields. */
void ts_host_issue(const struct ts_transfer* transfer, int32_t* id, int32_t* state);
void ts_host_wait(const void* request, int32_t id, int32_t* state);

#endif
