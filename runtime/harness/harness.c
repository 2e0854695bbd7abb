/* Runs on the fabric controller, which copies data and counts; only what needs floating point runs on the cluster. */
#include "harness.h"

#include <stdio.h>
#include <string.h>

#define CONFIG ts_run_config

uint64_t ts_train_cycles, ts_optimizer_cycles;
struct ts_stretch ts_outputs_in_ram;

static struct pi_device cluster, data_ram;
static uint32_t data;         /* where the external RAM begins with the arena, and samples behind it */
static uint8_t between[1024]; /* what goes from outside to the external RAM passes here, part by part */

static void* address(const struct ts_tensor* tensor) {
  return (tensor->level == 1 ? CONFIG.l1 : CONFIG.l2) + tensor->offset;
}

void ts_read_part(const struct ts_tensor* tensor, uint32_t at, void* data, uint32_t bytes) {
  if (tensor->level <= 2)
    memcpy(data, (const uint8_t*)address(tensor) + at, bytes);
  else
    pi_ram_read(CONFIG.ram, *CONFIG.l3 + tensor->offset + at, data, bytes);
}

void ts_read(const struct ts_tensor* tensor, void* data) {
  ts_read_part(tensor, 0, data, tensor->bytes);
}

static void write_part(const struct ts_tensor* tensor, uint32_t at, const uint8_t* data, uint32_t bytes) {
  if (tensor->level <= 2)
    memcpy((uint8_t*)address(tensor) + at, data, bytes);
  else
    pi_ram_write(CONFIG.ram, *CONFIG.l3 + tensor->offset + at, (void*)(uintptr_t)data, bytes);
}

static struct pi_device* ram(void) {
  return CONFIG.ram ? CONFIG.ram : &data_ram;
}

static void copy_in_ram(uint32_t to, uint32_t from, uint32_t bytes) {
  for (uint32_t done = 0, part; done < bytes; done += part) {
    part = bytes - done < sizeof between ? bytes - done : (uint32_t)sizeof between;
    pi_ram_read(ram(), from + done, between, part);
    pi_ram_write(ram(), to + done, between, part);
  }
}

/* The same from samples and images, wherever those are. */
static void write_data(const struct ts_tensor* tensor, uint32_t at, const uint8_t* bytes_at, uint32_t bytes) {
  const uint32_t from = data + (uint32_t)(uintptr_t)bytes_at;
  if (!CONFIG.data_in_ram)
    write_part(tensor, at, bytes_at, bytes);
  else if (tensor->level <= 2)
    pi_ram_read(ram(), from, (uint8_t*)address(tensor) + at, bytes);
  else
    copy_in_ram(*CONFIG.l3 + tensor->offset + at, from, bytes);
}

static void record(const struct ts_tensor* output, uint32_t at) {
  const uint32_t to = ts_outputs_in_ram.address + at;
  if (!CONFIG.outputs_in_ram)
    ts_read(output, ts_outputs + at);
  else if (output->level <= 2)
    pi_ram_write(ram(), to, address(output), output->bytes);
  else
    copy_in_ram(to, *CONFIG.l3 + output->offset, output->bytes);
}

void ts_read_outputs(uint32_t at, void* data, uint32_t bytes) {
  if (CONFIG.outputs_in_ram)
    pi_ram_read(ram(), ts_outputs_in_ram.address + at, data, bytes);
  else
    memcpy(data, ts_outputs + at, bytes);
}

struct measured {
  void (*network)(void);
  uint32_t cycles;
};

static void run_measured(void* arg) {
  struct measured* m = arg;
  pi_perf_conf(1u << PI_PERF_CYCLES);
  pi_perf_reset();
  pi_perf_start();
  m->network();
  pi_perf_stop();
  m->cycles = pi_perf_read(PI_PERF_CYCLES);
}

static void on_cluster(void (*entry)(void*), void* arg) {
  struct pi_cluster_task task;
  pi_cluster_send_task_to_cl(&cluster, pi_cluster_task(&task, entry, arg));
}

/* One run counts 32 bits of cycles; a training run has many. */
static void run_network(void (*network)(void), uint64_t* cycles) {
  struct measured m = {.network = network};
  on_cluster(run_measured, &m);
  *cycles += m.cycles;
}

static void clear_ram(uint32_t from) {
  static uint8_t zeros[1024];
  for (uint32_t at = 0; at < CONFIG.l3_bytes; at += sizeof zeros) {
    uint32_t rest = CONFIG.l3_bytes - at;
    pi_ram_write(ram(), from + at, zeros, rest < sizeof zeros ? rest : (uint32_t)sizeof zeros);
  }
}

/* The arena in the external RAM begins with zeros and initial values, as the one in L2 does. */
static int fill_ram(void) {
  if (pi_ram_alloc(CONFIG.ram, CONFIG.l3, CONFIG.l3_bytes)) return 1;
  clear_ram(*CONFIG.l3);
  for (uint32_t i = 0; i < CONFIG.initial_count; ++i) {
    const struct ts_initial* v = &CONFIG.initial[i];
    const struct ts_tensor home = {.level = 3, .offset = v->offset};
    write_data(&home, 0, v->image, v->bytes);
  }
  return 0;
}

