/* Taps of a Resize: which elements each output element is made of, and with what weights.
 *
 * Coordinates follow the ONNX specification; where it leaves precision open: a scale that is given
 * is used in float, as other runtimes do, and one that follows from sizes as an exact ratio. */
#include <math.h>

#include "ops/resize.h"

/* Where output position `x` lies in the input. */
static double original(const lk_resize_params *params, const lk_stretch *s, int64_t x) {
  double in = (double)s->in, out = (double)s->out, at = (double)x;
  /* The width that the scale gives may have a fraction, which the output has not. */
  double width = s->ratio ? out : in * s->scale;
  /* (at + shift) / scale, see the top of the file for the precision. */
  double half = s->ratio ? (at + 0.5) * in / out - 0.5
                         : (double)(((float)at + 0.5f) / (float)s->scale - 0.5f);
  switch ((lk_resize_coordinates)params->coordinates) {
  case LK_ALIGN_CORNERS:
    return width == 1 ? 0 : at * (in - 1) / (width - 1);
  case LK_ASYMMETRIC:
    return s->ratio ? at * in / out : (double)((float)at / (float)s->scale);
  case LK_PYTORCH_HALF_PIXEL:
    return s->out == 1 ? 0 : half;
  case LK_HALF_PIXEL_SYMMETRIC:
    return in / 2 * (1 - out / width) + half;
  default:
    return half;
  }
}

static double round_coordinate(uint32_t how, double x, bool shrinks) {
  switch ((lk_resize_rounding)how) {
  case LK_PREFER_FLOOR:
    return ceil(x - 0.5);
  case LK_PREFER_CEIL:
    return floor(x + 0.5);
  case LK_CEIL:
    return ceil(x);
  case LK_FLOOR_UP_CEIL_DOWN:
    return shrinks ? ceil(x) : floor(x);
  default:
    return floor(x);
  }
}

/* Weights of the neighbours at floor(x) - 1, 0, +1, +2 (cubic) or 0, +1 (linear). */
static void weigh(const lk_resize_params *params, double ratio, double weights[4]) {
  if (params->mode == LK_RESIZE_LINEAR) {
    weights[0] = 1 - ratio;
    weights[1] = ratio;
    return;
  }
  double a = (double)params->cubic, r = ratio, back = 1 - ratio;
  weights[0] = ((a * (r + 1) - 5 * a) * (r + 1) + 8 * a) * (r + 1) - 4 * a;
  weights[1] = ((a + 2) * r - (a + 3)) * r * r + 1;
  weights[2] = ((a + 2) * back - (a + 3)) * back * back + 1;
  weights[3] = ((a * (back + 1) - 5 * a) * (back + 1) + 8 * a) * (back + 1) - 4 * a;
}

static int64_t hold(double position, int64_t length) {
  if (!(position > 0)) return 0;
  return position >= (double)length ? length - 1 : (int64_t)position;
}

void lk_resize_make_taps(const lk_resize_params *params, const lk_stretch *s, uint32_t n_taps,
                         int64_t x, int64_t step, lk_resize_tap *taps) {
  double at = original(params, s, x);
  if (params->mode == LK_RESIZE_NEAREST) {
    double nearest = round_coordinate(params->rounding, at, s->scale < 1);
    taps[0] = (lk_resize_tap){hold(nearest, s->in) * step, 1.0f};
    return;
  }
  double left = floor(at), weights[4] = {0}, sum = 0;
  weigh(params, at - left, weights);
  if (params->mode == LK_RESIZE_CUBIC) left -= 1;
  for (uint32_t i = 0; i < n_taps; i++) {
    double position = left + i;
    if (params->exclude_outside && (position < 0 || position >= (double)s->in)) weights[i] = 0;
    sum += weights[i];
    taps[i].offset = hold(position, s->in) * step;
  }
  for (uint32_t i = 0; i < n_taps; i++) {
    taps[i].weight = (float)(params->exclude_outside && sum != 0 ? weights[i] / sum : weights[i]);
  }
}
