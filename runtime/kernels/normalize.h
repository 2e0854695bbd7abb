/* Normalisation of a dense tensor [outer, rows, groups, parts, inner]: statistics are over all elements of one outer
 * position and one group; a scale and a bias stand for a group, or for a part of it.
 *
 *   batch  [N,C,H,W]: 1, N, C, 1, HW        layer [rows,n]: rows, 1, 1, n, 1        group: N, 1, G, C/G, HW
 *
 *   pass 0: mean = sum(x) / count      pass 1: variance = sum((x - mean)^2) / count      pass 2: y
 *
 * A call does some of the passes for some of the groups: all of them where whole groups are at hand, else one pass of
 * one piece of each group. A sum is made of fixed blocks of block_rows rows with block_parts * block_inner elements
 * each, added in their order: neither cores nor tiles (of whole blocks) change a bit.
 */
#ifndef TS_NORMALIZE_H
#define TS_NORMALIZE_H

#include "ts_kernel.h"

struct ts_norm_tile {
  int32_t outer, rows, groups, parts, inner; /* of this call */
  int32_t block_rows, block_parts, block_inner;
  int32_t pass, passes;          /* the first pass of this call, and how many */
  int32_t first, last;           /* whether it has the first and the last block of its groups */
  int32_t group_step, part_step; /* by how much scale and bias move from group to group, from part to part */
  float epsilon;
  float share; /* 1 / the elements of a whole group */
};

/* What a group is divided by, from the sum of its squares (of its magnitudes for L1) times `share`. */
enum {
  TS_NORM_VARIANCE = 0,  /* sqrt(variance + epsilon) */
  TS_NORM_DEVIATION = 1, /* sqrt(variance) + epsilon */
  TS_NORM_L2 = 2,        /* sqrt(sum); a group of zeros stays */
  TS_NORM_L1 = 3         /* sum */
};

/* What is known of a group so far. */
struct ts_norm_stats {
  float sum, lost; /* see ts_sum */
  float mean, inv_std;
};

struct ts_normalize_args {
  struct ts_norm_tile tile;
  const float* x;
  const float* scale; /* NULL: 1 */
  const float* bias;  /* NULL: 0 */
  float* y;           /* NULL: only the statistics are wanted */
  float* mean;        /* one a group; each may be NULL */
  float* inv_std;
  float* variance;
  struct ts_norm_stats* stats; /* scratch, one a group; kept from call to call */
  float* blocks;               /* scratch, one a block; NULL where the statistics are given */
  const float* old_mean;       /* the given or the running statistics; NULL: neither */
  const float* old_variance;
  float* new_mean; /* momentum * old + (1 - momentum) * batch */
  float* new_variance;
  int32_t given;       /* the old statistics normalise: there is pass 2 alone */
  int32_t around_zero; /* the mean is not taken away: there is no pass 0 */
  int32_t rule;
  float momentum;
  float unbiased; /* what the variance is multiplied by before it enters the running one */
};
void ts_normalize(void* args);

/* passes -2 and -1: the statistics, where none are given
 * pass 0: sum(g) and sum(g * (x - mean)) with g = dy * scale
 * pass 1: dx, and the gradients of scale and bias */
struct ts_normalize_grad_args {
  struct ts_norm_tile tile;
  const float* dy;
  const float* x;
  const float* scale;   /* NULL: 1 */
  const float* mean;    /* NULL: 0 */
  const float* inv_std; /* or the variance; NULL: passes -2 and -1 find both */
  float* dx;            /* any of the three may be NULL */
  float* dscale;
  float* dbias;
  struct ts_norm_stats* stats; /* scratch, two a group; kept from call to call */
  float* blocks;               /* scratch, two a block; NULL where no pass 0 is needed */
  int32_t rule;
  int32_t variance;     /* inv_std is the variance */
  int32_t around_zero;  /* the mean is not taken away */
  int32_t frozen;       /* the statistics do not depend on x */
  int32_t own;          /* a group is all that its scale and bias see: pass 0 has their gradients */
  int32_t params_first; /* else: whether dscale and dbias begin with this call */
};
void ts_normalize_grad(void* args);

#endif
