/* Steps of products and convolutions of bytes. */
#include "ops/plan/integer_steps.h"

#include <stddef.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/integer/pixels.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/packing.h"

/* Of groups that are computed as one. */
enum { MERGED_COLUMNS = 32, MERGED_CHANNELS = 64 };

/* ---- sizes ---- */

void lk_integer_matmul(const lk_matmul *matmul, lk_integer_step *out_step) {
  const bool is_empty = matmul->k == 0; /* then there is no matrix to tell from another */
  const int64_t matrix = matmul->k * matmul->columns;
  *out_step = (lk_integer_step){.product = {.rows = matmul->rows,
                                            .columns = matmul->columns,
                                            .k = matmul->k,
                                            .a_row = matmul->a_row,
                                            .a_k = matmul->a_k,
                                            .b_inner = matmul->k,
                                            .b_step = matmul->b_k,
                                            .b_column = matmul->b_column,
                                            .b_matrices = 1,
                                            .b_matrix = matrix,
                                            .c_row = matmul->columns,
                                            .c_batch = matmul->rows * matmul->columns,
                                            .batch_rank = matmul->batch_rank}};
  lk_product_integer *product = &out_step->product;
  for (uint32_t i = 0; i < matmul->batch_rank; i++) {
    const lk_matmul_batch *from = &matmul->batch[i];
    product->batch[i] = (lk_matmul_batch){.size = from->size,
                                          .a = is_empty ? 0 : from->a / matmul->k,
                                          .b = is_empty ? 0 : from->b / matrix};
    if (product->batch[i].b != 0) product->b_matrices *= from->size;
  }
}

bool lk_integer_is_zero(const lk_planner *planner, uint32_t index) {
  if (!lk_op_has(planner->node, index)) return true;
  const lk_tensor *tensor = &planner->node->constants[index].tensor;
  if (planner->node->constants[index].content == NULL || tensor->data == NULL) return false;
  const uint8_t *bytes = tensor->data;
  for (int64_t i = 0; i < lk_elements(&tensor->desc); i++) {
    if (bytes[i] != 0) return false;
  }
  return true;
}

/* How many groups are computed as one, whose weights are 0 outside them: small ones fill no vector.
 * That takes weights whose zero point is 0. */
static int64_t merged_groups(const lk_conv_shape *shape) {
  int64_t most = 1;
  for (int64_t n = 2; n <= shape->groups && n * shape->out_channels <= MERGED_COLUMNS &&
                      n * shape->in_channels <= MERGED_CHANNELS;
       n++) {
    if (shape->groups % n == 0) most = n;
  }
  return most;
}

void lk_integer_conv(lk_planner *planner, const lk_conv_shape *shape, uint32_t w_zero,
                     lk_integer_step *out_step) {
  const bool is_depthwise = lk_depthwise_integer_takes(shape, lk_integer_loops_get(lk_isa_get()));
  const bool pads_weights = lk_integer_is_zero(planner, w_zero) && !is_depthwise;
  const int64_t merged = pads_weights ? merged_groups(shape) : 1;
  const int64_t channels = shape->in_channels * merged, columns = shape->out_channels * merged;
  const int64_t taps = lk_conv_positions(shape), of_column = taps * shape->in_channels;
  const int64_t pixels = shape->out[0] * shape->out[1] * shape->out[2];
  lk_conv_shape conv = *shape;
  conv.groups /= merged;
  conv.in_channels = channels;
  conv.out_channels = columns;
  *out_step = (lk_integer_step){.product = {.rows = shape->batch * pixels,
                                            .columns = columns,
                                            .k = taps * channels,
                                            .a_row = channels,
                                            .b_inner = channels,
                                            .b_step = taps,
                                            .b_outer = 1,
                                            .b_column = of_column,
                                            .b_group_k = merged > 1 ? shape->in_channels : 0,
                                            .b_group_columns = merged > 1 ? shape->out_channels : 0,
                                            .b_matrices = conv.groups,
                                            .b_matrix = columns * of_column,
                                            .c_row = conv.groups * columns,
                                            .c_batch = columns,
                                            .is_conv = true,
                                            .conv = conv,
                                            .batch_rank = 1,
                                            .batch = {{.size = conv.groups, .a = 1, .b = 1}}},
                                .is_depthwise = is_depthwise,
                                .pads_weights = pads_weights};
}

