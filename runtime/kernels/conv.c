#include "conv.h"

#include "ts_conv_rows.h"
#include "ts_conv_share.h"

#include "ts_conv_blocks.h" /* the last: code stands in this order, and the caches know it */

/* Everything of a call. Sheets are planes of four channels: every core has as many whole ones, and what is left of all
 * is shared block by block. */
struct work {
  struct plane a; /* the first */
  struct walk k;
  int32_t turn, x_c, x_image, lines;
  int32_t rows;                    /* where the positions of x are rows of fours, edges and all: their taps */
  int32_t whole, from, rest, left; /* how many sheets a core has, its first one; the first that is shared, how many */
};

/* The taps of a rectangle. */
static inline void set_taps(struct work* o) {
  struct walk* k = &o->k;
  const struct plane* a = &o->a;
  const int32_t w_all = a->p->w_c, x_all = o->x_c;
  int32_t c = a->p->c, z = a->z.met, y = a->y.met, x = a->x.met;
  int32_t x_y = a->y.x_tap, w_y = a->y.w_tap, x_x = a->x.x_tap, w_x = a->x.w_tap;
  if (x == 1) { /* a column of taps is a row as well, and so are the channels of a single one */
    x = y, y = 1, x_x = x_y, w_x = w_y;
    if (x == 1 && z == 1) x = c, c = 1, x_x = x_all, w_x = w_all;
  }
  if (x == 0 || y == 0 || z == 0) c = 0;
  k->c = c, k->z = z, k->y = y, k->x = x;
  k->x_y = x_y, k->w_y = w_y, k->x_x = x_x, k->w_x = w_x;
  k->x_row = x_y - x * x_x, k->w_row = w_y - x * w_x;
  const int32_t x_z = a->z.x_tap, w_z = a->z.w_tap, x_next = x_z - y * x_y, w_next = w_z - y * w_y;
  k->x_z = x_next, k->w_z = w_next;
  k->x_c = x_all - z * x_z + x_next, k->w_c = w_all - z * w_z + w_next;
  k->beside = w_x == 1 && (uint32_t)(x - 2) < 2 ? x_x : 0;
}

/* The positions of a rectangle. A column of them is a row as well. */
static inline void set_positions(struct work* o) {
  struct walk* k = &o->k;
  const struct axis *ax = &o->a.x, *ay = &o->a.y;
  int32_t width = ax->length, x_step = ax->step, y_step = ax->y_step;
  const int32_t x_down = ay->step * ay->x_each, y_down = ay->y_step;
  if (width == 1) width = ay->length, x_step = x_down, y_step = y_down;
  k->width = width, k->x_step = x_step, k->y_step = y_step;
  k->x_turn = x_down - width * x_step, k->y_turn = y_down - width * y_step;
}

/* Blocks of a sheet from one on, each of four positions. */
static inline void blocks_of_sheet(struct work* o, int32_t sheet, int32_t block, int32_t left) {
  struct walk* k = &o->k;
  const struct axis* ax = &o->a.x;
  const struct ts_conv_args* p = o->a.p;
  const int32_t image = parts(sheet, o->lines), m = 4 * (sheet - image * o->lines), high = p->m - m;
  const int32_t group = image < p->g ? image : image % p->g;
  struct cursor at = {p->x + ax->origin.x + image * o->x_image, p->y + ax->origin.y + (image * p->m + m) * k->y_m, left,
                      0};
  if (block > 0) {
    const int32_t row = parts(4 * block, k->width), column = 4 * block - row * k->width;
    at.column = column;
    at.x += 4 * block * k->x_step + row * k->x_turn, at.y += 4 * block * k->y_step + row * k->y_turn;
  }
  k->w = p->w + ax->origin.w + group * p->w_g + m * p->w_m;
  k->b = p->b && p->last ? p->b + group * p->m + m : NULL;
  if (o->rows) {
    if (o->rows == 2)
      row_of_two(k, &at);
    else if (k->x_step == 2)
      row_by_two(k, &at);
    else if (k->beside > 0)
      row_along(k, &at);
    else
      row_against(k, &at);
  } else if (high < 4) {
    one_by_one(k, &at, high);
  } else if (left == 1) {
    block_4_1(k, &at);
  } else if (k->beside != 1 && k->beside != -1) {
    if (k->width % 4 == 0)
      fours(k, &at);
    else
      block_4_4(k, &at);
  } else {
    const int32_t before = 3 - k->x; /* a row of two taps begins where one of three would */
    k->w -= before;
    if (k->beside > 0) {
      at.x -= before;
      three_4_4(k, &at);
    } else {
      at.x += before;
      back_4_4(k, &at);
    }
  }
}

