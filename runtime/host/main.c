/* The entry point on a host: runs the network and writes its results.
 *
 *   ./network [--out FILE] [--seed N] [--record-plan FILE --record FILE]
 *
 * FILE: a line "tessera results 1", then records, each a line "KIND TYPE SHAPE BYTES LENGTH" ("-" is the shape of a
 * scalar), LENGTH bytes of name and BYTES bytes of values. There are no cycles on a host: BENCH prints 0. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "host.h"
#include "record.h"

static void write_record(FILE* out, const char* kind, const char* type, const char* shape, const char* name,
                         const void* data, size_t bytes) {
  fprintf(out, "%s %s %s %zu %zu\n%s", kind, type, *shape ? shape : "-", bytes, strlen(name), name);
  fwrite(data, 1, bytes, out);
}

static void write_parameters(FILE* out) {
  for (uint32_t i = 0; i < ts_run_config.parameter_count; ++i) {
    const struct ts_tensor* p = &ts_run_config.parameters[i];
    void* data = malloc(p->bytes);
    if (!data) ts_host_die("out of memory");
    ts_read(p, data);
    write_record(out, "parameter", p->type, p->shape, p->name, data, p->bytes);
    free(data);
  }
}

static void write_outputs(FILE* out) {
  const uint8_t* at = ts_outputs;
  for (uint32_t run = 0; run < ts_run_config.steps; ++run)
    for (uint32_t i = 0; i < ts_run_config.output_count; ++i) {
      const struct ts_tensor* t = &ts_run_config.outputs[i];
      write_record(out, "output", t->type, t->shape, t->name, at, t->bytes);
      at += t->bytes;
    }
}

static int write_results(const char* path) {
  FILE* out = fopen(path, "wb");
  if (!out) return -1;
  fprintf(out, "tessera results 1\n");
  if (ts_run_config.loss) {
    uint32_t runs = ts_run_config.steps * ts_run_config.accumulate;
    char shape[16];
    snprintf(shape, sizeof shape, "%u", (unsigned)runs);
    write_record(out, "losses", "f32", shape, "", ts_losses, runs * sizeof(float));
  } else {
    write_outputs(out);
  }
  write_parameters(out);
  int failed = ferror(out);
  return fclose(out) || failed ? -1 : 0;
}

#ifdef TS_SANITIZE
#include <sanitizer/asan_interface.h>
/* The L2 arena is made by the assembler, which knows nothing of red zones. */
extern uint8_t ts_l2_before[64], ts_l2_after[64];
static void guard_arenas(void) {
  ASAN_POISON_MEMORY_REGION(ts_l2_before, sizeof ts_l2_before);
  ASAN_POISON_MEMORY_REGION(ts_l2_after, sizeof ts_l2_after);
}
#else
static void guard_arenas(void) {}
#endif

int main(int argc, char** argv) {
  const char *path = NULL, *plan = NULL, *record = NULL;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!strcmp(argv[i], "--out")) path = argv[i + 1];
    if (!strcmp(argv[i], "--record-plan")) plan = argv[i + 1];
    if (!strcmp(argv[i], "--record")) record = argv[i + 1];
    if (!strcmp(argv[i], "--seed")) ts_host_seed(strtoull(argv[i + 1], NULL, 10));
  }
  guard_arenas();
  if (plan && record) ts_record_open(plan, record);
  int code = ts_run();
  if (ts_record_close() || (path && write_results(path))) {
    fprintf(stderr, "cannot write %s: %s\n", path ? path : record, strerror(errno));
    return 3;
  }
  return code;
}