/* ---- operands ---- */

void lk_integer_give(lk_integer_step *self, lk_integer_role role, const lk_operand *operand) {
  lk_product_integer *product = &self->product;
  const int64_t step = lk_elements(&operand->desc) == 1 ? 0 : 1;
  const int64_t matrix =
      step *
      (lk_elements(&operand->desc) > product->columns || product->is_conv ? product->columns : 0);
  self->operands[role] = *operand;
  product->has |= 1U << role;
  if (role == LK_INTEGER_A_ZERO) product->a_zero_step = step;
  if (role == LK_INTEGER_B_ZERO) product->b_zero_step = step, product->b_zero_matrix = matrix;
  if (role == LK_INTEGER_SCALE) product->scale_step = step, product->scale_matrix = matrix;
  if (role == LK_INTEGER_BIAS) product->bias_column = step, product->bias_matrix = matrix;
}

enum { LONG_LINE = 6 }; /* taps of one channel, from which on a line fills the words by itself */

/* Whether a convolution is quicker on pixels of whole words, which tiles read where they are, than
 * on the channels that there are. */
static bool suits_pixels(const lk_integer_step *self, const lk_tensor_desc *a) {
  const lk_integer_loops *loops = lk_integer_loops_get(lk_isa_get());
  const lk_conv_shape *conv = &self->product.conv;
  const bool fills_words = conv->in_channels == 1 && conv->kernel[2] >= LONG_LINE;
  return self->pads_weights && conv->groups == 1 && conv->in_channels > 0 &&
         conv->in_channels < LK_PIXEL_BYTES && !fills_words && conv->dilation[2] == 1 &&
         a->dtype == LK_U8 && a->layout == LK_LAYOUT_PLAIN && loops->group == LK_PIXEL_BYTES &&
         !loops->has_tiles;
}

/* A as pixels, with weights of 0 for what is behind its channels. */
static lk_status take_pixels(lk_planner *planner, lk_integer_step *self, uint32_t index,
                             lk_error *error) {
  lk_product_integer *product = &self->product;
  lk_conv_shape *conv = &product->conv;
  const int64_t channels = conv->in_channels;
  lk_operand operands[2];
  LK_RETURN_NOT_OK(lk_planner_input(planner, index, LK_LAYOUT_PLAIN, &operands[0], error));
  lk_tensor_desc desc = operands[0].desc;
  desc.dims[1] = LK_PIXEL_BYTES;
  desc.layout = LK_LAYOUT_CHANNELS_LAST;
  const lk_pixels step = {.images = conv->batch,
                          .channels = channels,
                          .pixels = conv->in[0] * conv->in[1] * conv->in[2]};
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, &operands[1], error));
  LK_RETURN_NOT_OK(lk_planner_kernel(planner, lk_pixels_kernel, "pixels", &step, sizeof step,
                                     operands, 2, error));
  conv->in_channels = LK_PIXEL_BYTES;
  product->k = product->k / channels * LK_PIXEL_BYTES;
  product->a_row = product->b_inner = LK_PIXEL_BYTES;
  if (product->b_group_k == 0) { /* else its groups end with the channels too */
    product->b_group_k = channels;
    product->b_group_columns = product->columns;
  }
  lk_integer_give(self, LK_INTEGER_A, &operands[1]);
  return LK_OK;
}

lk_status lk_integer_take(lk_planner *planner, lk_integer_step *self, lk_integer_role role,
                          uint32_t index, lk_error *error) {
  lk_operand operand;
  const bool is_window = role == LK_INTEGER_A && self->product.is_conv;
  if (!lk_op_has(planner->node, index)) return LK_OK;
  if (is_window && suits_pixels(self, &planner->inputs[index].desc)) {
    return take_pixels(planner, self, index, error);
  }
  LK_RETURN_NOT_OK(lk_planner_input(
      planner, index, is_window ? LK_LAYOUT_CHANNELS_LAST : LK_LAYOUT_PLAIN, &operand, error));
  lk_integer_give(self, role, &operand);
  return LK_OK;
}

/* A scale in f32. One of one value broadcasts to any shape. */
static lk_element_value take_scale(lk_chain *chain, lk_operand operand) {
  if (lk_elements(&operand.desc) == 1) operand.desc.rank = 0;
  return lk_element_cast(&chain->program, lk_chain_operand(chain, &operand), LK_F32);
}

