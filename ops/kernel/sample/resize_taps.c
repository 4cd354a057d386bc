/* Which elements each output position of an interpolation is made of, and with what weights.
 *
 * Coordinates follow the ONNX specification. Where it leaves precision open: they are computed in
 * double, but for nearest with a scale that was given, which is used in float, as other runtimes
 * do; there a last bit decides which element is taken. */
#include "ops/kernel/sample/resize_taps.h"

#include <math.h>

#include "base/team/look.h"

/* Where output position `x` lies in the input. */
static double original(const lk_resize_rule *rule, const lk_stretch *s, int64_t x) {
  double in = (double)s->in, out = (double)s->out, at = (double)x;
  /* The width that the scale gives may have a fraction, which the output has not. */
  double width = in * s->up / s->down;
  bool in_float = s->rounded && rule->mode == LK_RESIZE_NEAREST;
  float scale = (float)(s->up / s->down);
  double middle = in_float ? (double)(((float)at + 0.5f) / scale) : (at + 0.5) * s->down / s->up;
  double half = in_float ? (double)((float)middle - 0.5f) : middle - 0.5;
  switch (rule->coordinates) {
  case LK_ALIGN_CORNERS:
    return width == 1 ? 0 : at * (in - 1) / (width - 1);
  case LK_ASYMMETRIC:
    return in_float ? (double)((float)at / scale) : at * s->down / s->up;
  case LK_PYTORCH_HALF_PIXEL:
    return s->out == 1 ? 0 : half;
  case LK_HALF_PIXEL_SYMMETRIC:
    /* The formula of the specification, so that an integer comes out as one: the middle of the
     * output lies in the middle of the input. */
    return (in - 1) / 2 + (at + 0.5 - out / 2) * s->down / s->up;
  case LK_TF_HALF_PIXEL_FOR_NN:
    return middle;
  case LK_TF_CROP_AND_RESIZE:
    if (s->out == 1) return 0.5 * (s->start + s->end) * (in - 1);
    return s->start * (in - 1) + at * (s->end - s->start) * (in - 1) / (width - 1);
  default:
    return half;
  }
}

bool lk_resize_is_outside(const lk_resize_rule *rule, const lk_stretch *s, int64_t x) {
  if (rule->coordinates != LK_TF_CROP_AND_RESIZE || s->same) return false;
  double at = original(rule, s, x);
  return !(at >= 0 && at <= (double)(s->in - 1));
}

static int64_t hold(double position, int64_t length) {
  if (!(position > 0)) return 0;
  return position >= (double)length ? length - 1 : (int64_t)position;
}

int64_t lk_resize_nearest(const lk_resize_rule *rule, const lk_stretch *s, int64_t x) {
  double at = original(rule, s, x);
  switch (rule->rounding) {
  case LK_PREFER_FLOOR:
    return hold(ceil(at - 0.5), s->in);
  case LK_PREFER_CEIL:
    return hold(floor(at + 0.5), s->in);
  case LK_CEIL:
    return hold(ceil(at), s->in);
  case LK_FLOOR_UP_CEIL_DOWN:
    return hold(s->up < s->down ? ceil(at) : floor(at), s->in);
  default:
    return hold(floor(at), s->in);
  }
}

/* The antialiasing filter is the interpolation's own, wider by as much as the output is smaller. */
static double squeeze(const lk_resize_rule *rule, const lk_stretch *s) {
  return rule->antialias && s->up < s->down ? s->up / s->down : 1;
}

/* Neighbours at this distance and beyond have no weight. */
static double radius(const lk_resize_rule *rule, const lk_stretch *s) {
  return (rule->mode == LK_RESIZE_LINEAR ? 1 : 2) / squeeze(rule, s);
}

/* A triangle, or the cubic of R. Keys, "Cubic convolution interpolation for digital image
 * processing" (1981), equation 4. */
