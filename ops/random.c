/* RandomNormal, RandomUniform, RandomNormalLike, RandomUniformLike, Bernoulli, Multinomial (ONNX
 * operators of these names).
 *
 * ONNX does not say which numbers they are. With a seed, each run makes the same ones, as in ONNX's
 * own reference; ONNX Runtime goes on from run to run, for which a plan would need a state. Without
 * a seed, each run makes others. */
#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/signal/random.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/moves.h"

enum { NORMAL, UNIFORM };

typedef struct random_params {
  bool has_seed, is_like;
  uint32_t seed, dtype; /* the seed's bits */
  float first, second;
  uint32_t rank;
  int64_t dims[LK_MAX_RANK];
} random_params;

static void parse_seed(lk_attrs *attrs, random_params *self) {
  const float seed = lk_attrs_float(attrs, "seed");
  self->has_seed = lk_attrs_has(attrs, "seed");
  memcpy(&self->seed, &seed, sizeof self->seed);
  self->dtype = lk_attrs_dtype(attrs, "dtype", LK_TYPES_ANY);
}

static void parse_like(lk_attrs *attrs, void *params) {
  random_params *self = params;
  const bool is_normal = attrs->class_->variant == NORMAL;
  parse_seed(attrs, self);
  self->is_like = true;
  self->first = lk_attrs_float(attrs, is_normal ? "mean" : "low");
  self->second = lk_attrs_float(attrs, is_normal ? "scale" : "high");
}

static void parse(lk_attrs *attrs, void *params) {
  random_params *self = params;
  parse_like(attrs, params);
  self->is_like = false;
  self->rank = lk_attrs_ints(attrs, "shape", self->dims, LK_MAX_RANK);
  for (uint32_t i = 0; i < self->rank; i++) {
    if (self->dims[i] >= 0) continue;
    lk_attrs_fail(attrs, LK_OUT_OF_RANGE,
                  "attribute 'shape' has the size %" PRId64 ", it must be at least 0",
                  self->dims[i]);
  }
}

/* ---- numbers ---- */

static lk_status infer(lk_inference *self, lk_error *error) {
  const random_params *params = self->node->params;
  lk_tensor_desc *to = &self->outputs[0];
  to->dtype = params->dtype;
  if (params->is_like) {
    if (to->dtype == LK_DTYPE_NONE) to->dtype = self->inputs[0].desc.dtype;
    lk_shape_of_input(self, 0, 0);
  } else {
    to->rank = params->rank;
    memcpy(to->dims, params->dims, sizeof to->dims);
  }
  if (to->dtype != LK_DTYPE_NONE && (LK_TYPES_FLOAT >> to->dtype & 1) == 0) {
    return lk_fail(error, LK_UNSUPPORTED,
                   "random numbers are to be of type %s; f32, f64, f16 and bf16 are supported",
                   lk_dtype_name(to->dtype));
  }
  return params->is_like ? LK_OK : lk_shape_check(to, "the random numbers", error);
}

/* Random numbers all over `to`, which is f64. */
static lk_status plan_numbers(lk_planner *planner, lk_random *step, const lk_operand *to,
                              lk_error *error) {
  const random_params *params = planner->node->params;
  const int64_t words = 2;
  const lk_tensor_desc desc = lk_tensor_desc_make(LK_U32, 1, &words);
  lk_operand operands[] = {*to, *to};
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, &operands[1], error));
  step->count = lk_elements(&to->desc);
  step->has_seed = params->has_seed;
  step->seed = params->seed;
  return lk_planner_kernel(planner, lk_random_kernel, "random", step, sizeof *step, operands, 2,
                           error);
}