/* What a scale is made of that is the same in each run, beside the scale of B. */
typedef struct known_scale {
  int64_t count;
  float a, c;
} known_scale;

static lk_status make_scale(const void *params, const void *plain, void *to, lk_error *error) {
  const known_scale *self = params;
  float *made = to;
  (void)error;
  memcpy(made, plain, (size_t)self->count * sizeof *made);
  for (int64_t i = 0; i < self->count; i++) made[i] = self->a * made[i] / self->c;
  return LK_OK;
}

/* The number that `operand` is in each run. */
static bool is_known_number(const lk_planner *planner, const lk_operand *operand, float *out) {
  if (operand->place != LK_PLACE_PACKED || operand->desc.dtype != LK_F32 ||
      lk_elements(&operand->desc) != 1) {
    return false;
  }
  memcpy(out, lk_packed_data(planner->arrays.packed[operand->index]), sizeof *out);
  return true;
}

/* Into `scale`, a vector. */
static lk_status compute_scale(lk_planner *planner, float factor, const lk_operand *a,
                               const lk_operand *b, const lk_operand *c, lk_operand *scale,
                               lk_error *error) {
  lk_chain chain;
  const lk_tensor_desc desc = lk_tensor_desc_make(LK_F32, 1, b->desc.dims);
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, scale, error));
  lk_chain_begin_at(planner, scale, &chain);
  chain.value = take_scale(&chain, *a);
  if (factor != 1) lk_chain_unary(&chain, LK_ELEMENT_LINEAR, factor, 0);
  const lk_element_value of_b = take_scale(&chain, *b);
  chain.value = lk_element_binary(&chain.program, LK_ELEMENT_MUL, chain.value, of_b);
  if (c != NULL) {
    const lk_element_value of_c = take_scale(&chain, *c);
    chain.value = lk_element_binary(&chain.program, LK_ELEMENT_DIV, chain.value, of_c);
  }
  return lk_chain_step(&chain, error);
}

lk_status lk_integer_scale(lk_planner *planner, lk_integer_step *self, float factor,
                           const lk_operand *a_scale, uint32_t b_scale, int32_t c_scale,
                           lk_error *error) {
  lk_operand b, c, scale;
  const bool has_c = c_scale >= 0;
  const int64_t count = lk_elements(&planner->inputs[b_scale].desc);
  known_scale known = {.count = count, .c = 1};
  if (has_c) {
    LK_RETURN_NOT_OK(lk_planner_input(planner, (uint32_t)c_scale, LK_LAYOUT_PLAIN, &c, error));
  }
  if (planner->node->constants[b_scale].content != NULL &&
      planner->inputs[b_scale].desc.dtype == LK_F32 &&
      is_known_number(planner, a_scale, &known.a) &&
      (!has_c || is_known_number(planner, &c, &known.c))) {
    known.a *= factor;
    lk_weights_layout layout = {.numbers = {LK_PACKED_INTEGER_SCALE}};
    memcpy(&layout.numbers[1], &known.a, sizeof known.a);
    memcpy(&layout.numbers[2], &known.c, sizeof known.c);
    const lk_packer packer = {make_scale, NULL, &known, sizeof known};
    LK_RETURN_NOT_OK(lk_planner_packed(planner, b_scale, &layout, (size_t)count * sizeof(float),
                                       &packer, &scale, error));
    scale.desc = lk_tensor_desc_make(LK_F32, 1, &count);
  } else {
    LK_RETURN_NOT_OK(lk_planner_input(planner, b_scale, LK_LAYOUT_PLAIN, &b, error));
    b.desc.rank = 1;
    b.desc.dims[0] = count;
    LK_RETURN_NOT_OK(compute_scale(planner, factor, a_scale, &b, has_c ? &c : NULL, &scale, error));
  }
  lk_integer_give(self, LK_INTEGER_SCALE, &scale);
  return LK_OK;
}

/* ---- the right operand ---- */

static lk_status pack(const void *params, const void *plain, void *to, lk_error *error) {
  void *const pointers[] = {(void *)(uintptr_t)plain, to};
  return lk_product_integer_pack_kernel(params, pointers, error);
}