static double filter(const lk_resize_rule *rule, double distance) {
  double d = fabs(distance), a = (double)rule->cubic;
  if (rule->mode == LK_RESIZE_LINEAR) return d < 1 ? 1 - d : 0;
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/* No further filter than the interpolation's own, and neighbours outside stand for the border. */
static bool is_simple(const lk_resize_rule *rule, const lk_stretch *s) {
  return !rule->exclude_outside && squeeze(rule, s) == 1;
}

int64_t lk_resize_capacity(const lk_resize_rule *rule, const lk_stretch *s) {
  if (rule->mode == LK_RESIZE_NEAREST) return 1;
  const double reach = radius(rule, s);
  /* one more for what rounding does at the ends of a filter that is not whole */
  const double most = floor(2 * reach) + (squeeze(rule, s) == 1 ? 0 : 2);
  return most < (double)s->in ? (int64_t)most : s->in;
}

static void put(const lk_resize_taps *to, int64_t tap, int64_t index, double weight) {
  to->indices[tap * to->step] = (int32_t)index;
  if (to->wide) {
    ((double *)to->weights)[tap * to->step] = weight;
  } else {
    ((float *)to->weights)[tap * to->step] = (float)weight;
  }
}

/* The last taps, from `tap` on, are one element: by halves, which are exact. A tap without weight
 * would make an infinite neighbour NaN. */
static void put_rest(const lk_resize_taps *to, int64_t tap, int64_t capacity, int64_t index,
                     double weight) {
  for (; tap + 1 < capacity && !lk_look_after(tap, LK_LOOK_EACH); tap++) {
    weight /= 2;
    put(to, tap, index, weight);
  }
  put(to, tap, index, weight);
}

static void weigh_two(const lk_stretch *s, double at, int64_t capacity, const lk_resize_taps *to) {
  const double low = floor(at), weight = at - low;
  const int64_t first = hold(low, s->in), second = hold(low + 1, s->in);
  if (first == second || weight == 0) {
    put_rest(to, 0, capacity, first, 1);
  } else {
    put(to, 0, first, 1 - weight);
    put(to, 1, second, weight);
  }
}

/* The neighbours that have a weight. */
typedef struct window {
  const lk_resize_rule *rule;
  int64_t low, high, in;
  double at, narrow;
} window;

static bool counts(const window *w, int64_t position) {
  return !w->rule->exclude_outside || (position >= 0 && position < w->in);
}
static double weight_of(const window *w, int64_t position) {
  return filter(w->rule, ((double)position - w->at) * w->narrow);
}

static double sum_of(const window *w) {
  double sum = 0;
  for (int64_t i = w->low; i <= w->high && !lk_look_after(i - w->low, LK_LOOK_FEW); i++) {
    sum += counts(w, i) ? weight_of(w, i) : 0;
  }
  return sum != 0 ? sum : 1;
}

void lk_resize_weigh(const lk_resize_rule *rule, const lk_stretch *s, int64_t capacity, int64_t x,
                     const lk_resize_taps *to) {
  const double reach = radius(rule, s), length = (double)s->in;
  /* Further outside, all neighbours are outside as well: nothing changes. */
  const double at = fmin(fmax(original(rule, s, x), -reach), length - 1 + reach);
  const bool is_plain = is_simple(rule, s);
  if (is_plain && rule->mode == LK_RESIZE_LINEAR) {
    weigh_two(s, at, capacity, to);
    return;
  }
  const window w = {.rule = rule,
                    .low = (int64_t)floor(at - reach) + 1,
                    .high = (int64_t)ceil(at + reach) - 1,
                    .in = s->in,
                    .at = at,
                    .narrow = squeeze(rule, s)};
  const double sum = is_plain ? 1 : sum_of(&w);
  int64_t taps = 0, index = hold((double)w.low, s->in);
  double weight = 0;
  for (int64_t position = w.low; position <= w.high; position++) {
    if (lk_look_after(position - w.low, LK_LOOK_FEW)) return;
    const double more = counts(&w, position) ? weight_of(&w, position) : 0;
    const int64_t next = hold((double)position, s->in);
    if (more == 0) continue;
    if (weight != 0 && next != index && taps + 1 < capacity) {
      put(to, taps++, index, weight / sum);
      weight = 0;
    }
    index = next;
    weight += more;
  }
  put_rest(to, taps, capacity, index, weight / sum);
}
