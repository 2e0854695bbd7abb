/* The external RAM behind the uDMA's HyperBus channel. Reads go through one transaction id, writes through the other;
 * each id does its transactions in order. A request that finds its id's fifo full waits in a queue, whose nodes are the
 * requests themselves, and is started when somebody waits or asks for another transfer. */
#include <stddef.h>

#include "chip.h"
#include "pmsis.h"
#include "profile.h"
#include "rules.h"

enum {
  HYPER = 0x280, /* from the uDMA's base */
  ID_SPAN = 0x80,
  RX = 0x00, /* L2 address, size, config */
  TX = 0x0c,
  SETUP = 0x18,
  RAM_ADDRESS = 0x1c,
  STATUS = 0x24, /* bit 0: busy; from bit 1: transactions */
  TWO_D = 0x28,  /* enable, line, stride */
  PAGE_BOUND = 0x100,
  LATENCY = 0x104,
  EXTRA_LATENCY = 0x108,
  CS_MAX = 0x10c,
  DEVICE = 0x120,
  START = 0x10,
  MEMORY_READ = 5,
  MEMORY_WRITE = 1,
  FIFO = 8,
  MOST_BYTES = 1 << 19, /* in a transaction of the blocking calls */
};

/* By direction: 1 reads. Counted over all time; `ended` as the engine's status last said it. A word of a request costs
 * the cluster a passage to L2, hence a request has one until it must wait: its number, and what of it is known here. */
TS_CHIP_NEAR static struct {
  uint32_t started, ended;
  uint32_t strided; /* what the engine was last told */
  pi_cl_ram_req_t *first, *last;
} queues[2];

enum { READS = 1, QUEUED = 2, NUMBER = 4 }; /* of a request's id */

static inline volatile uint32_t* hyper(uint32_t id, uint32_t offset) {
  return ts_register(TS_CHIP_UDMA + HYPER + id * ID_SPAN + offset);
}

/* What the request is from then on. The engine keeps what it was told before. */
static int32_t start(uint32_t id, uint32_t ram, uint32_t data, uint32_t size, uint32_t stride, uint32_t length) {
  const uint32_t side = id ? RX : TX, strided = length < size;
  if (queues[id].strided != strided) *hyper(id, TWO_D) = queues[id].strided = strided;
  if (strided) {
    *hyper(id, TWO_D + 4) = length;
    *hyper(id, TWO_D + 8) = stride;
  }
  *hyper(id, RAM_ADDRESS) = ram;
  *hyper(id, side) = data;
  *hyper(id, side + 4) = size;
  *hyper(id, side + 8) = START;
  return (int32_t)(++queues[id].started * NUMBER | id);
}

static uint32_t ended(uint32_t id) {
  return queues[id].ended = queues[id].started - (*hyper(id, STATUS) >> 1);
}

static int has_room(uint32_t id) {
  return queues[id].started - queues[id].ended < FIFO || queues[id].started - ended(id) < FIFO;
}

static void start_queued(uint32_t id) {
  for (pi_cl_ram_req_t* r; (r = queues[id].first) && has_room(id);) {
    queues[id].first = r->next;
    r->id = start(id, r->ram, r->data, r->size, r->stride, r->length);
  }
}

static void enqueue(uint32_t ram, void* to, uint32_t size, uint32_t stride, uint32_t length, uint32_t id,
                    pi_cl_ram_req_t* req) {
  const uint32_t data = (uint32_t)(uintptr_t)to;
  TS_RULE_NOTE(req->data, data);
  if (queues[id].first) start_queued(id);
  if (!queues[id].first && has_room(id)) {
    req->id = start(id, ram, data, size, stride, length);
    return;
  }
  *req = (pi_cl_ram_req_t){.ram = ram,
                           .data = data,
                           .size = size,
                           .stride = stride,
                           .length = length,
                           .id = (int32_t)(id | QUEUED),
                           .state = req->state};
  if (queues[id].first)
    queues[id].last->next = req;
  else
    queues[id].first = req;
  queues[id].last = req;
}

void pi_cl_ram_copy_2d(struct pi_device* device, uint32_t ram, void* data, uint32_t size, uint32_t stride,
                       uint32_t length, int ext2loc, pi_cl_ram_req_t* req) {
  (void)device;
  TS_RULE_ISSUE(req, (uint32_t)(uintptr_t)data);
  enqueue(ram, data, size, stride, length, ext2loc != 0, req);
}
void pi_cl_ram_copy(struct pi_device* device, uint32_t ram, void* data, uint32_t size, int ext2loc,
                    pi_cl_ram_req_t* req) {
  pi_cl_ram_copy_2d(device, ram, data, size, size, size, ext2loc, req);
}
void pi_cl_ram_read(struct pi_device* device, uint32_t ram, void* data, uint32_t size, pi_cl_ram_req_t* req) {
  pi_cl_ram_copy(device, ram, data, size, 1, req);
}
void pi_cl_ram_write(struct pi_device* device, uint32_t ram, void* data, uint32_t size, pi_cl_ram_req_t* req) {
  pi_cl_ram_copy(device, ram, data, size, 0, req);
}

static void finish(const volatile pi_cl_ram_req_t* request) {
  uint32_t number;
  while ((number = (uint32_t)request->id) & QUEUED) start_queued(number & READS);
  const uint32_t id = number & READS;
  number -= id;
  while ((int32_t)(queues[id].ended * NUMBER - number) < 0 && (int32_t)(ended(id) * NUMBER - number) < 0)
    if (queues[id].first) start_queued(id);
}

void pi_cl_ram_copy_wait(pi_cl_ram_req_t* req) {
  TS_RULE_WAIT(req, req->data);
  ts_mark(TS_MARK_WAIT);
  finish(req);
  ts_mark(TS_MARK_END);
}

/* The fabric controller's blocking calls; transfers longer than a transaction go in parts. */
static void blocking(uint32_t ram, uint8_t* data, uint32_t size, uint32_t id) {
  for (uint32_t at = 0; at < size; at += MOST_BYTES) {
    pi_cl_ram_req_t request;
    const uint32_t rest = size - at, part = rest < MOST_BYTES ? rest : MOST_BYTES;
    enqueue(ram + at, data + at, part, part, part, id, &request);
    finish(&request);
  }
}
void pi_ram_read(struct pi_device* device, uint32_t ram, void* data, uint32_t size) {
  (void)device;
  blocking(ram, data, size, 1);
}
void pi_ram_write(struct pi_device* device, uint32_t ram, void* data, uint32_t size) {
  (void)device;
  blocking(ram, data, size, 0);
}

void pi_hyperram_conf_init(struct pi_hyperram_conf* conf) {
  conf->id = 0;
}
int pi_ram_open(struct pi_device* device) {
  (void)device;
  *ts_register(TS_CHIP_UDMA) = ~0u; /* clocks */
  *hyper(0, PAGE_BOUND) = 3;
  *hyper(0, LATENCY) = 6;
  *hyper(0, EXTRA_LATENCY) = 1;
  *hyper(0, CS_MAX) = ~0u;
  *hyper(0, DEVICE) = 0;
  for (uint32_t id = 0; id < 2; ++id) {
    queues[id].started = queues[id].ended = queues[id].strided = 0;
    queues[id].first = NULL;
    *hyper(id, TWO_D) = 0;
    *hyper(id, SETUP) = id ? MEMORY_READ : MEMORY_WRITE;
  }
  return 0;
}
void pi_ram_close(struct pi_device* device) {
  (void)device;
}
