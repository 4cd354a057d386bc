/* Cast between element types. Elements go through one of three wide types in chunks, which are
 * exact for what they hold: int64_t for integers, uint64_t for u64, double for floating point. */
#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/number.h"
#include "ops/plan/copy.h"

typedef struct cast_params {
  uint32_t to;
} cast_params;

static void parse(lk_attrs *attrs, void *params) {
  if (!lk_attrs_has(attrs, "to")) {
    lk_attrs_fail(attrs, LK_INVALID_ARGUMENT, "no attribute to, it is required");
    return;
  }
  int64_t to = lk_attrs_int(attrs, "to", 0);
  if (attrs->status == LK_OK && (to < 0 || to > UINT32_MAX || lk_dtype_size((uint32_t)to) == 0)) {
    lk_attrs_fail(attrs, LK_UNSUPPORTED, "attribute to: type %" PRId64 ", which is not supported",
                  to);
    return;
  }
  ((cast_params *)params)->to = (uint32_t)to;
}

static lk_status infer(lk_inference *self, lk_error *error) {
  self->outputs[0].dtype = ((const cast_params *)self->node->params)->to;
  if (self->outputs[0].dtype == self->inputs[0].desc.dtype) self->copy_of = 0;
  return lk_infer_same(self, error);
}

enum { CHUNK = 256 };
typedef union wide {
  int64_t i[CHUNK];
  uint64_t u[CHUNK];
  double f[CHUNK];
} wide;

typedef enum wide_kind { WIDE_I, WIDE_U, WIDE_F } wide_kind;

static wide_kind kind_of(uint32_t dtype) {
  switch (dtype) {
  case LK_F32:
  case LK_F64:
  case LK_F16:
  case LK_BF16:
    return WIDE_F;
  case LK_U64:
    return WIDE_U;
  default:
    return WIDE_I;
  }
}

#define LOAD(dtype, type, member, expression)                                                      \
  case dtype:                                                                                      \
    for (size_t k = 0; k < count; k++) {                                                           \
      type x = ((const type *)from)[k];                                                            \
      to->member[k] = (expression);                                                                \
    }                                                                                              \
    break;

static void load(uint32_t dtype, const void *from, wide *to, size_t count) {
  switch (dtype) {
    LOAD(LK_F32, float, f, x)
    LOAD(LK_F64, double, f, x)
    LOAD(LK_F16, uint16_t, f, lk_f16_to_f64(x))
    LOAD(LK_BF16, uint16_t, f, lk_bf16_to_f64(x))
    LOAD(LK_U64, uint64_t, u, x)
    LOAD(LK_I64, int64_t, i, x)
    LOAD(LK_I32, int32_t, i, x)
    LOAD(LK_I16, int16_t, i, x)
    LOAD(LK_I8, int8_t, i, x)
    LOAD(LK_U32, uint32_t, i, x)
    LOAD(LK_U16, uint16_t, i, x)
    LOAD(LK_U8, uint8_t, i, x)
    LOAD(LK_BOOL, uint8_t, i, x != 0)
  default:
    break;
  }
}

#define STORE_EACH(type, member, expression)                                                       \
  for (size_t k = 0; k < count; k++) {                                                             \
    __typeof__(from->member[0]) x = from->member[k];                                               \
    ((type *)to)[k] = (type)(expression);                                                          \
  }                                                                                                \
  break;

/* Integers keep their low bits; small ones come from a floating-point value by way of i32. */
#define STORE(dtype, type, from_integer, from_float)                                               \
  case dtype:                                                                                      \
    switch (kind) {                                                                                \
    case WIDE_I:                                                                                   \
      STORE_EACH(type, i, from_integer)                                                            \
    case WIDE_U:                                                                                   \
      STORE_EACH(type, u, from_integer)                                                            \
    case WIDE_F:                                                                                   \
      STORE_EACH(type, f, from_float)                                                              \
    }                                                                                              \
    break;

static void store(uint32_t dtype, wide_kind kind, const wide *from, void *to, size_t count) {
  switch (dtype) {
    STORE(LK_F32, float, x, x)
    STORE(LK_F64, double, x, x)
    STORE(LK_F16, uint16_t, lk_f64_to_f16((double)x), lk_f64_to_f16(x))
    STORE(LK_BF16, uint16_t, lk_f64_to_bf16((double)x), lk_f64_to_bf16(x))
    STORE(LK_U64, uint64_t, x, lk_f64_to_u64(x))
    STORE(LK_I64, int64_t, x, lk_f64_to_i64(x))
    STORE(LK_I32, int32_t, x, lk_f64_to_i32(x))
    STORE(LK_I16, int16_t, x, lk_f64_to_i32(x))
    STORE(LK_I8, int8_t, x, lk_f64_to_i32(x))
    STORE(LK_U32, uint32_t, x, lk_f64_to_i64(x))
    STORE(LK_U16, uint16_t, x, lk_f64_to_i32(x))
    STORE(LK_U8, uint8_t, x, lk_f64_to_i32(x))
    STORE(LK_BOOL, uint8_t, x != 0, x != 0)
  default:
    break;
  }
}

typedef struct cast_step {
  uint32_t from, to;
  size_t count;
} cast_step;

static lk_status cast_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const cast_step *step = params;
  size_t from_size = lk_dtype_size(step->from), to_size = lk_dtype_size(step->to);
  const char *from = pointers[0];
  char *to = pointers[1];
  wide_kind kind = kind_of(step->from);
  wide chunk;
  for (size_t i = 0; i < step->count; i += CHUNK) {
    size_t count = step->count - i < CHUNK ? step->count - i : CHUNK;
    load(step->from, from + i * from_size, &chunk, count);
    store(step->to, kind, &chunk, to + i * to_size, count);
  }
  return LK_OK;
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  lk_status status = LK_OK;
  const lk_tensor_desc *from = &lk_planner_input_tensor(planner, 0)->desc;
  cast_step step = {.from = from->dtype,
                    .to = lk_planner_output_desc(planner, 0)->dtype,
                    .count = (size_t)lk_elements(from)};
  if (step.from == step.to) return lk_plan_same(planner, 0, error);
  lk_operand operands[2];
  lk_layout layout = lk_copy_input_layout(planner, 0);
  LK_TRY(lk_planner_input(planner, 0, layout, &operands[0], error));
  LK_TRY(lk_planner_output(planner, 0, layout, &operands[1], error));
  LK_TRY(lk_planner_kernel(planner, cast_kernel, &step, sizeof step, operands, 2, error));
cleanup:
  return status;
}

const lk_op_class lk_op_cast = {
    LK_OP_ROW(.op_type = "Cast", .domain = "", .summary = "another element type", .since = 7,
              .min_inputs = 1, .max_inputs = 1, .max_outputs = 1, .input_types = "T",
              .output_types = "?"),
    .params_size = sizeof(cast_params),
    .parse = parse,
    .infer = infer,
    .plan = plan,
};