/* This core's blocks of a rectangle of positions with the same taps. */
TS_APART void rectangle(struct work* o) {
  const int32_t size = o->a.y.length * o->a.x.length, each = quarters(size);
  int32_t lo = 0, hi = 0, whole = o->whole, sheet = o->from;
  if (o->left > 0) share_by_turns(o->left * each, &o->turn, &lo, &hi);
  if (lo == hi && whole == 0) return;
  set_taps(o);
  set_positions(o);
  for (; whole > 0 || lo < hi; --whole, ++sheet) {
    int32_t block = 0, left = size;
    if (whole <= 0) {
      const int32_t number = parts(lo, each);
      block = lo - number * each, sheet = o->rest + number;
      const int32_t here = ts_min(each - block, hi - lo);
      left = ts_min(4 * here, size - 4 * block);
      lo += here;
    }
    blocks_of_sheet(o, sheet, block, left);
  }
}

/* Where the positions along x go together, edges and all, as rows of fours: the number of taps, else 0. The
 * first position and the last one may miss a tap. Taps are three side by side, or two as phases of stride 2 have them.
 */
TS_SET_UP int32_t set_rows(struct work* o) {
  const struct axis* a = &o->a.x;
  const int32_t taps = a->taps, reach = (taps - 1) * a->tap_step, each = a->x_tap;
  const int32_t low = a->at + ts_min(reach, 0), high = a->at + (a->count - 1) * a->step + ts_max(reach, 0);
  if (a->count % 4 != 0 || a->step > 2 || o->a.p->m % 4 != 0 || low < -1 || high > a->size || a->size < 2) return 0;
  const int32_t ahead = each == 1 || (each == -1 && a->step == 1);
  const int32_t three = taps == 3 && a->w_tap == 1 && a->y_step == 1 && ahead;
  const int32_t two = taps == 2 && a->w_tap == 2 && a->y_step == 2 && each == -1;
  o->k.low = low < 0 ? 0 : -1, o->k.high = high == a->size ? a->count - 4 : -1;
  return three || two ? taps : 0;
}

/* The next stretch of x; of rows there is one. */
TS_SET_UP int32_t next_of_x(struct work* o) {
  struct axis* a = &o->a.x;
  const struct origin* before = &o->a.y.origin;
  if (!o->rows) return next_stretch(a, before, INT32_MAX);
  a->length = a->length ? 0 : a->count, a->met = a->taps;
  a->origin.x = before->x + a->at, a->origin.w = before->w + a->w, a->origin.y = before->y + a->y;
  return a->length;
}

TS_SET_UP void share_of_sheets(struct plane* a) {
  struct work* o = (struct work*)a;
  o->rows = set_rows(o);
  const struct origin none = {0, 0, 0};
  while (next_stretch(&a->z, &none, 1))
    while (next_stretch(&a->y, &a->z.origin, INT32_MAX))
      while (next_of_x(o)) rectangle(o);
}

TS_SET_UP void set_axes(struct plane* a) {
  const struct ts_conv_args* p = a->p;
  int32_t x_each = 1, w_each = 1, y_each = 1;
  struct axis* s = &a->x;
  for (int32_t i = 2; i >= 0; --i, --s) {
    s->size = p->x_size[i], s->count = p->y_size[i], s->at = p->at[i];
    s->step = p->stride[i], s->taps = p->kernel[i], s->tap_step = p->dilation[i];
    if (p->transposed) s->at += p->pad[i], s->tap_step = -s->tap_step; /* all of it where the stride is 1 */
    s->w = s->y = s->from = s->length = 0;
    s->x_each = x_each, s->x_tap = x_each * s->tap_step, s->w_tap = w_each, s->y_step = y_each;
    x_each *= s->size, w_each *= s->taps, y_each *= s->count;
  }
}

