/* Keys or values of a cache as whole numbers. */
#include "ops/kernel/sequence/kv_bytes.h"

#include "ops/kernel/sizes.h"

enum {
  CHUNK = 256, /* elements at a time; even */
  LEAST_HALF = -8,
  MOST_HALF = 7
};

void lk_kv_bytes_plan(lk_kv_bytes *self) {
  self->loops = lk_integer_loops_get(lk_isa_get());
}

/* Bytes of a row of a head. */
static int64_t row_bytes(const lk_kv_bytes *self) {
  return self->is_half ? self->size / 2 : self->size;
}

static bool is_shared(const lk_kv_bytes *self) {
  return lk_sharing_pays_for(self->batch * self->heads * self->rows * self->size,
                             LK_SHARING_ELEMENT);
}

/* Scales of a head; NULL: one for all. */
static const float *scales_of(const lk_kv_bytes *self, const float *scale, int64_t head) {
  return self->has_scales ? scale + head * self->size : NULL;
}

/* ---- to bytes ---- */

static void pack_halves(const uint8_t *bytes, int64_t count, uint8_t *to) {
  for (int64_t i = 0; i < count; i += 2) {
    const int low = (int)lk_max(LEAST_HALF, lk_min(MOST_HALF, (int8_t)bytes[i])) - LEAST_HALF;
    const int high = (int)lk_max(LEAST_HALF, lk_min(MOST_HALF, (int8_t)bytes[i + 1])) - LEAST_HALF;
    to[i / 2] = (uint8_t)(low | high << 4);
  }
}

static void quantize_row(const lk_kv_bytes *self, const float *from, const float *scales,
                         float scale, uint8_t *to) {
  const lk_byte_type type = {scales != NULL ? 1 : scale, 0, true};
  for (int64_t i = 0; i < self->size; i += CHUNK) {
    const int64_t n = lk_min(self->size - i, CHUNK);
    const float *x = from + i;
    float quotients[CHUNK];
    uint8_t bytes[CHUNK];
    if (scales != NULL) {
      for (int64_t k = 0; k < n; k++) quotients[k] = x[k] / scales[i + k];
      x = quotients;
    }
    self->loops->quantize(x, self->is_half ? bytes : to + i, n, &type);
    if (self->is_half) pack_halves(bytes, n, to + i / 2);
  }
}

/* A turn: a row of a batch. */
static void quantize_rows(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_kv_bytes *self = loop->params;
  const float *x = (const float *)loop->pointers[0] + self->first, *scale = loop->pointers[2];
  const int64_t width = row_bytes(self);
  for (int64_t i = begin; i < end; i++) {
    const float *from = x + i / self->rows * self->from[0] + i % self->rows * self->from[2];
    uint8_t *to = (uint8_t *)loop->pointers[1] + i * self->heads * width;
    for (int64_t head = 0; head < self->heads; head++) {
      quantize_row(self, from + head * self->from[1], scales_of(self, scale, head), *scale,
                   to + head * width);
    }
  }
}

lk_status lk_kv_quantize_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_kv_bytes *self = params;
  return lk_kernel_turns(self->batch * self->rows, is_shared(self), quantize_rows, self, pointers);
}

/* ---- to numbers ---- */

static void unpack_halves(const uint8_t *from, int64_t count, uint8_t *bytes) {
  for (int64_t i = 0; i < count / 2; i++) {
    bytes[2 * i] = from[i] & 15;
    bytes[2 * i + 1] = from[i] >> 4;
  }
}

static void dequantize_row(const lk_kv_bytes *self, const uint8_t *from, const float *scales,
                           float scale, float *to) {
  const lk_byte_type type = {scales != NULL ? 1 : scale, self->is_half ? -LEAST_HALF : 0,
                             !self->is_half};
  for (int64_t i = 0; i < self->size; i += CHUNK) {
    const int64_t n = lk_min(self->size - i, CHUNK);
    uint8_t bytes[CHUNK];
    if (self->is_half) unpack_halves(from + i / 2, n, bytes);
    self->loops->dequantize(self->is_half ? bytes : from + i, to + i, n, &type);
    for (int64_t k = i; scales != NULL && k < i + n; k++) to[k] *= scales[k];
  }
}

/* A turn: a row of a head of a batch. */
static void dequantize_rows(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_kv_bytes *self = loop->params;
  const float *scale = loop->pointers[2];
  const int64_t width = row_bytes(self);
  for (int64_t i = begin; i < end; i++) {
    const int64_t head = i / self->rows, row = head * self->buffer_rows + i % self->rows;
    dequantize_row(self, (const uint8_t *)loop->pointers[0] + row * width,
                   scales_of(self, scale, head % self->heads), *scale,
                   (float *)loop->pointers[1] + i * self->size);
  }
}

lk_status lk_kv_dequantize_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_kv_bytes *self = params;
  return lk_kernel_turns(self->batch * self->heads * self->rows, is_shared(self), dequantize_rows,
                         self, pointers);
}
