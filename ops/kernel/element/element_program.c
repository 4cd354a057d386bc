/* A chain of element-wise operators as a list of steps over values, without sizes. */
#include "ops/kernel/element/element_program.h"

#include <string.h>

#include "base/status.h"
#include "ops/kernel/isa.h"
#include "ops/kernel/number.h"

enum { FIRST_NUMBER = LK_ELEMENT_INPUTS, FIRST_STEP = LK_ELEMENT_INPUTS + LK_ELEMENT_NUMBERS };

typedef enum mistake { NONE, TOO_LONG, WRONG_CLASS, WRONG_OUTPUT } mistake;

static const char *const op_names[] = {
#define NAME(symbol, operands, name) name,
    LK_ELEMENT_OP_LIST(NAME)
#undef NAME
};
static const uint8_t op_operands[] = {
#define COUNT(symbol, operands, name) operands,
    LK_ELEMENT_OP_LIST(COUNT)
#undef COUNT
};

lk_element_class lk_element_class_of(uint32_t dtype) {
  switch (dtype) {
  case LK_F32:
  case LK_F16:
  case LK_BF16:
    return LK_ELEMENT_F32;
  case LK_F64:
    return LK_ELEMENT_F64;
  case LK_U32:
  case LK_I64:
    return LK_ELEMENT_I64;
  case LK_U64:
    return LK_ELEMENT_U64;
  case LK_BOOL:
    return LK_ELEMENT_BOOL;
  default:
    return LK_ELEMENT_I32;
  }
}

uint8_t lk_element_class_bytes(lk_element_class class_) {
  static const uint8_t bytes[] = {
#define BYTES(symbol, name, type, dtype) sizeof(type),
      LK_ELEMENT_CLASS_LIST(BYTES)
#undef BYTES
  };
  return bytes[class_];
}

lk_element_op lk_element_cast_op(lk_element_class to) {
  static const uint8_t ops[] = {
      [LK_ELEMENT_F32] = LK_ELEMENT_TO_F32, [LK_ELEMENT_F64] = LK_ELEMENT_TO_F64,
      [LK_ELEMENT_I32] = LK_ELEMENT_TO_I32, [LK_ELEMENT_I64] = LK_ELEMENT_TO_I64,
      [LK_ELEMENT_U64] = LK_ELEMENT_TO_U64, [LK_ELEMENT_BOOL] = LK_ELEMENT_TO_BOOL};
  return (lk_element_op)ops[to];
}

bool lk_element_is_of_class(uint32_t dtype) {
  static const uint8_t dtypes[] = {
#define DTYPE(symbol, name, type, of) of,
      LK_ELEMENT_CLASS_LIST(DTYPE)
#undef DTYPE
  };
  return dtype == dtypes[lk_element_class_of(dtype)];
}

const lk_element_loops *lk_element_loops_for(uint32_t isa) {
  return LK_BY_ISA(isa, lk_element_loops);
}

lk_element_program lk_element_begin(void) {
  return (lk_element_program){.isa = (uint8_t)lk_isa_get()};
}

/* The first mistake is the one that is told. */
static lk_element_value fail(lk_element_program *self, mistake what, uint32_t op) {
  if (self->mistake != NONE) return 0;
  self->mistake = (uint8_t)what;
  self->wrong_op = (uint8_t)op;
  return 0;
}

lk_element_value lk_element_input(lk_element_program *self, uint32_t dtype) {
  if (self->n_inputs == LK_ELEMENT_INPUTS) return fail(self, TOO_LONG, 0);
  const lk_element_value value = self->n_inputs++;
  self->input_dtypes[value] = (uint8_t)dtype;
  self->classes[value] = (uint8_t)lk_element_class_of(dtype);
  return value;
}

static lk_element_value add_number(lk_element_program *self, lk_element_class class_,
                                   const void *bytes, size_t size) {
  if (self->n_numbers == LK_ELEMENT_NUMBERS) return fail(self, TOO_LONG, 0);
  memcpy(&self->numbers[self->n_numbers], bytes, size);
  const lk_element_value value = (lk_element_value)(FIRST_NUMBER + self->n_numbers++);
  self->classes[value] = (uint8_t)class_;
  return value;
}
lk_element_value lk_element_number(lk_element_program *self, uint32_t dtype, double number) {
  const lk_element_class class_ = lk_element_class_of(dtype);
  const float narrow = (float)number;
  if (class_ == LK_ELEMENT_F32) return add_number(self, class_, &narrow, sizeof narrow);
  if (class_ == LK_ELEMENT_F64) return add_number(self, class_, &number, sizeof number);
  const int64_t whole =
      class_ == LK_ELEMENT_U64 ? (int64_t)lk_f64_to_u64(number) : lk_f64_to_i64(number);
  return lk_element_integer(self, dtype, whole);
}
lk_element_value lk_element_integer(lk_element_program *self, uint32_t dtype, int64_t number) {
  const lk_element_class class_ = lk_element_class_of(dtype);
  if (class_ == LK_ELEMENT_F32 || class_ == LK_ELEMENT_F64) {
    return lk_element_number(self, dtype, (double)number);
  }
  if (class_ == LK_ELEMENT_BOOL) number = number != 0;
  /* little-endian: the low bytes come first */
  const size_t size = class_ == LK_ELEMENT_BOOL ? 1 : class_ == LK_ELEMENT_I32 ? 4 : 8;
  return add_number(self, class_, &number, size);
}

