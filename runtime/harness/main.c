/* The entry point on a device. With TS_PRINT_RESULTS it prints what the run left, for whoever cannot read the device's
 * memory: lines "RESULT KIND HEX", the bytes of the losses, of each output of each inference, of each parameter. */
#include "harness.h"

#ifdef TS_PRINT_RESULTS
#include <stdio.h>

static void print_bytes(const uint8_t* data, uint32_t bytes) {
  static const char digits[] = "0123456789abcdef";
  for (uint32_t i = 0; i < bytes; ++i) {
    putchar(digits[data[i] >> 4]);
    putchar(digits[data[i] & 15]);
  }
}

/* Of a parameter, or, without one, of the recorded outputs from `first` on. */
static void print_tensor(const struct ts_tensor* parameter, uint32_t first, uint32_t size) {
  static uint8_t part[256];
  for (uint32_t at = 0; at < size; at += sizeof part) {
    const uint32_t rest = size - at, bytes = rest < sizeof part ? rest : (uint32_t)sizeof part;
    if (parameter)
      ts_read_part(parameter, at, part, bytes);
    else
      ts_read_outputs(first + at, part, bytes);
    print_bytes(part, bytes);
  }
}

static void print_results(void) {
  if (ts_run_config.loss) {
    printf("RESULT losses ");
    print_bytes((const uint8_t*)ts_losses, ts_run_config.steps * ts_run_config.accumulate * (uint32_t)sizeof(float));
    printf("\n");
  }
  for (uint32_t i = 0, at = 0, bytes; i < ts_run_config.output_count * ts_run_config.steps; ++i, at += bytes) {
    bytes = ts_run_config.outputs[i % ts_run_config.output_count].bytes;
    printf("RESULT output ");
    print_tensor(0, at, bytes);
    printf("\n");
  }
  for (uint32_t i = 0; i < ts_run_config.parameter_count; ++i) {
    printf("RESULT parameter ");
    print_tensor(&ts_run_config.parameters[i], 0, ts_run_config.parameters[i].bytes);
    printf("\n");
  }
}
#else
static void print_results(void) {}
#endif

int main(void) {
  const int code = ts_run();
  print_results();
  return code;
}