typedef struct small_question {
  int64_t count;
  bool is_signed;
} small_question;

static lk_status find_small(const void *params, const void *plain, void *to, lk_error *error) {
  const small_question *self = params;
  (void)error;
  *(bool *)to = lk_integer_are_small(plain, self->count, self->is_signed);
  return LK_OK;
}

/* Whether constant weights are small is found out once for all sizes, as a packed copy is. Of
 * merged groups, the byte 0 is put between the weights. */
static lk_status find_loops(lk_planner *planner, const lk_product_integer *product, uint32_t index,
                            const lk_integer_loops **out, lk_error *error) {
  const lk_integer_loops *small = lk_integer_loops_small(lk_isa_get());
  const bool is_known = planner->node->constants[index].content != NULL &&
                        (product->b_is_signed || product->b_group_k == 0);
  *out = lk_integer_loops_get(lk_isa_get());
  if (small == NULL || !is_known) return LK_OK;
  const small_question question = {lk_elements(&planner->inputs[index].desc), product->b_is_signed};
  const lk_weights_layout layout = {.numbers = {LK_PACKED_INTEGER_SMALL, question.is_signed}};
  const lk_packer packer = {find_small, NULL, &question, sizeof question};
  lk_operand answer;
  LK_RETURN_NOT_OK(
      lk_planner_packed(planner, index, &layout, sizeof(bool), &packer, &answer, error));
  const lk_packed *packed = planner->arrays.packed[answer.index];
  if (*(const bool *)lk_packed_data(packed)) *out = small;
  return LK_OK;
}

lk_status lk_integer_right_input(lk_planner *planner, lk_product_integer *product, uint32_t index,
                                 lk_operand *out_operand, lk_error *error) {
  product->b_is_signed = planner->inputs[index].desc.dtype == LK_I8;
  LK_RETURN_NOT_OK(find_loops(planner, product, index, &product->loops, error));
  lk_product_integer_plan(product);
  const size_t size = offsetof(lk_product_integer, batch_rank);
  const int64_t words = lk_product_integer_packed_size(product);
  lk_operand operands[2];
  if (planner->node->constants[index].content != NULL && product->k > 0) {
    const lk_integer_loops *loops = product->loops;
    const lk_weights_layout layout = {
        .numbers = {LK_PACKED_INTEGER, loops->group, product->panel, loops->lanes,
                    product->b_is_signed, product->k, product->columns, product->b_inner,
                    product->b_step, product->b_outer, product->b_column, product->b_group_k,
                    product->b_group_columns, product->b_matrices, product->b_matrix}};
    const lk_packer packer = {pack, NULL, product, size};
    LK_RETURN_NOT_OK(lk_planner_packed(planner, index, &layout, (size_t)words * sizeof(int32_t),
                                       &packer, &operands[1], error));
  } else {
    const lk_tensor_desc desc = lk_tensor_desc_make(LK_I32, 1, &words);
    LK_RETURN_NOT_OK(lk_planner_input(planner, index, LK_LAYOUT_PLAIN, &operands[0], error));
    LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, &operands[1], error));
    LK_RETURN_NOT_OK(lk_planner_kernel(planner, lk_product_integer_pack_kernel, "pack", product,
                                       size, operands, 2, error));
  }
  *out_operand = operands[1];
  return LK_OK;
}

static lk_status add_c(lk_planner *planner, lk_integer_step *self, lk_error *error) {
  const bool is_conv = self->product.is_conv;
  lk_operand *c = &self->operands[LK_INTEGER_C];
  if ((self->product.has >> LK_INTEGER_C & 1) != 0) return LK_OK;
  self->product.has |= 1U << LK_INTEGER_C;
  return lk_planner_output(planner, 0, is_conv ? LK_LAYOUT_CHANNELS_LAST : LK_LAYOUT_PLAIN, c,
                           error);
}

