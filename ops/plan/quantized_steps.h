/* What operators on quantized tensors have in common: whole numbers for real ones, by a scale and a
 * zero point of one value each. */
#pragma once

#include "ops/kernel/integer/quantize.h"
#include "ops/plan/eltwise_steps.h"

/* Input `index`, where it is there and its shape is known, has one value, or is a vector of `count`
 * values, which is a dimension that may not be known. */
lk_status lk_infer_quantizer(const lk_inference *self, uint32_t index, const char *what,
                             int64_t count, lk_error *error);

/* Scales and zero points of a row of QLinear operators, one value each: of input 0, of input 3
 * where the row has 8, and of the output. Zero points may be absent, which a row cannot say of an
 * input with others behind it. */
lk_status lk_infer_quantizers(const lk_inference *self, lk_error *error);

/* The least and largest number of an integer type of up to 16 bits. */
void lk_quantized_range(uint32_t dtype, float *out_least, float *out_largest);

/* (value - zero) scale, in f32, of any operand; inputs `scale` and `zero`, of one value, of which
 * the latter may be absent. */
lk_status lk_chain_dequantize(lk_chain *self, uint32_t scale, uint32_t zero,
                              lk_element_value *inout_value, lk_error *error);
/* saturate(round(value / scale) + zero), ties to even, in the type of the chain's output. */
lk_status lk_chain_quantize(lk_chain *self, uint32_t scale, uint32_t zero,
                            lk_element_value *inout_value, lk_error *error);

/* For such rows of one tensor: input 0 in f32, in `layout`, and f32 as output 0, which is `y`. */
lk_status lk_plan_dequantized(lk_planner *planner, lk_layout layout, lk_operand *out_real,
                              lk_error *error);
lk_status lk_plan_quantized(lk_planner *planner, const lk_operand *real, const lk_operand *y,
                            lk_error *error);

/* f32 as bytes (u8), by the scale and zero point that fit them. */
typedef struct lk_quantized {
  lk_operand x, y, scale, zero;
} lk_quantized;

/* A step that writes y, scale and zero. With `lengths`, x is [time, ...] of sequences of these
 * lengths: what lies behind the longest one does not count. NULL: all counts. */
lk_status lk_plan_dynamic_quantize(lk_planner *planner, const lk_quantized *of,
                                   const lk_operand *lengths, lk_error *error);
/* The same of input `index`, into temporaries. */
lk_status lk_plan_quantize_input(lk_planner *planner, uint32_t index, const lk_operand *lengths,
                                 lk_quantized *out, lk_error *error);

/* A quantized tensor: bytes, and the inputs that are its scale, of f32, and its zero point, which
 * may be absent; both of one value, or of one for each `inner` elements in turn. */
typedef struct lk_byte_operand {
  lk_operand bytes;
  uint32_t scale, zero;
  int64_t inner; /* 0: one value */
} lk_byte_operand;

/* Whether b, which broadcasts to y, is rows of `row` bytes, each of them for `repeat` rows of y in
 * turn, as both lie: false where it is repeated in more places than one. */
bool lk_byte_rows_of(const lk_tensor_desc *y, const lk_tensor_desc *b, int64_t *out_repeat,
                     int64_t *out_row);

/* A step on tensors that lie in the same way. `real`: the operand that is no bytes, of one that
 * quantizes or dequantizes; `bytes`: the others, of which there are three else, a, b and y, of one
 * value each; b may be repeated as lk_byte_rows_of says. */
lk_status lk_plan_bytes(lk_planner *planner, lk_bytes_kind kind, const lk_operand *real,
                        const lk_byte_operand *bytes, lk_error *error);
/* A step that writes rows (lk_byte_rows without loops and types) of `to` from those of `from`. */
lk_status lk_plan_byte_rows(lk_planner *planner, const lk_byte_rows *rows,
                            const lk_byte_operand *from, const lk_byte_operand *to,
                            lk_error *error);

/* For such rows of one tensor, a step from input 0 to output 0, both in `layout`: each byte of the
 * output is what a unary operation of f32, with the number p, makes of one; or it is a mean
 * (lk_byte_means without loops and types). */
lk_status lk_plan_byte_table(lk_planner *planner, lk_element_op op, float p, lk_layout layout,
                             lk_error *error);
lk_status lk_plan_byte_means(lk_planner *planner, const lk_byte_means *means, lk_layout layout,
                             lk_error *error);
