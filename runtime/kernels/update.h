/* What changes tensors in place: gradient accumulation, the optimizers' steps, and the counter of the steps. Input and
 * output may be the same memory.
 *
 *   accumulate: buffer = reset ? grad : buffer + grad         sgd: w = w - rate * g, one rounding
 */
#ifndef TS_UPDATE_H
#define TS_UPDATE_H

#include "ts_kernel.h"

struct ts_accumulate_args {
  const float* buffer;
  const float* grad;
  const uint8_t* reset; /* one flag; NULL: never */
  float* out;
  uint8_t* updated; /* one flag that becomes 1; NULL: not wanted */
  int32_t n;
};
void ts_accumulate(void* args);

/* count = count + 1 */
struct ts_increment_args {
  const int64_t* count;
  int64_t* out;
};
void ts_increment(void* args);

/* One step of an optimizer on n elements. Every one takes g + l2 * w for the gradient; the other numbers say whose they
 * are. `signal` (NULL: yes) tells whether to update at all, `updated` (NULL: not wanted) becomes what it tells. */
#define TS_OPTIMIZER_FIELDS                                                                    \
  const float* w;                                                                              \
  const float* g;                                                                              \
  const float* m; /* the first state */                                                        \
  const float* v; /* the second state */                                                       \
  float* out;                                                                                  \
  float* m_out;                                                                                \
  float* v_out;                                                                                \
  const float* rate;   /* one element; NULL: `fixed_rate` */                                   \
  const int64_t* step; /* one element; NULL: the optimizer does not count */                   \
  const uint8_t* signal;                                                                       \
  uint8_t* updated;                                                                            \
  int32_t n;                                                                                   \
  float fixed_rate;                                                                            \
  float l2;                                                                                    \
  float alpha;     /* momentum, adam: how much of m stays, */                                  \
  float fresh;     /* and how much of the gradient joins it (momentum: after step 0) */        \
  float beta;      /* adam: how much of v stays, */                                            \
  float fresh2;    /* and how much of the squared gradient joins it */                         \
  float log_alpha; /* adam: logarithms of alpha and beta correct the bias; 0: no correction */ \
  float log_beta;                                                                              \
  float epsilon;    /* adagrad, adam: beside the root */                                       \
  float rate_decay; /* adagrad: rate / (1 + step * rate_decay) */                              \
  float decay;      /* adam: weights shrink by rate * decay, */                                \
  float shrunk;     /* and afterwards by this much more */                                     \
  int32_t nesterov; /* momentum: look one step ahead */                                        \
  int32_t mode;     /* adam: TS_ADAM_... */

enum {
  TS_ADAM_TORCH = 0,       /* decay first; each moment corrected, epsilon beside the corrected root */
  TS_ADAM_TRANSFORMERS = 1 /* the rate corrected, epsilon beside the bare root; decay afterwards */
};

#define TS_DECLARE_OPTIMIZER(name) \
  struct ts_##name##_args {        \
    TS_OPTIMIZER_FIELDS            \
  };                               \
  void ts_##name(void* args);

TS_DECLARE_OPTIMIZER(sgd)
TS_DECLARE_OPTIMIZER(momentum)
TS_DECLARE_OPTIMIZER(adagrad)
TS_DECLARE_OPTIMIZER(adam)

#endif
