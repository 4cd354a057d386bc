/* Conversion between element types: from memory to a class of element programs, to another class,
 * and to memory, in pieces that stay in the L1 cache. */
#include "ops/kernel/element/cast.h"

#include <string.h>

#include "base/tensor.h"
#include "ops/kernel/element/element_program.h"
#include "ops/kernel/number.h"

enum { PIECE = 2048, TURN = 4 * PIECE /* elements */ };

/* ---- plan ---- */

static void add(lk_cast *self, lk_element_fn *loop, uint32_t dtype) {
  self->strides[self->n_loops] = (uint8_t)lk_dtype_size(dtype);
  self->loops[self->n_loops++] = loop;
}

static void to_odd(const lk_element_args *args) {
  const double *from = (const double *)(const void *)args->a.at;
  float *to = (float *)(void *)args->to.at;
  for (int64_t i = 0; i < args->cols; i++) to[i] = lk_f64_to_odd_f32(from[i]);
}

static void add_conversion(lk_cast *self, const lk_element_loops *loops, lk_element_class from,
                           lk_element_class to) {
  if (from != to) add(self, loops->ops[lk_element_cast_op(to)][from].all, self->from);
}

void lk_cast_plan(lk_cast *self, lk_isa isa) {
  const lk_element_loops *loops = lk_element_loops_for(isa);
  const lk_element_class from = lk_element_class_of(self->from), to = lk_element_class_of(self->to);
  const bool is_half = self->to == LK_F16 || self->to == LK_BF16;
  self->from_size = (uint8_t)lk_dtype_size(self->from);
  self->to_size = (uint8_t)lk_dtype_size(self->to);
  self->n_loops = 0;
  if (self->to == LK_F32 && loops->load_f32[self->from] != NULL) {
    add(self, loops->load_f32[self->from], self->from);
    return;
  }
  if (!lk_element_is_of_class(self->from)) add(self, loops->load[self->from], self->from);
  if (from == LK_ELEMENT_F32 && loops->store_f32[self->to] != NULL) {
    add(self, loops->store_f32[self->to], self->to);
    return;
  }
  if (is_half && from != LK_ELEMENT_F32) {
    add_conversion(self, loops, from, LK_ELEMENT_F64);
    add(self, to_odd, self->from);
  } else {
    add_conversion(self, loops, from, to);
  }
  if (!lk_element_is_of_class(self->to)) add(self, loops->store[self->to], self->to);
}

/* ---- running ---- */

/* Elements on their way from loop to loop. */
typedef union piece {
  _Alignas(64) uint64_t words[PIECE];
} piece;

static void convert(const lk_cast *self, char *from, char *to, int64_t count) {
  piece pieces[2];
  char *at = from;
  for (uint32_t i = 0; i < self->n_loops; i++) {
    char *next = i + 1 == self->n_loops ? to : (char *)&pieces[i % 2];
    const lk_element_args args = {
        .to = {next, 0}, .a = {at, 0}, .rows = 1, .cols = count, .stride = self->strides[i]};
    self->loops[i](&args);
    at = next;
  }
}

static void convert_turns(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_cast *self = loop->params;
  const int64_t last = end * TURN < self->count ? end * TURN : self->count;
  const int64_t step = self->n_loops == 1 ? TURN : PIECE; /* one loop keeps nothing */
  for (int64_t i = begin * TURN; i < last; i += step) {
    convert(self, (char *)loop->pointers[0] + i * self->from_size,
            (char *)loop->pointers[1] + i * self->to_size, last - i < step ? last - i : step);
  }
}

lk_status lk_cast_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_cast *self = params;
  const int64_t bytes = self->count * (int64_t)(self->from_size + self->to_size);
  return lk_kernel_turns((self->count + TURN - 1) / TURN,
                         lk_sharing_pays_for(bytes, LK_SHARING_BYTE), convert_turns, params,
                         pointers);
}

void lk_cast_one(uint32_t from_type, const void *from, uint32_t to_type, void *to) {
  lk_cast cast = {.from = from_type, .to = to_type, .count = 1};
  const lk_kernel_loop loop = {.params = &cast,
                               .pointers = (void *[]){(void *)(uintptr_t)from, to}};
  if (from_type == to_type) {
    memcpy(to, from, lk_dtype_size(to_type));
    return;
  }
  lk_cast_plan(&cast, lk_isa_get());
  convert_turns(&loop, 0, 1);
}
