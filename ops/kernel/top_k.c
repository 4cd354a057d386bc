/* The largest or smallest elements along an axis. A turn is a line along it. The best elements so
 * far are a heap, with the worst of them at its root, which lies in the output itself: so there is
 * no scratch memory, and most elements are compared with the root alone. The heap has indices, or,
 * where both fit 64 bits, keys and indices. */
#include "ops/kernel/top_k.h"

#include <string.h>

#include "base/tensor.h"
#include "ops/kernel/order.h"

enum { SHARED_ELEMENTS = 16 * 1024 };

/* A line of the data. */
typedef struct axis_line {
  const lk_top_k *self;
  const char *data;
  size_t step; /* bytes */
} axis_line;

/* Larger is better. */
static uint64_t key_at(const axis_line *line, int64_t index) {
  const uint64_t key = lk_order_key(line->self->dtype, line->data + (size_t)index * line->step, 0);
  return line->self->smallest ? ~key : key;
}

static bool is_worse(const void *context, int64_t a, int64_t b) {
  const uint64_t key_a = key_at(context, a), key_b = key_at(context, b);
  return key_a != key_b ? key_a < key_b : a > b;
}

static void choose(const axis_line *line, int64_t *indices) {
  const int64_t k = line->self->k, step = line->self->inner;
  const lk_heap heap = {indices, step, k, is_worse, line};
  for (int64_t i = 0; i < k; i++) indices[i * step] = i;
  lk_heap_make(&heap);
  uint64_t worst = key_at(line, indices[0]);
  for (int64_t i = k; i < line->self->count; i++) {
    if (key_at(line, i) <= worst) continue; /* of equal ones, the first stays */
    lk_heap_sink(&heap, 0, i);
    worst = key_at(line, indices[0]);
  }
  lk_heap_sort(heap);
}

/* ---- with keys of 32 bits ---- */

/* What is larger is better: by the key, then by the place. */
static uint64_t packed_at(const axis_line *line, int64_t index) {
  return key_at(line, index) << 32 | (UINT32_MAX - (uint64_t)index);
}

static bool is_smaller(const void *context, int64_t a, int64_t b) {
  (void)context;
  return (uint64_t)a < (uint64_t)b;
}

static void choose_packed(const axis_line *line, int64_t *items) {
  const int64_t k = line->self->k, step = line->self->inner;
  const lk_heap heap = {items, step, k, is_smaller, NULL};
  for (int64_t i = 0; i < k; i++) items[i * step] = (int64_t)packed_at(line, i);
  lk_heap_make(&heap);
  for (int64_t i = k; i < line->self->count; i++) {
    const uint64_t packed = packed_at(line, i);
    if (packed > (uint64_t)items[0]) lk_heap_sink(&heap, 0, (int64_t)packed);
  }
  lk_heap_sort(heap);
  for (int64_t i = 0; i < k; i++) {
    items[i * step] = (int64_t)(UINT32_MAX - ((uint64_t)items[i * step] & UINT32_MAX));
  }
}

static void choose_lines(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_top_k *self = loop->params;
  const size_t size = lk_dtype_size(self->dtype);
  const bool fits = self->dtype == LK_F32 && self->count <= UINT32_MAX;
  for (int64_t turn = begin; turn < end; turn++) {
    const int64_t outer = turn / self->inner, inner = turn % self->inner;
    const int64_t from = outer * self->count * self->inner + inner;
    const int64_t to = outer * self->k * self->inner + inner;
    const axis_line line = {.self = self,
                            .data = (const char *)loop->pointers[0] + (size_t)from * size,
                            .step = (size_t)self->inner * size};
    char *values = (char *)loop->pointers[1] + (size_t)to * size;
    int64_t *indices = (int64_t *)loop->pointers[2] + to;
    if (fits) {
      choose_packed(&line, indices);
    } else {
      choose(&line, indices);
    }
    for (int64_t i = 0; i < self->k; i++) {
      memcpy(values + (size_t)i * line.step,
             line.data + (size_t)indices[i * self->inner] * line.step, size);
    }
  }
}

lk_status lk_top_k_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_top_k *self = params;
  const int64_t lines = self->outer * self->inner;
  return lk_kernel_turns(lines, lines * self->count >= SHARED_ELEMENTS, choose_lines, params,
                         pointers);
}
