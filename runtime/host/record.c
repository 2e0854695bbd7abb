#include "record.h"

#ifdef TS_RECORD
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"
#include "host.h"

struct range {
  unsigned stamp, level, offset, bytes;
};
static struct range* ranges;
static size_t range_count;
static FILE* log_file;
static uint32_t running = UINT32_MAX;
static unsigned l2_bytes;

void ts_record_open(const char* plan, const char* log) {
  FILE* in = fopen(plan, "r");
  log_file = fopen(log, "wb");
  if (!in || !log_file) ts_host_die("the record cannot be opened");
  struct range r;
  if (fscanf(in, "%u", &l2_bytes) != 1) ts_host_die("the record's plan is damaged");
  while (fscanf(in, "%u %u %u %u", &r.stamp, &r.level, &r.offset, &r.bytes) == 4) {
    struct range* more = realloc(ranges, (range_count + 1) * sizeof *ranges);
    if (!more) ts_host_die("out of memory");
    ranges = more;
    ranges[range_count++] = r;
  }
  fclose(in);
}

static void number(uint32_t value) {
  for (int i = 0; i < 4; ++i) fputc((int)(value >> (8 * i) & 0xff), log_file);
}

static void stored(uint32_t level, uint32_t offset, const uint8_t* data, uint32_t bytes) {
  fputc('S', log_file);
  number(level);
  number(offset);
  number(bytes);
  fwrite(data, 1, bytes, log_file);
}

void ts_record_node(uint32_t stamp, const uint8_t* l1) {
  if (!log_file) return;
  for (size_t i = 0; i < range_count; ++i) {
    const struct range* r = &ranges[i];
    if (r->stamp != running) continue;
    if (r->level == 1) {
      stored(1, r->offset, l1 + r->offset, r->bytes);
      continue;
    }
    const struct ts_tensor home = {.level = (int32_t)r->level, .offset = r->offset, .bytes = r->bytes};
    uint8_t* data = malloc(r->bytes);
    if (!data) ts_host_die("out of memory");
    ts_read(&home, data);
    stored(r->level, r->offset, data, r->bytes);
    free(data);
  }
  fputc('N', log_file);
  number(stamp);
  running = stamp;
}

/* The pointer of the RAM's arena, and of the one in L2; what lies in neither goes inwards, and is no result. */
void ts_record_stored(const struct ts_transfer* t) {
  if (!log_file) return;
  const uint8_t *l2 = ts_run_config.l2, *l3 = ts_run_config.ram ? ts_host_ram(*ts_run_config.l3) : NULL;
  const int far = l3 && t->to >= l3 && t->to < l3 + ts_run_config.l3_bytes;
  const int near = t->to >= l2 && t->to < l2 + l2_bytes;
  if (!far && !near) return;
  for (uint32_t done = 0, line = 0; done < t->size; ++line) {
    const uint32_t bytes = t->size - done < t->line ? t->size - done : t->line;
    const uint8_t* to = t->to + (size_t)line * t->to_stride;
    stored(far ? 3 : 2, (uint32_t)(to - (far ? l3 : l2)), to, bytes);
    done += bytes;
  }
}

int ts_record_close(void) {
  if (!log_file) return 0;
  const int failed = ferror(log_file);
  return fclose(log_file) || failed;
}
#else
void ts_record_open(const char* plan, const char* log) {
  (void)plan, (void)log;
}
void ts_record_node(uint32_t stamp, const uint8_t* l1) {
  (void)stamp, (void)l1;
}
void ts_record_stored(const struct ts_transfer* transfer) {
  (void)transfer;
}
int ts_record_close(void) {
  return 0;
}
#endif
