/* Losses over class scores [samples, classes, inner] with one label a sample and inner position, and their gradients.
 *
 *   mean: loss = sum(w[label] * -log_prob[label]) / sum(w[label])    over the labels that count
 *   gradient: dx[c] = dloss * w[label] / sum(w) * (exp(log_prob[c]) - (c == label))
 */
#ifndef TS_CROSS_ENTROPY_H
#define TS_CROSS_ENTROPY_H

#include "ts_kernel.h"

enum { TS_LOSS_NONE = 0, TS_LOSS_SUM = 1, TS_LOSS_MEAN = 2 };

/* Class indices as int32 (words 1) or int64 (words 2). A label outside of [0, classes), or equal to `ignore`, does not
 * count; `weights` may be NULL: 1 for every class. */
struct ts_labels {
  const int32_t* at;
  const float* weights;
  int32_t words, classes, ignore;
};

/* What a loss needs beside its own element while its sum is under way. */
struct ts_loss_sums {
  float lost;                  /* by the loss so far, see ts_sum */
  float weights, weights_lost; /* of the labels so far */
};

/* The samples of one call are terms of one sum: `first` starts it, `last` divides it. */
struct ts_cross_entropy_args {
  const float* x;        /* scores; log-probabilities where `normalized` */
  const int32_t* labels; /* of these samples */
  const float* weights;
  float* loss;               /* one element, or one a sample where reduction is none; NULL: not wanted */
  float* log_prob;           /* NULL: not wanted */
  float* terms;              /* scratch, one a sample; NULL where reduction is none */
  struct ts_loss_sums* sums; /* scratch, one; kept from call to call */
  int32_t samples, classes, inner;
  int32_t label_words, ignore, reduction, normalized;
  int32_t first, last;
};
void ts_cross_entropy(void* args);

struct ts_cross_entropy_grad_args {
  const float* dloss; /* one element, or one a sample where reduction is none; NULL: 1 */
  const float* log_prob;
  const int32_t* labels; /* where reduction is mean: of all samples, because the sum of their weights divides */
  const float* weights;
  const float* bias; /* added to the result; NULL: nothing */
  float* dx;
  int32_t samples, classes, inner;                /* of this call */
  int32_t first_sample, first_class, first_inner; /* where it starts; samples and inner only among all labels */
  int32_t all_samples, all_classes, all_inner;
  int32_t label_words, ignore, reduction, normalized; /* normalized: only the label's class has a gradient */
};
void ts_cross_entropy_grad(void* args);

#endif
