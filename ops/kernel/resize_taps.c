/* Which elements each output position of an interpolation is made of, and with what weights.
 *
 * Coordinates follow the ONNX specification. Where it leaves precision open: they are computed in
 * double, but for nearest with a scale that was given, which is used in float, as other runtimes
 * do; there a last bit decides which element is taken. */
#include "ops/kernel/resize_taps.h"

#include <math.h>

/* Where output position `x` lies in the input. */
static double original(const lk_resize_rule *rule, const lk_stretch *s, int64_t x) {
  double in = (double)s->in, out = (double)s->out, at = (double)x;
  /* The width that the scale gives may have a fraction, which the output has not. */
  double width = in * s->up / s->down;
  bool in_float = s->rounded && rule->mode == LK_RESIZE_NEAREST;
  double middle =
      in_float ? (double)(((float)at + 0.5f) / (float)s->up) : (at + 0.5) * s->down / s->up;
  double half = in_float ? (double)((float)middle - 0.5f) : middle - 0.5;
  switch (rule->coordinates) {
  case LK_ALIGN_CORNERS:
    return width == 1 ? 0 : at * (in - 1) / (width - 1);
  case LK_ASYMMETRIC:
    return in_float ? (double)((float)at / (float)s->up) : at * s->down / s->up;
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

int64_t lk_resize_capacity(const lk_resize_rule *rule, const lk_stretch *s) {
  double most = floor(2 * radius(rule, s)) + 2; /* one for what rounding does at the ends */
  return most < (double)s->in ? (int64_t)most : s->in;
}

lk_resize_window lk_resize_weigh(const lk_resize_rule *rule, const lk_stretch *s, int64_t x,
                                 double *weights) {
  double reach = radius(rule, s), narrow = squeeze(rule, s), length = (double)s->in;
  /* Further outside, all neighbours are outside as well: nothing changes. */
  double at = fmin(fmax(original(rule, s, x), -reach), length - 1 + reach);
  int64_t low = (int64_t)floor(at - reach) + 1, high = (int64_t)ceil(at + reach) - 1;
  double sum = 0;
  lk_resize_window window = {.first = hold((double)low, s->in)};
  window.count = hold((double)high, s->in) - window.first + 1;
  for (int64_t i = 0; i < window.count; i++) weights[i] = 0;
  for (int64_t position = low; position <= high; position++) {
    bool outside = position < 0 || position >= s->in;
    if (outside && rule->exclude_outside) continue;
    double weight = filter(rule, ((double)position - at) * narrow);
    weights[hold((double)position, s->in) - window.first] += weight;
    sum += weight;
  }
  bool normalize = (rule->exclude_outside || narrow < 1) && sum != 0;
  for (int64_t i = 0; i < window.count && normalize; i++) weights[i] /= sum;
  return window;
}