/* Of uniform numbers that are rounded to a type, none must become the end of the range. */
static uint32_t bits_of(uint32_t dtype) {
  return dtype == LK_F64 ? 53 : dtype == LK_F32 ? 24 : dtype == LK_F16 ? 11 : 8;
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  const random_params *params = planner->node->params;
  lk_operand to, wide;
  lk_random step = {.is_normal = planner->node->class_->variant == NORMAL,
                    .bits = bits_of(planner->outputs[0].dtype),
                    .first = (double)params->first,
                    .second = (double)params->second};
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &to, error));
  wide = to;
  lk_tensor_desc desc = to.desc;
  desc.dtype = LK_F64;
  const bool is_f64 = to.desc.dtype == LK_F64;
  if (!is_f64) LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, &wide, error));
  LK_RETURN_NOT_OK(plan_numbers(planner, &step, &wide, error));
  return is_f64 ? LK_OK : lk_planner_cast(planner, &wide, &to, error);
}

#define RANDOM(name, what, reader, inputs, summary_text)                                           \
  LK_OP_ROW(name, "", 1, summary_text, .flags = LK_OP_RANDOM, .min_inputs = inputs,                \
            .max_inputs = inputs, .max_outputs = 1, .input_types = "T", .output_types = "?"),      \
      .params_size = sizeof(random_params), .variant = what, .parse = reader, .infer = infer,      \
      .plan = plan
#define NORMAL_ATTRS LK_FLOAT("mean", 0), LK_FLOAT("scale", 1), LK_ANY_FLOAT("seed", 0)
#define UNIFORM_ATTRS LK_FLOAT("high", 1), LK_FLOAT("low", 0), LK_ANY_FLOAT("seed", 0)
#define SHAPE_ATTRS LK_INT("dtype", LK_F32), LK_INTS("shape", .is_required = 1)
const lk_op_class lk_op_random_normal = {
    RANDOM("RandomNormal", NORMAL, parse, 0, "Numbers of a normal distribution"),
    LK_OP_ATTRS(NORMAL_ATTRS, SHAPE_ATTRS),
};
const lk_op_class lk_op_random_uniform = {
    RANDOM("RandomUniform", UNIFORM, parse, 0, "Numbers of a uniform distribution"),
    LK_OP_ATTRS(UNIFORM_ATTRS, SHAPE_ATTRS),
};
const lk_op_class lk_op_random_normal_like = {
    RANDOM("RandomNormalLike", NORMAL, parse_like, 1, "RandomNormal of the shape of a tensor"),
    LK_OP_ATTRS(NORMAL_ATTRS, LK_ANY_INT("dtype", LK_DTYPE_NONE)),
};
const lk_op_class lk_op_random_uniform_like = {
    RANDOM("RandomUniformLike", UNIFORM, parse_like, 1, "RandomUniform of the shape of a tensor"),
    LK_OP_ATTRS(UNIFORM_ATTRS, LK_ANY_INT("dtype", LK_DTYPE_NONE)),
};

/* ---- Bernoulli ---- */

static void parse_bernoulli(lk_attrs *attrs, void *params) {
  parse_seed(attrs, params);
}

static lk_status infer_bernoulli(lk_inference *self, lk_error *error) {
  const random_params *params = self->node->params;
  const bool has_type = params->dtype != LK_DTYPE_NONE;
  self->outputs[0].dtype = has_type ? params->dtype : self->inputs[0].desc.dtype;
  return lk_infer_same(self, error);
}

/* Numbers from 0 to 1, which are less than p with the chance p. */
static lk_status plan_bernoulli(lk_planner *planner, lk_error *error) {
  lk_random step = {.bits = 53, .second = 1};
  lk_operand from, to, numbers;
  lk_chain chain;
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, LK_LAYOUT_PLAIN, &from, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &to, error));
  lk_tensor_desc desc = to.desc;
  desc.dtype = LK_F64;
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, &numbers, error));
  LK_RETURN_NOT_OK(plan_numbers(planner, &step, &numbers, error));
  lk_chain_begin_at(planner, &to, &chain);
  const lk_element_value number = lk_chain_operand(&chain, &numbers);
  const lk_element_value p =
      lk_element_cast(&chain.program, lk_chain_operand(&chain, &from), LK_F64);
  const lk_element_value is_less = lk_element_binary(&chain.program, LK_ELEMENT_LESS, number, p);
  chain.value = lk_element_cast(&chain.program, is_less, to.desc.dtype);
  return lk_chain_step(&chain, error);
}

