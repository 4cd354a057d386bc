/* Interpolation by tables: each output row combines the taps of all dimensions but the last once,
 * and then walks the last one. */
#include <string.h>

#include "ops/resize.h"

/* One tap, of weight 1, for a dimension that is not resized. */
static uint32_t taps_at(const lk_resize_step *step, uint32_t dim, int64_t x, lk_resize_tap *own,
                        const lk_resize_tap **out_taps) {
  if (step->taps[dim] == 0) {
    *own = (lk_resize_tap){x * step->steps[dim], 1.0f};
    *out_taps = own;
    return 1;
  }
  *out_taps = &step->table[step->first[dim] + (size_t)x * step->taps[dim]];
  return step->taps[dim];
}

/* Products of the taps at `at` along all dimensions but the last. */
static uint32_t combine(const lk_resize_step *step, const int64_t *at,
                        lk_resize_tap combined[LK_RESIZE_MAX_COMBINED]) {
  uint32_t count = 1;
  combined[0] = (lk_resize_tap){0, 1.0f};
  for (uint32_t i = 0; i + 1 < step->rank; i++) {
    lk_resize_tap own;
    const lk_resize_tap *taps;
    uint32_t n = taps_at(step, i, at[i], &own, &taps);
    /* From the back, so that what is read has not been written over. */
    for (uint32_t k = count; k-- > 0;) {
      lk_resize_tap base = combined[k];
      for (uint32_t t = n; t-- > 0;) {
        combined[k * n + t] =
            (lk_resize_tap){base.offset + taps[t].offset, base.weight * taps[t].weight};
      }
    }
    count *= n;
  }
  return count;
}

static void copy_row(const lk_resize_step *step, const char *from, char *to) {
  uint32_t last = step->rank - 1;
  size_t bytes = (size_t)step->block * step->element;
  for (int64_t x = 0; x < step->dims[last]; x++) {
    lk_resize_tap own;
    const lk_resize_tap *taps;
    (void)taps_at(step, last, x, &own, &taps);
    memcpy(to + (size_t)x * bytes, from + taps[0].offset * (int64_t)step->element, bytes);
  }
}

static void sum_row(const lk_resize_step *step, const lk_resize_tap *outer, uint32_t n_outer,
                    const float *from, float *to) {
  uint32_t last = step->rank - 1;
  for (int64_t x = 0; x < step->dims[last]; x++, to += step->block) {
    lk_resize_tap own;
    const lk_resize_tap *taps;
    uint32_t n = taps_at(step, last, x, &own, &taps);
    if (step->block == 1) {
      float sum = 0;
      for (uint32_t k = 0; k < n_outer; k++) {
        for (uint32_t t = 0; t < n; t++) {
          sum += outer[k].weight * taps[t].weight * from[outer[k].offset + taps[t].offset];
        }
      }
      *to = sum;
      continue;
    }
    memset(to, 0, (size_t)step->block * sizeof *to);
    for (uint32_t k = 0; k < n_outer; k++) {
      for (uint32_t t = 0; t < n; t++) {
        float weight = outer[k].weight * taps[t].weight;
        const float *block = from + outer[k].offset + taps[t].offset;
        for (int64_t c = 0; c < step->block; c++) to[c] += weight * block[c];
      }
    }
  }
}

lk_status lk_resize_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_resize_step *step = params;
  const char *from = pointers[0];
  char *to = pointers[1];
  uint32_t last = step->rank - 1;
  size_t row_bytes = (size_t)(step->dims[last] * step->block) * step->element;
  int64_t at[LK_MAX_RANK] = {0};
  lk_resize_tap outer[LK_RESIZE_MAX_COMBINED];
  for (;;) {
    uint32_t count = combine(step, at, outer);
    if (step->nearest) {
      copy_row(step, from + outer[0].offset * (int64_t)step->element, to);
    } else {
      sum_row(step, outer, count, (const float *)(const void *)from, (float *)(void *)to);
    }
    to += row_bytes;
    uint32_t i = last;
    for (; i > 0; i--) {
      if (++at[i - 1] < step->dims[i - 1]) break;
      at[i - 1] = 0;
    }
    if (i == 0) return LK_OK;
  }
}
