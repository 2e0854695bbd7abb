/* The harness runs a compiled network: a training run of `steps` steps, each of `accumulate` micro-batches and one
 * update, or `steps` inferences. What it runs is described by ts_run_config, which is generated (config.c). */
#ifndef TS_HARNESS_H
#define TS_HARNESS_H

#include <stdint.h>

#include "pmsis.h"

/* A tensor where it lives: `offset` bytes into the arena of its level. */
struct ts_tensor {
  const char* name;
  const char* type;  /* "f32", "i64", ... */
  const char* shape; /* "128,784"; "" for a scalar */
  int32_t level;     /* 1, 2, 3 */
  uint32_t offset, bytes;
};

/* An input and its samples. Run i takes samples i*batch .. (i+1)*batch - 1, and begins again at the end. */
struct ts_input {
  struct ts_tensor home;
  const uint8_t* samples;
  uint32_t batch, sample_bytes, count;
};

/* An initial value for what lives in L3, where it is linked; what lives in L2 is loaded with the program. */
struct ts_initial {
  uint32_t offset, bytes;
  const uint8_t* image;
};

/* A file that the external RAM holds when the network starts, `offset` bytes from the first of the arena: an initial
 * value at its home, or samples behind the arena. A board reads it from the read-only file system in its flash
 * (flash.c, with TS_BOARD); the virtual chip begins with it. */
struct ts_file {
  const char* name;
  uint32_t offset, bytes;
};

struct ts_run_config {
  uint32_t steps, accumulate;
  uint8_t *l1, *l2;
  struct pi_device* ram; /* NULL without an L3 arena */
  uint32_t* l3;          /* its address in the RAM, set by the harness */
  uint32_t l3_bytes;
  const struct ts_initial* initial;
  const struct ts_input* inputs;
  const struct ts_tensor* parameters;
  const struct ts_tensor* outputs; /* recorded after every inference */
  uint32_t initial_count, input_count, parameter_count, output_count;
  const struct ts_tensor *reset, *loss; /* NULL: inference */
  const float* reference;               /* one loss a micro-batch; NULL: nothing to compare with */
  float tolerance;                      /* relative to max(1, |reference|) */
  uint32_t weight_sram;                 /* bytes of parameters in on-chip memories */
  uint8_t data_in_ram;                  /* samples are offsets in the external RAM, not in L2; so are the files */
  uint32_t outputs_in_ram;              /* bytes of what is recorded there, not in ts_outputs */
  const struct ts_file* files;          /* that hold them */
  uint32_t file_count;
};

extern const struct ts_run_config ts_run_config;
/* Results: a loss a micro-batch; the outputs of every inference, one after the other; cycles over the whole run. */
extern float ts_losses[];
extern uint8_t ts_outputs[];
extern struct ts_stretch {
  uint32_t address, bytes;
} ts_outputs_in_ram; /* where the outputs are instead, if they are in the external RAM */
extern uint64_t ts_train_cycles, ts_optimizer_cycles;

/* The entry points of the network. */
void TrainingNetwork(void);
void OptimizerNetwork(void);

/* Loads the files into the external RAM, in parts that pass through `between`; 0, or where it failed. */
int ts_load_files(struct pi_device* ram, uint32_t to, uint8_t* between, uint32_t part);

/* The whole run: 0, or 1 if a loss is not what the reference says, or 2 if the device could not be opened. */
int ts_run(void);
/* The value of a tensor, wherever it lives. */
void ts_read(const struct ts_tensor* tensor, void* data);
void ts_read_part(const struct ts_tensor* tensor, uint32_t at, void* data, uint32_t bytes);
/* A part of the recorded outputs. */
void ts_read_outputs(uint32_t at, void* data, uint32_t bytes);

#endif