/* Where L2 has no room for values and samples, the virtual chip starts with them where they belong in its RAM; a board
 * has them in flash. */
static int load_ram(void) {
#ifdef TS_BOARD
  const struct ts_file* last = &CONFIG.files[CONFIG.file_count - 1];
  const uint32_t end = last->offset + last->bytes;
  if (pi_ram_alloc(ram(), &data, end < CONFIG.l3_bytes ? CONFIG.l3_bytes : end)) return 1;
  clear_ram(data);
  if (ts_load_files(ram(), data, between, sizeof between)) return 1;
#endif
  if (CONFIG.l3) *CONFIG.l3 = data;
  return 0;
}

static int open_device(void) {
  static struct pi_cluster_conf conf;
  pi_cluster_conf_init(&conf);
  pi_open_from_conf(&cluster, &conf);
  if (pi_cluster_open(&cluster)) return 1;
  if (!CONFIG.ram && !CONFIG.data_in_ram && !CONFIG.outputs_in_ram) return 0;
  static struct pi_hyperram_conf ram_conf;
  pi_hyperram_conf_init(&ram_conf);
  pi_open_from_conf(ram(), &ram_conf);
  if (pi_ram_open(ram()) || (CONFIG.data_in_ram ? load_ram() : CONFIG.ram && fill_ram())) return 1;
  ts_outputs_in_ram.bytes = CONFIG.outputs_in_ram;
  return CONFIG.outputs_in_ram ? pi_ram_alloc(ram(), &ts_outputs_in_ram.address, CONFIG.outputs_in_ram) : 0;
}

static void copy_inputs(uint32_t run) {
  for (uint32_t i = 0; i < CONFIG.input_count; ++i) {
    const struct ts_input* in = &CONFIG.inputs[i];
    for (uint32_t b = 0; b < in->batch; ++b) {
      uint32_t sample = (uint32_t)(((uint64_t)run * in->batch + b) % in->count);
      write_data(&in->home, b * in->sample_bytes, in->samples + (size_t)sample * in->sample_bytes, in->sample_bytes);
    }
  }
}

static void train(void) {
  for (uint32_t step = 0, run = 0; step < CONFIG.steps; ++step) {
    for (uint32_t micro = 0; micro < CONFIG.accumulate; ++micro, ++run) {
      const uint8_t first = micro == 0; /* gradients begin again with every step */
      if (CONFIG.reset) write_part(CONFIG.reset, 0, &first, 1);
      copy_inputs(run);
      run_network(TrainingNetwork, &ts_train_cycles);
      ts_read(CONFIG.loss, &ts_losses[run]);
    }
    run_network(OptimizerNetwork, &ts_optimizer_cycles);
  }
}

static void infer(void) {
  for (uint32_t run = 0, at = 0; run < CONFIG.steps; ++run) {
    copy_inputs(run);
    run_network(TrainingNetwork, &ts_train_cycles);
    for (uint32_t i = 0; i < CONFIG.output_count; at += CONFIG.outputs[i++].bytes) record(&CONFIG.outputs[i], at);
  }
}

/* Not near is what counts, so that a NaN is a mismatch. */
static int near(float value, float reference) {
  if (value == reference) return 1;
  const float difference = value > reference ? value - reference : reference - value;
  const float size = reference < 0.0f ? -reference : reference;
  return difference <= CONFIG.tolerance * (size > 1.0f ? size : 1.0f);
}

static void count_mismatches(void* arg) {
  uint32_t* mismatches = arg;
  for (uint32_t i = 0; i < CONFIG.steps * CONFIG.accumulate; ++i)
    if (!near(ts_losses[i], CONFIG.reference[i])) ++*mismatches;
}

/* Decimal by hand: small C libraries print 32 bits at most. */
static void print_number(const char* label, uint64_t value) {
  char digits[21];
  int at = 20;
  digits[at] = 0;
  do {
    digits[--at] = (char)('0' + value % 10);
    value /= 10;
  } while (value);
  printf("%s=%s", label, digits + at);
}

int ts_run(void) {
  if (open_device()) {
    printf("cannot open the device\n");
    return 2;
  }
  uint32_t mismatches = 0;
  if (CONFIG.loss) {
    train();
    if (CONFIG.reference) on_cluster(count_mismatches, &mismatches);
  } else {
    infer();
  }
  pi_cluster_close(&cluster);
  print_number("BENCH train_cycles", ts_train_cycles);
  print_number(" opt_cycles", ts_optimizer_cycles);
  print_number(" weight_sram", CONFIG.weight_sram);
  printf("\n");
  if (mismatches) {
    print_number("MISMATCH losses", mismatches);
    printf("\n");
  }
  return mismatches ? 1 : 0;
}
