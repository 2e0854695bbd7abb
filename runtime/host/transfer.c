/* Transfers on a host: recorded when they are issued, done at the latest legal moment, when they are waited for. A
 * program that reads too early, or that overwrites what is still to be read, gets wrong bits.
 *
 * With TS_SANITIZE a transfer is done at a random legal moment instead; until the wait its destination holds poison and
 * may not be touched, and its source may not change. */
#include "transfer.h"

#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "pmsis.h"
#include "record.h"

enum { MAX_IN_FLIGHT = 256, BUSY = 0x42555359 };

static struct ts_transfer flights[MAX_IN_FLIGHT];
static int in_flight;

uint8_t* ts_host_pointer(uint32_t address) {
  return (uint8_t*)(uintptr_t)address;
}

/* The next line: its size, or 0 at the end. */
static uint32_t line_at(const struct ts_transfer* t, uint32_t line) {
  uint64_t start = (uint64_t)line * t->line;
  if (start >= t->size) return 0;
  uint64_t rest = t->size - start;
  return rest < t->line ? (uint32_t)rest : t->line;
}

static void copy(const struct ts_transfer* t) {
  for (uint32_t i = 0, size; (size = line_at(t, i)) != 0; ++i)
    memcpy(t->to + (size_t)i * t->to_stride, t->from + (size_t)i * t->from_stride, size);
}

#ifdef TS_SANITIZE
#include <sanitizer/asan_interface.h>

static uint64_t random_state;
static struct {
  uint8_t* source;     /* as it was at the issue, dense */
  uint32_t calls_left; /* until it is done; UINT32_MAX: at its wait */
  int done;
} fates[MAX_IN_FLIGHT];

void ts_host_seed(uint64_t seed) {
  random_state = seed;
}

static uint32_t next_random(uint32_t below) {
  uint64_t z = random_state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (uint32_t)((z >> 33) % below);
}

/* A signalling NaN where the destination holds floats, far out of range where it holds integers. */
static uint8_t poison_byte(uint32_t position) {
  static const uint8_t word[4] = {0xad, 0x0b, 0xa0, 0x7f};
  return word[position % 4];
}

static void forbid(const struct ts_transfer* t) {
  for (uint32_t i = 0, size; (size = line_at(t, i)) != 0; ++i)
    ASAN_POISON_MEMORY_REGION(t->to + (size_t)i * t->to_stride, size);
}

static void allow(const struct ts_transfer* t) {
  for (uint32_t i = 0, size; (size = line_at(t, i)) != 0; ++i)
    ASAN_UNPOISON_MEMORY_REGION(t->to + (size_t)i * t->to_stride, size);
}

static void effect(int id) {
  struct ts_transfer* t = &flights[id];
  allow(t);
  for (uint32_t i = 0, size; (size = line_at(t, i)) != 0; ++i)
    for (uint32_t b = 0; b < size; ++b)
      if (t->to[(size_t)i * t->to_stride + b] != poison_byte(b))
        ts_host_die("the destination of a transfer was written while it was in flight");
  copy(t);
  forbid(t);
  fates[id].done = 1;
}

static void begin(int id) {
  struct ts_transfer* t = &flights[id];
  fates[id].done = 0;
  fates[id].source = malloc(t->size);
  if (!fates[id].source) ts_host_die("out of memory");
  for (uint32_t i = 0, size; (size = line_at(t, i)) != 0; ++i)
    memcpy(fates[id].source + (size_t)i * t->line, t->from + (size_t)i * t->from_stride, size);
  for (uint32_t i = 0, size; (size = line_at(t, i)) != 0; ++i)
    for (uint32_t b = 0; b < size; ++b) t->to[(size_t)i * t->to_stride + b] = poison_byte(b);
  forbid(t);
  switch (next_random(4)) {
    case 0:
      effect(id);
      break;
    case 1:
      fates[id].calls_left = UINT32_MAX;
      break;
    default:
      fates[id].calls_left = 1 + next_random(8);
  }
}

static void end(int id) {
  struct ts_transfer* t = &flights[id];
  if (!fates[id].done) effect(id);
  allow(t);
  for (uint32_t i = 0, size; (size = line_at(t, i)) != 0; ++i) {
    const uint8_t* source = fates[id].source + (size_t)i * t->line;
    if (memcmp(source, t->from + (size_t)i * t->from_stride, size))
      ts_host_die("the source of a transfer changed while it was in flight");
    if (memcmp(source, t->to + (size_t)i * t->to_stride, size))
      ts_host_die("the destination of a transfer was written while it was in flight");
  }
  free(fates[id].source);
}

void ts_host_tick(void) {
  for (int id = 0, seen = 0; seen < in_flight; ++id) {
    if (!flights[id].request) continue;
    ++seen;
    if (!fates[id].done && fates[id].calls_left != UINT32_MAX && --fates[id].calls_left == 0) effect(id);
  }
}
#else
void ts_host_seed(uint64_t seed) {
  (void)seed;
}
void ts_host_tick(void) {}
static void begin(int id) {
  (void)id;
}
static void end(int id) {
  copy(&flights[id]);
}
#endif

void ts_host_issue(const struct ts_transfer* transfer, int32_t* id, int32_t* state) {
  if (pi_core_id() != 0) ts_host_die("a transfer is issued by a core other than 0");
  if (*state == BUSY) ts_host_die("a request is used again while its transfer is in flight");
  if (transfer->size == 0 || transfer->line == 0) ts_host_die("a transfer of no bytes");
  ts_host_tick();
  int free_id = 0;
  while (free_id < MAX_IN_FLIGHT && flights[free_id].request) ++free_id;
  if (free_id == MAX_IN_FLIGHT) ts_host_die("too many transfers in flight");
  flights[free_id] = *transfer;
  *id = free_id;
  *state = BUSY;
  ++in_flight;
  begin(free_id);
}

void ts_host_wait(const void* request, int32_t id, int32_t* state) {
  if (*state != BUSY) ts_host_die("a wait for a request that has no transfer in flight");
  if (flights[id].request != request)
    ts_host_die("a request was copied or overwritten while its transfer was in flight");
  ts_host_tick();
  end(id);
  ts_record_stored(&flights[id]);
  flights[id].request = NULL;
  *state = 0;
  --in_flight;
}

void ts_host_expect_idle(void) {
  if (in_flight != 0) ts_host_die("a transfer was never waited for");
}
