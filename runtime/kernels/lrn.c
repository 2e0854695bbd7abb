#include "lrn.h"

#include "ts_math.h"

/* A position of the result, and where its column of channels starts in the inputs. */
struct place {
  int32_t at, channel, inner, column;
};

static void start(const struct ts_lrn_tile* t, int32_t at, struct place* p) {
  const int32_t sample = at / (t->channels * t->inner), rest = at % (t->channels * t->inner);
  *p = (struct place){at, rest / t->inner, rest % t->inner, sample * t->all * t->inner};
}

static void step(const struct ts_lrn_tile* t, struct place* p) {
  ++p->at;
  if (++p->inner < t->inner) return;
  p->inner = 0;
  if (++p->channel < t->channels) return;
  p->channel = 0;
  p->column += t->all * t->inner;
}

static inline float power(float base, float exponent) {
  return ts_expf(exponent * ts_logf(base));
}

/* BODY for each neighbour `j` of the place, by its index into the inputs. */
#define FOR_EACH_NEIGHBOUR(t, p, BODY)                                                             \
  do {                                                                                             \
    const int32_t own_ = (t)->skip + (p).channel, last_ = ts_min((t)->all - 1, own_ + (t)->after); \
    for (int32_t c_ = ts_max(0, own_ - (t)->before); c_ <= last_; ++c_) {                          \
      const int32_t j = (p).column + c_ * (t)->inner + (p).inner;                                  \
      BODY;                                                                                        \
    }                                                                                              \
  } while (0)

static inline int32_t own_input(const struct ts_lrn_tile* t, const struct place* p) {
  return p->column + (t->skip + p->channel) * t->inner + p->inner;
}

void ts_lrn(void* args) {
  const struct ts_lrn_args* const k = args;
  const struct ts_lrn_tile* const t = &k->tile;
  int32_t lo, hi;
  ts_share(t->samples * t->channels * t->inner, &lo, &hi);
  if (lo == hi) return;
  struct place p;
  for (start(t, lo, &p); p.at < hi; step(t, &p)) {
    float sum = 0.0f;
    FOR_EACH_NEIGHBOUR(t, p, sum = fmaf(k->x[j], k->x[j], sum));
    const float base = fmaf(sum, k->scale, k->bias);
    k->y[p.at] = ts_canonical(k->x[own_input(t, &p)] * power(base, -k->beta));
    if (k->base) k->base[p.at] = ts_canonical(base);
  }
}

void ts_lrn_grad(void* args) {
  const struct ts_lrn_grad_args* const k = args;
  const struct ts_lrn_tile* const t = &k->tile;
  int32_t lo, hi;
  ts_share(t->samples * t->channels * t->inner, &lo, &hi);
  if (lo == hi) return;
  struct place p;
  for (start(t, lo, &p); p.at < hi; step(t, &p)) {
    float sum = 0.0f;
    FOR_EACH_NEIGHBOUR(t, p, sum = fmaf(k->dy[j] * k->x[j], power(k->base[j], -k->beta - 1.0f), sum));
    const int32_t own = own_input(t, &p);
    const float direct = k->dy[own] * power(k->base[own], -k->beta);
    k->dx[p.at] = ts_canonical(fmaf(-k->scale * k->x[own], sum, direct));
  }
}