/* A step of the operands that are there. */
static lk_status add_step(lk_planner *planner, lk_integer_step *self, lk_kernel_fn kernel,
                          const char *kind, const void *params, size_t size, int64_t scratch_words,
                          lk_error *error) {
  lk_operand operands[LK_INTEGER_ROLES];
  uint32_t n = 0;
  lk_operand *scratch = &self->operands[LK_INTEGER_SCRATCH];
  const lk_tensor_desc desc = lk_tensor_desc_make(LK_I32, 1, &scratch_words);
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, scratch, error));
  scratch->desc.dims[0] = 0; /* what it moves is no work of the product's */
  for (uint32_t role = 0; role < LK_INTEGER_ROLES; role++) {
    if ((self->product.has >> role & 1) != 0) operands[n++] = self->operands[role];
  }
  return lk_planner_kernel(planner, kernel, kind, params, size, operands, n, error);
}

static lk_status pack_depthwise(const void *params, const void *plain, void *to, lk_error *error) {
  void *const pointers[] = {(void *)(uintptr_t)plain, to};
  return lk_depthwise_integer_pack_kernel(params, pointers, error);
}

static lk_status add_depthwise_weights(lk_planner *planner, const lk_conv_shape *conv,
                                       uint32_t index, lk_operand *out_operand, lk_error *error) {
  const int64_t size = conv->groups * lk_conv_positions(conv);
  const lk_tensor_desc desc = lk_tensor_desc_make(planner->inputs[index].desc.dtype, 1, &size);
  lk_operand operands[2];
  if (planner->node->constants[index].content != NULL) {
    const lk_weights_layout layout = {
        .numbers = {LK_PACKED_INTEGER_DEPTHWISE, conv->groups, lk_conv_positions(conv)}};
    const lk_packer packer = {pack_depthwise, NULL, conv, sizeof *conv};
    return lk_planner_packed(planner, index, &layout, (size_t)size, &packer, out_operand, error);
  }
  LK_RETURN_NOT_OK(lk_planner_input(planner, index, LK_LAYOUT_PLAIN, &operands[0], error));
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, &operands[1], error));
  *out_operand = operands[1];
  return lk_planner_kernel(planner, lk_depthwise_integer_pack_kernel, "pack", conv, sizeof *conv,
                           operands, 2, error);
}

static lk_status emit_depthwise(lk_planner *planner, lk_integer_step *self, uint32_t b,
                                lk_error *error) {
  const lk_product_integer *product = &self->product;
  LK_RETURN_NOT_OK(
      add_depthwise_weights(planner, &product->conv, b, &self->operands[LK_INTEGER_B], error));
  self->product.has |= 1U << LK_INTEGER_B | 1U << LK_INTEGER_SCRATCH;
  const lk_depthwise_integer step = {.loops = lk_integer_loops_get(lk_isa_get()),
                                     .has = product->has,
                                     .a_is_signed = product->a_is_signed,
                                     .b_is_signed = planner->inputs[b].desc.dtype == LK_I8,
                                     .c_dtype = product->c_dtype,
                                     .b_zero_step = product->b_zero_step,
                                     .scale_step = product->scale_step,
                                     .bias_step = product->bias_column,
                                     .conv = product->conv};
  LK_RETURN_NOT_OK(add_step(planner, self, lk_depthwise_integer_kernel, "integer_depthwise", &step,
                            sizeof step, lk_depthwise_integer_scratch_size(&step), error));
  lk_planner_flops(planner, lk_depthwise_integer_operations(&step.conv));
  return LK_OK;
}

lk_status lk_integer_emit(lk_planner *planner, lk_integer_step *self, uint32_t b, lk_error *error) {
  lk_product_integer *product = &self->product;
  lk_operand right;
  LK_RETURN_NOT_OK(add_c(planner, self, error));
  product->a_is_signed = self->operands[LK_INTEGER_A].desc.dtype == LK_I8;
  product->c_dtype = (uint8_t)self->operands[LK_INTEGER_C].desc.dtype;
  if (self->is_depthwise) return emit_depthwise(planner, self, b, error);
  LK_RETURN_NOT_OK(lk_integer_right_input(planner, product, b, &right, error));
  lk_integer_give(self, LK_INTEGER_B, &right);
  product->has |= 1U << LK_INTEGER_SCRATCH;
  const size_t size =
      offsetof(lk_product_integer, batch) + product->batch_rank * sizeof product->batch[0];
  LK_RETURN_NOT_OK(add_step(planner, self, lk_product_integer_kernel, "integer_product", product,
                            size, lk_product_integer_scratch_size(product), error));
  lk_planner_flops(planner, lk_product_integer_operations(product));
  return LK_OK;
}
