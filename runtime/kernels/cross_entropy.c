#include "cross_entropy.h"

#include "ts_reduce.h"

/* The class of label i, or -1 where it does not count. The high word of an int64 is 0 for every class. */
static inline int32_t label_at(const struct ts_labels* l, int32_t i) {
  const int32_t label = l->at[i * l->words];
  if (l->words == 2 && l->at[i * 2 + 1] != 0) return -1;
  if (label < 0 || label >= l->classes || label == l->ignore) return -1;
  return label;
}

static inline float weight_of(const struct ts_labels* l, int32_t label) {
  return label < 0 ? 0.0f : l->weights ? l->weights[label] : 1.0f;
}

/* One sample: its log-probabilities where they are wanted, and its term of the loss. */
static float sample_term(const struct ts_cross_entropy_args* k, int32_t start, int32_t label, float weight) {
  const float* const x = k->x + start;
  const int32_t stride = k->inner;
  float most = 0.0f, rest = 0.0f;
  if (!k->normalized) {
    most = ts_line_max(x, k->classes, stride);
    rest = ts_line_log_sum(x, most, k->classes, stride);
  }
  if (k->log_prob) {
    float* const y = k->log_prob + start;
    for (int32_t c = 0; c < k->classes; ++c) y[c * stride] = ts_canonical((x[c * stride] - most) - rest);
  }
  if (label < 0) return 0.0f;
  const float log_prob = k->normalized ? x[label * stride] : (x[label * stride] - most) - rest;
  return ts_canonical(-weight * log_prob);
}

/* The weights of labels in their order. */
static void add_weights(struct ts_sum* weights, const struct ts_labels* labels, int32_t n) {
  for (int32_t i = 0; i < n; ++i) ts_sum_add(weights, weight_of(labels, label_at(labels, i)));
}

/* All samples in their order, by one core. */
static void add_up(const struct ts_cross_entropy_args* k, const struct ts_labels* labels, int32_t n) {
  struct ts_sum loss = {0.0f, 0.0f}, weights = {0.0f, 0.0f};
  if (!k->first) {
    loss = (struct ts_sum){*k->loss, k->sums->lost};
    weights = (struct ts_sum){k->sums->weights, k->sums->weights_lost};
  }
  for (int32_t i = 0; i < n; ++i) ts_sum_add(&loss, k->terms[i]);
  add_weights(&weights, labels, n);
  *k->sums = (struct ts_loss_sums){loss.lost, weights.sum, weights.lost};
  *k->loss = ts_canonical(k->last && k->reduction == TS_LOSS_MEAN ? loss.sum / weights.sum : loss.sum);
}

void ts_cross_entropy(void* args) {
  const struct ts_cross_entropy_args* const k = args;
  const struct ts_labels labels = {k->labels, k->weights, k->label_words, k->classes, k->ignore};
  float* const terms = k->reduction == TS_LOSS_NONE ? k->loss : k->terms;
  const int32_t n = k->samples * k->inner;
  int32_t lo, hi;
  ts_share(k->classes == 0 ? 0 : n, &lo, &hi);
  for (int32_t i = lo; i < hi; ++i) {
    const int32_t label = label_at(&labels, i);
    const float term = sample_term(k, ts_line_start(i, k->classes, k->inner), label, weight_of(&labels, label));
    if (terms) terms[i] = term;
  }
  if (k->reduction == TS_LOSS_NONE || !k->loss) return;
  pi_cl_team_barrier();
  if (pi_core_id() == 0) add_up(k, &labels, n);
}

/* What every term of a mean is divided by; every core adds it up for itself, in the one order. */
static float sum_of_weights(const struct ts_labels* labels, int32_t n) {
  struct ts_sum weights = {0.0f, 0.0f};
  add_weights(&weights, labels, n);
  return weights.sum;
}

/* The gradient of one sample: `scale` for the label's class alone, or for exp(log_prob) less the label's 1. */
static void sample_grad(const struct ts_cross_entropy_grad_args* k, int32_t start, int32_t label, float scale) {
  const int32_t stride = k->inner;
  for (int32_t c = 0; c < k->classes; ++c) {
    const int32_t at = start + c * stride;
    float d = 0.0f;
    if (label >= 0) {
      const float p = k->normalized ? 0.0f : ts_expf(k->log_prob[at]);
      d = scale * (k->first_class + c == label ? p - 1.0f : p);
    }
    k->dx[at] = ts_canonical(k->bias ? d + k->bias[at] : d);
  }
}

void ts_cross_entropy_grad(void* args) {
  const struct ts_cross_entropy_grad_args* const k = args;
  const struct ts_labels labels = {k->labels, k->weights, k->label_words, k->all_classes, k->ignore};
  const int32_t mean = k->reduction == TS_LOSS_MEAN;
  const float divisor = mean ? sum_of_weights(&labels, k->all_samples * k->all_inner) : 1.0f;
  int32_t lo, hi;
  ts_share(k->samples * k->inner, &lo, &hi);
  for (int32_t i = lo; i < hi; ++i) {
    const int32_t among_all =
        mean ? (k->first_sample + i / k->inner) * k->all_inner + k->first_inner + i % k->inner : i;
    const int32_t label = label_at(&labels, among_all);
    const float dloss = !k->dloss ? 1.0f : k->reduction == TS_LOSS_NONE ? k->dloss[i] : *k->dloss;
    const float weighted = dloss * weight_of(&labels, label);
    sample_grad(k, ts_line_start(i, k->classes, k->inner), label, mean ? weighted / divisor : weighted);
  }
}