const lk_op_class lk_op_bernoulli = {
    LK_OP_ROW("Bernoulli", "", 15, "1 with the chance that an element says, else 0",
              .flags = LK_OP_RANDOM, .min_inputs = 1, .max_inputs = 1, .max_outputs = 1,
              .input_types = "T", .output_types = "?", .types = {LK_TYPES_FLOAT}),
    .params_size = sizeof(random_params),
    LK_OP_ATTRS(LK_ANY_INT("dtype", LK_DTYPE_NONE), LK_ANY_FLOAT("seed", 0)),
    .parse = parse_bernoulli,
    .infer = infer_bernoulli,
    .plan = plan_bernoulli,
};

/* ---- Multinomial ---- */

static void parse_multinomial(lk_attrs *attrs, void *params) {
  random_params *self = params;
  parse_seed(attrs, self);
  self->dims[0] = lk_attrs_int_from(attrs, "sample_size", 1);
  if (self->dtype != LK_I32 && self->dtype != LK_I64) {
    lk_attrs_fail(attrs, LK_UNSUPPORTED, "attribute 'dtype' is %s, it must be i32 or i64",
                  lk_dtype_name(self->dtype));
  }
}

static lk_status infer_multinomial(lk_inference *self, lk_error *error) {
  const random_params *params = self->node->params;
  const lk_tensor_desc *x = &self->inputs[0].desc;
  lk_tensor_desc *to = &self->outputs[0];
  to->dtype = params->dtype;
  lk_shape_open(to, 2);
  to->dims[1] = params->dims[0];
  if (!lk_rank_is_known(x)) return LK_OK;
  if (x->rank != 2 || x->dims[1] == 0) {
    return lk_refuse(x, "the input", "rows of one class or more", error);
  }
  to->dims[0] = x->dims[0];
  return lk_shape_is_known(to) ? lk_shape_check(to, "the samples", error) : LK_OK;
}

static lk_status plan_multinomial(lk_planner *planner, lk_error *error) {
  const lk_tensor_desc *x = &planner->inputs[0].desc;
  lk_random numbers = {.bits = 53, .second = 1};
  lk_operand from, operands[3];
  lk_tensor_desc desc = *x, samples = planner->outputs[0];
  lk_chain chain;
  desc.dtype = samples.dtype = LK_F64;
  desc.layout = samples.layout = LK_LAYOUT_PLAIN;
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, LK_LAYOUT_PLAIN, &from, error));
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, &operands[0], error));
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &samples, &operands[1], error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &operands[2], error));
  LK_RETURN_NOT_OK(plan_numbers(planner, &numbers, &operands[1], error));
  lk_chain_begin_at(planner, &operands[0], &chain); /* a copy, which is overwritten */
  chain.value = lk_element_cast(&chain.program, lk_chain_operand(&chain, &from), LK_F64);
  LK_RETURN_NOT_OK(lk_chain_step(&chain, error));
  const lk_multinomial step = {.rows = x->dims[0],
                               .classes = x->dims[1],
                               .samples = samples.dims[1],
                               .wide = operands[2].desc.dtype == LK_I64};
  return lk_planner_kernel(planner, lk_multinomial_kernel, "multinomial", &step, sizeof step,
                           operands, 3, error);
}

const lk_op_class lk_op_multinomial = {
    LK_OP_ROW("Multinomial", "", 7, "Classes, by the logarithms of their chances",
              .flags = LK_OP_RANDOM, .min_inputs = 1, .max_inputs = 1, .max_outputs = 1,
              .input_types = "T", .output_types = "?", .types = {LK_TYPES_FLOAT}),
    .params_size = sizeof(random_params),
    LK_OP_ATTRS(LK_INT("dtype", LK_I32), LK_INT("sample_size", 1), LK_ANY_FLOAT("seed", 0)),
    .parse = parse_multinomial,
    .infer = infer_multinomial,
    .plan = plan_multinomial,
};
