/* The product of a recurrent layer's state by R where R is bytes. */
#include "ops/kernel/sequence/recurrent_integer.h"

#include <string.h>

#include "base/tensor.h"
#include "ops/kernel/sizes.h"

/* What the scratch memory begins with: rows as products read them; then scales, then a row. */
static int64_t block_rows(const lk_recurrent_integer *self) {
  const int64_t tile = self->product.loops->tile_rows;
  return lk_min(self->product.block_rows, lk_div_up(lk_max(1, self->product.rows), tile) * tile);
}

static int64_t n_scales(const lk_recurrent_integer *self) {
  return self->scale_step != 0 ? self->product.columns : 1;
}

int64_t lk_recurrent_integer_scratch_size(const lk_recurrent_integer *self) {
  const int64_t row = lk_div_up(self->product.k, (int64_t)sizeof(int32_t));
  return block_rows(self) * self->product.a_step + n_scales(self) + row;
}

lk_recurrent_bytes lk_recurrent_bytes_make(const lk_recurrent_integer *of, int64_t direction,
                                           const void *r, const void *scale, const void *zero,
                                           void *scratch) {
  return (lk_recurrent_bytes){.of = of,
                              .r = (const int32_t *)r + direction * of->product.b_size,
                              .scale = (const float *)scale + direction * of->scale_direction,
                              .zero = (const uint8_t *)zero + direction * of->zero_direction,
                              .scratch = (int32_t *)scratch +
                                         direction * lk_recurrent_integer_scratch_size(of)};
}

static float *scales_of(const lk_recurrent_bytes *self) {
  return (float *)(void *)(self->scratch + block_rows(self->of) * self->of->product.a_step);
}

void lk_recurrent_bytes_begin(lk_recurrent_bytes *self, float least, float most) {
  float *scales = scales_of(self);
  self->type = lk_byte_type_of(least, most);
  self->state_zero = (uint8_t)self->type.zero;
  for (int64_t i = 0; i < n_scales(self->of); i++) {
    scales[i] = self->type.scale * self->scale[i];
  }
}

static void take_rows(const lk_recurrent_bytes *self, const float *h, int64_t h_row, int64_t rows) {
  const lk_product_integer *product = &self->of->product;
  uint8_t *bytes = (uint8_t *)(scales_of(self) + n_scales(self->of));
  int32_t *to = self->scratch;
  const int64_t whole = lk_max(0, product->groups - 1);
  for (int64_t i = 0; i < rows; i++, h += h_row, to += product->a_step) {
    product->loops->quantize(h, bytes, product->k, &self->type);
    memset(to + whole, 0, (size_t)(product->a_step - whole) * sizeof *to);
    product->loops->widen(to, bytes, product->k, false);
  }
}

void lk_recurrent_bytes_multiply(const lk_recurrent_bytes *self, const float *h, int64_t h_row,
                                 int64_t rows, float *gates, int64_t gates_row) {
  const lk_product_integer *product = &self->of->product;
  lk_integer_block block = {.a = self->scratch,
                            .a_step = product->a_step,
                            .b = self->r,
                            .b_sums = lk_product_integer_sums(product, self->r),
                            .k = product->k,
                            .columns = product->columns,
                            .panel = product->panel,
                            .end_panel = product->panels,
                            .b_is_signed = product->b_is_signed,
                            .a_zero = &self->state_zero,
                            .b_zero = self->zero,
                            .b_zero_step = self->of->zero_step,
                            .scale = scales_of(self),
                            .scale_step = self->of->scale_step,
                            .c_step = gates_row,
                            .c_dtype = LK_F32,
                            .adds = true};
  for (int64_t first = 0; first < rows; first += block.rows) {
    block.rows = lk_min(rows - first, block_rows(self->of));
    block.c = gates + first * gates_row;
    take_rows(self, h + first * h_row, h_row, block.rows);
    product->loops->multiply(&block);
  }
}