static bool is_known(const lk_element_program *self, lk_element_value value) {
  return value < FIRST_NUMBER ? value < self->n_inputs
         : value < FIRST_STEP ? value - FIRST_NUMBER < self->n_numbers
                              : value - FIRST_STEP < self->n_steps;
}

static lk_element_class result_class(uint32_t op, lk_element_class operands) {
  switch (op) {
  case LK_ELEMENT_TO_F32:
    return LK_ELEMENT_F32;
  case LK_ELEMENT_TO_F64:
    return LK_ELEMENT_F64;
  case LK_ELEMENT_TO_I64:
    return LK_ELEMENT_I64;
  case LK_ELEMENT_TO_U64:
    return LK_ELEMENT_U64;
  case LK_ELEMENT_TO_I32:
    return LK_ELEMENT_I32;
  case LK_ELEMENT_TO_BOOL:
  case LK_ELEMENT_NOT:
  case LK_ELEMENT_IS_NAN:
  case LK_ELEMENT_IS_INF:
  case LK_ELEMENT_EQUAL:
  case LK_ELEMENT_LESS:
  case LK_ELEMENT_LESS_EQUAL:
    return LK_ELEMENT_BOOL;
  default:
    return operands;
  }
}

static lk_element_value add_step(lk_element_program *self, lk_element_step step, uint32_t count) {
  if (self->n_steps == LK_ELEMENT_STEPS) return fail(self, TOO_LONG, step.op);
  /* the class of the last operand is that of all, but for what chooses */
  bool fits = step.op < LK_ELEMENT_OPS && op_operands[step.op] == count;
  for (uint32_t i = 0; i < count; i++) fits = fits && is_known(self, step.operands[i]);
  if (!fits) return fail(self, WRONG_CLASS, step.op);
  step.class_ = self->classes[step.operands[count - 1]];
  for (uint32_t i = 0; i < count; i++) {
    const bool chooses = i == 0 && step.op == LK_ELEMENT_WHERE;
    fits = fits && self->classes[step.operands[i]] == (chooses ? LK_ELEMENT_BOOL : step.class_);
  }
  if (!fits || lk_element_loops_base.ops[step.op][step.class_].all == NULL) {
    return fail(self, WRONG_CLASS, step.op);
  }
  const lk_element_value value = (lk_element_value)(FIRST_STEP + self->n_steps);
  self->classes[value] = (uint8_t)result_class(step.op, (lk_element_class)step.class_);
  self->steps[self->n_steps++] = step;
  return value;
}

lk_element_value lk_element_unary(lk_element_program *self, lk_element_op op, lk_element_value a,
                                  float p, float q) {
  return add_step(self, (lk_element_step){(uint8_t)op, 0, {a}, p, q}, 1);
}
lk_element_value lk_element_binary(lk_element_program *self, lk_element_op op, lk_element_value a,
                                   lk_element_value b) {
  return add_step(self, (lk_element_step){(uint8_t)op, 0, {a, b}, 0, 0}, 2);
}
lk_element_value lk_element_ternary(lk_element_program *self, lk_element_op op, lk_element_value a,
                                    lk_element_value b, lk_element_value c) {
  return add_step(self, (lk_element_step){(uint8_t)op, 0, {a, b, c}, 0, 0}, 3);
}

lk_element_value lk_element_cast(lk_element_program *self, lk_element_value a, uint32_t dtype) {
  const lk_element_class class_ = lk_element_class_of(dtype);
  if (is_known(self, a) && self->classes[a] == class_) return a;
  return lk_element_unary(self, lk_element_cast_op(class_), a, 0, 0);
}

void lk_element_output(lk_element_program *self, lk_element_value value, uint32_t dtype) {
  if (self->n_outputs == LK_ELEMENT_OUTPUTS) {
    (void)fail(self, TOO_LONG, 0);
  } else if (!is_known(self, value) || self->classes[value] != lk_element_class_of(dtype)) {
    (void)fail(self, WRONG_OUTPUT, 0);
  } else {
    self->outputs[self->n_outputs] = value;
    self->output_dtypes[self->n_outputs++] = (uint8_t)dtype;
  }
}

lk_status lk_element_end(const lk_element_program *self, lk_error *error) {
  switch ((mistake)self->mistake) {
  case TOO_LONG:
    return lk_fail(error, LK_UNSUPPORTED,
                   "failed to make an element program: it is too long, %d inputs, %d outputs, %d "
                   "numbers and %d steps are allowed",
                   LK_ELEMENT_INPUTS, LK_ELEMENT_OUTPUTS, LK_ELEMENT_NUMBERS, LK_ELEMENT_STEPS);
  case WRONG_CLASS:
    return lk_fail(error, LK_UNSUPPORTED,
                   "failed to make an element program: the operands of %s have types that it does "
                   "not take",
                   op_names[self->wrong_op]);
  case WRONG_OUTPUT:
    return lk_fail(error, LK_UNSUPPORTED,
                   "failed to make an element program: an output has another type than its value");
  default:
    break;
  }
  if (self->n_outputs > 0) return LK_OK;
  return lk_fail(error, LK_UNSUPPORTED,
                 "failed to make an element program: it has no outputs, 1 to %d are allowed",
                 LK_ELEMENT_OUTPUTS);
}