/* What sheets have in common, and this core's share of them. */
TS_SET_UP void set_sheets(struct work* o) {
  const struct ts_conv_args* p = o->a.p;
  const struct axis* z = &o->a.z;
  o->x_c = z->x_each * z->size, o->x_image = p->c * o->x_c;
  o->k.y_m = z->y_step * z->count, o->k.w_m = p->w_m, o->k.first = p->first, o->k.relu = p->relu && p->last;
  /* The last core first: where two share an FPU the later one waits less, and the first one leads as well. */
  o->turn = TS_CORES - 1 - (int32_t)pi_core_id();
  o->lines = quarters(p->m);
  const int32_t sheets = p->n * p->g * o->lines;
  o->whole = (int32_t)((uint32_t)sheets / TS_CORES);
  o->from = o->whole * o->turn, o->rest = o->whole * TS_CORES, o->left = sheets - o->rest;
}

/* Most strides are 2: these take no division then. */
static inline int32_t divides(int32_t b, int32_t a) {
  return b <= 2 ? (a & (b - 1)) == 0 : a % b == 0;
}
static inline int32_t exact(int32_t a, int32_t b) {
  return b <= 2 ? a >> (b - 1) : a / b;
}

/* Outputs whose number has the same remainder by the stride meet the same taps, and neighbours among them neighbouring
 * elements of x: a phase is a convolution of stride 1 by some of the taps, taken backwards. There is one for a
 * stride of 1, and the axis is it from the beginning. Weights and outputs stand w_each and y_each apart along the axis.
 */
TS_SET_UP int32_t phase(const struct ts_conv_args* p, int32_t i, int32_t remainder, struct axis* a) {
  const int32_t stride = p->stride[i], dilation = p->dilation[i], taps = p->kernel[i], place = remainder + p->pad[i];
  int32_t first = 0, every = 1, w_each = 1, y_each = 1;
  if (stride == 1) return 1;
  for (int32_t j = 2; j > i; --j) w_each *= p->kernel[j], y_each *= p->y_size[j];
  while (first < stride && !divides(stride, place - first * dilation)) ++first;
  while (!divides(stride, every * dilation)) ++every;
  a->count = parts(p->y_size[i] - remainder + stride - 1, stride);
  a->step = 1, a->y = remainder * y_each, a->y_step = stride * y_each;
  if (first < stride && first < taps) {
    a->size = p->x_size[i];
    a->at = p->at[i] + exact(place - first * dilation, stride);
    a->taps = parts(taps - 1 - first, every) + 1;
    a->tap_step = -exact(every * dilation, stride);
    a->w = first * w_each, a->w_tap = every * w_each;
  } else { /* nothing to meet, for all of them alike */
    a->size = a->count;
    a->at = a->taps = a->w = 0, a->tap_step = 1;
  }
  a->x_tap = a->tap_step * a->x_each;
  return a->count > 0;
}

/* This core's share of a convolution, or of all phases of a transposed one. */
static inline void every_phase(struct plane* a, void (*share)(struct plane*)) {
  const struct ts_conv_args* p = a->p;
  if (!p->transposed) {
    share(a);
    return;
  }
  for (int32_t z = 0; z < p->stride[0] && phase(p, 0, z, &a->z); ++z)
    for (int32_t y = 0; y < p->stride[1] && phase(p, 1, y, &a->y); ++y)
      for (int32_t x = 0; x < p->stride[2] && phase(p, 2, x, &a->x); ++x) share(a);
}

/* Apart, for their stacks: rows need no sheets. */
TS_APART void by_rows(const struct ts_conv_args* p) {
  struct plane a;
  a.p = p;
  set_axes(&a);
  every_phase(&a, rows_of_planes);
}

TS_APART void by_sheets(const struct ts_conv_args* p) {
  struct work o;
  o.a.p = p;
  set_axes(&o.a);
  set_sheets(&o);
  every_phase(&o.a, share_of_sheets);
}

void ts_conv(void* args) {
  const struct ts_conv_args* p = args;
  if (p->c == 1 && p->m < 4)
    by_rows(p);
  else
    by_sheets(p);
}
