/* Means and roots of integers. All elements are looked at first: where none is large, as nearly
 * always, totals fit in 64 bits. Else they are taken twice, and each result is found from the one
 * of its two totals that is right. */
#include "ops/kernel/reduce/reduce_whole.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/element/element_program.h"
#include "ops/kernel/number.h"
#include "ops/kernel/sizes.h"

/* A total that is smaller in f64 fits in 64 bits, and its root in 31, however it was rounded. */
static const double FITS = 0x1p61;

/* Elements, and results, of a turn. */
enum { BLOCK = 4096 };

void lk_reduce_whole_plan(uint32_t dtype, uint32_t elements, int64_t count, int64_t results,
                          lk_isa isa, lk_reduce_whole *inout) {
  const double of_each = FITS / 2 / ((double)count / (double)results);
  const bool has_squares = inout->small.reduction.kind == LK_REDUCE_SQUARES;
  const double most = has_squares ? sqrt(of_each) : of_each;
  inout->bits = lk_row_loops_get(isa)->reduce_bits[lk_element_class_of(elements)];
  for (inout->limit = 1; 2 * (double)inout->limit <= most;) inout->limit *= 2;
  inout->dtype = dtype;
  inout->wide = elements == LK_U64 ? LK_U64 : LK_I64;
  inout->count = count;
  inout->results = results;
}

/* ---- whether an element is large ---- */

typedef struct bits_loop {
  const lk_reduce_whole *self;
  const char *from;
  _Atomic bool is_large;
} bits_loop;

static void look_at_blocks(const void *arg, int64_t begin, int64_t end) {
  bits_loop *loop = *(bits_loop *const *)arg;
  const lk_reduce_whole *self = loop->self;
  const int64_t size = self->whole.size;
  for (int64_t i = begin; i < end; i++) {
    const int64_t first = i * BLOCK, n = lk_min(BLOCK, self->count - first);
    if (self->bits(loop->from + first * size, n) < self->limit) continue;
    atomic_store_explicit(&loop->is_large, true, memory_order_relaxed);
    return;
  }
}

static bool has_large(const lk_reduce_whole *self, const void *from) {
  bits_loop loop = {.self = self, .from = from, .is_large = false};
  bits_loop *const arg = &loop;
  lk_team_for(lk_div_up(self->count, BLOCK), lk_sharing_pays_for(self->count, LK_SHARING_ELEMENT),
              look_at_blocks, &arg);
  return atomic_load_explicit(&loop.is_large, memory_order_relaxed);
}

/* ---- results of two totals ---- */

/* What becomes of a total in f64. */
static double end_real(const lk_reduction *reduction, double total) {
  return reduction->end == LK_REDUCE_ROOT ? sqrt(total) : total / reduction->divisor;
}

/* Cut toward zero, and held within what `dtype` has; there is no NaN, nor anything too small. */
static uint64_t held(double real, uint32_t dtype) {
  const int bits = 8 * (int)lk_dtype_size(dtype) - (dtype == LK_I32 || dtype == LK_I64 ? 1 : 0);
  if (real >= ldexp(1, bits)) return UINT64_MAX >> (64 - bits);
  return dtype == LK_U64 ? lk_f64_to_u64(real) : (uint64_t)lk_f64_to_i64(real);
}

static uint64_t end(const lk_reduce_whole *self, double real, uint64_t whole) {
  const lk_reduction *reduction = &self->small.reduction;
  const bool is_unsigned = self->wide == LK_U64;
  if (fabs(real) >= FITS) return held(end_real(reduction, real), self->dtype);
  if (reduction->end == LK_REDUCE_ROOT) return (uint64_t)sqrt((double)(int64_t)whole);
  const int64_t divisor = (int64_t)reduction->divisor;
  return is_unsigned ? whole / (uint64_t)divisor : (uint64_t)((int64_t)whole / divisor);
}

static void end_blocks(const void *arg, int64_t begin, int64_t last) {
  const lk_kernel_loop *loop = arg;
  const lk_reduce_whole *self = loop->params;
  const double *reals = loop->pointers[2];
  const uint64_t *wholes = loop->pointers[3];
  const size_t size = lk_dtype_size(self->dtype);
  char *to = loop->pointers[1];
  const int64_t until = lk_min(last * BLOCK, self->results);
  for (int64_t i = begin * BLOCK; i < until; i++) {
    const uint64_t result = end(self, reals[i], wholes[i]);
    memcpy(to + (size_t)i * size, &result, size); /* the low bytes */
  }
}

lk_status lk_reduce_whole_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_reduce_whole *self = params;
  void *const reals[] = {pointers[4], pointers[2]}, *const wholes[] = {pointers[4], pointers[3]};
  if (!has_large(self, pointers[4])) return lk_reduce_kernel(&self->small, pointers, error);
  LK_RETURN_NOT_OK(lk_reduce_kernel(&self->real, reals, error));
  LK_RETURN_NOT_OK(lk_reduce_kernel(&self->whole, wholes, error));
  return lk_kernel_turns(lk_div_up(self->results, BLOCK),
                         lk_sharing_pays_for(self->count, LK_SHARING_ELEMENT), end_blocks, self,
                         pointers);
}
