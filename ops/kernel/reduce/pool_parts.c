/* Poolings of windows in parts. */
#include "ops/kernel/reduce/pool_parts.h"

#include <stddef.h>

#include "ops/kernel/sizes.h"

/* At a time, so that their results so far are in the first-level cache. */
enum { OUTPUTS = 64 };

/* Of the part that has been computed last. */
typedef struct results {
  _Alignas(64) double numbers[OUTPUTS];
  int32_t positions[OUTPUTS];
} results;

#define PUT(name, type, statement)                                                                 \
  static void name(const lk_pool_call *of, const results *part) {                                  \
    const type *x = (const type *)(const void *)part->numbers;                                     \
    type *y = of->to;                                                                              \
    for (int64_t i = 0; i < of->length; i++) statement;                                            \
  }
#define LARGER                                                                                     \
  if (x[i] > y[i]) {                                                                               \
    y[i] = x[i];                                                                                   \
    if (of->positions != NULL) of->positions[i] = part->positions[i];                              \
  }
PUT(put_largest_f32, float, LARGER)
PUT(put_largest_f64, double, LARGER)
PUT(put_largest_u8, uint8_t, LARGER)
PUT(put_largest_i8, int8_t, LARGER)
PUT(put_sum_f32, float, y[i] += x[i])
PUT(put_sum_f64, double, y[i] += x[i])
#undef PUT
#undef LARGER

static void put(const lk_pool *pool, const lk_pool_call *of, const results *part) {
  const bool is_largest = pool->kind == LK_POOL_MAX;
  switch (pool->dtype) {
  case LK_F64:
    (is_largest ? put_largest_f64 : put_sum_f64)(of, part);
    break;
  case LK_U8:
    put_largest_u8(of, part);
    break;
  case LK_I8:
    put_largest_i8(of, part);
    break;
  default:
    (is_largest ? put_largest_f32 : put_sum_f32)(of, part);
  }
}

static void divide(const lk_pool *pool, const lk_pool_call *of) {
  for (int64_t i = 0; i < of->length; i++) {
    if (pool->dtype == LK_F64) {
      ((double *)of->to)[i] /= of->divisor;
    } else {
      ((float *)of->to)[i] /= (float)of->divisor;
    }
  }
}

/* Taps of a part along the dimensions: whole lines and planes, as many as there may be. */
static void find_sizes(const int64_t taps[3], int64_t sizes[3]) {
  int64_t left = LK_LOOK_EACH;
  for (int i = 3; i-- > 0;) {
    sizes[i] = lk_max(1, lk_min(taps[i], left));
    left /= taps[i];
  }
}

/* Few outputs. False: it was stopped. */
static bool run_few(const lk_pool *pool, const lk_pool_call *of) {
  int64_t sizes[3], at[3];
  results part;
  bool is_first = true;
  find_sizes(of->taps, sizes);
  for (at[0] = 0; at[0] < of->taps[0]; at[0] += sizes[0]) {
    for (at[1] = 0; at[1] < of->taps[1]; at[1] += sizes[1]) {
      for (at[2] = 0; at[2] < of->taps[2]; at[2] += sizes[2]) {
        lk_pool_call call = *of;
        int64_t offset = 0;
        for (int i = 0; i < 3; i++) {
          call.taps[i] = lk_min(sizes[i], of->taps[i] - at[i]);
          offset += at[i] * of->steps[i];
        }
        call.from = (const char *)of->from + offset * pool->size;
        call.first_tap += at[0] * of->tap_next[0] + at[1] * of->tap_next[1] + at[2];
        call.divisor = 1;
        call.is_exact = true;
        if (!is_first) call.to = part.numbers;
        if (!is_first && of->positions != NULL) call.positions = part.positions;
        pool->run(&call);
        if (!is_first) put(pool, of, &part);
        is_first = false;
        if (lk_team_is_stopped()) return false;
      }
    }
  }
  if (pool->kind != LK_POOL_MAX) divide(pool, of);
  return true;
}

void lk_pool_run_parts(const lk_pool *pool, const lk_pool_call *call) {
  lk_pool_call few = *call;
  few.runs = 1;
  for (int64_t run = 0; run < call->runs; run++) {
    const int64_t from = run * call->from_next, to = run * call->to_next;
    for (int64_t i = 0; i < call->length; i += OUTPUTS) {
      few.length = few.to_next = lk_min(call->length - i, OUTPUTS);
      few.from = (const char *)call->from + (from + i * call->stride) * pool->size;
      few.to = (char *)call->to + (to + i) * pool->size;
      if (call->positions != NULL) few.positions = call->positions + to + i;
      if (!run_few(pool, &few)) return;
    }
  }
}
