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

static void print_parameter(const struct ts_tensor* parameter) {
  static uint8_t part[256];
  for (uint32_t at = 0; at < parameter->bytes; at += sizeof part) {
    const uint32_t rest = parameter->bytes - at, bytes = rest < sizeof part ? rest : (uint32_t)sizeof part;
    ts_read_part(parameter, at, part, bytes);
    print_bytes(part, bytes);
  }
}

static void print_results(void) {
  const uint8_t* output = ts_outputs;
  if (ts_run_config.loss) {
    printf("RESULT losses ");
    print_bytes((const uint8_t*)ts_losses, ts_run_config.steps * ts_run_config.accumulate * (uint32_t)sizeof(float));
    printf("\n");
  }
  for (uint32_t i = 0; i < ts_run_config.output_count * ts_run_config.steps; ++i) {
    const uint32_t bytes = ts_run_config.outputs[i % ts_run_config.output_count].bytes;
    printf("RESULT output ");
    print_bytes(output, bytes);
    printf("\n");
    output += bytes;
  }
  for (uint32_t i = 0; i < ts_run_config.parameter_count; ++i) {
    printf("RESULT parameter ");
    print_parameter(&ts_run_config.parameters[i]);
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
