/* A chain of element-wise operators as a list of steps over values, without sizes.
 *
 *   lk_element_program program = lk_element_begin();
 *   lk_element_value x = lk_element_input(&program, LK_F32);
 *   lk_element_value y = lk_element_input(&program, LK_F32);
 *   lk_element_value sum = lk_element_binary(&program, LK_ELEMENT_ADD, x, y);
 *   lk_element_output(&program, lk_element_unary(&program, LK_ELEMENT_RELU, sum, 0, 0), LK_F32);
 *   LK_RETURN_NOT_OK(lk_element_end(&program, error));
 *
 * Mistakes are remembered, and told at the end. */
#pragma once

#include "ops/kernel/element/element_ops.h"

enum {
  LK_ELEMENT_INPUTS = 16,
  LK_ELEMENT_OUTPUTS = 4,
  LK_ELEMENT_NUMBERS = 8,
  LK_ELEMENT_STEPS = 32,
  LK_ELEMENT_FIRST_STEP = LK_ELEMENT_INPUTS + LK_ELEMENT_NUMBERS,
  LK_ELEMENT_VALUES = LK_ELEMENT_FIRST_STEP + LK_ELEMENT_STEPS
};

/* Inputs have the numbers 0 .. 15, the program's own numbers 16 .. 23, results of steps 24 ... */
typedef uint8_t lk_element_value;

typedef struct lk_element_step {
  uint8_t op;     /* lk_element_op */
  uint8_t class_; /* lk_element_class of its operands; of b and c for LK_ELEMENT_WHERE */
  lk_element_value operands[3];
  float p, q;
} lk_element_step;

typedef struct lk_element_program {
  uint8_t n_inputs, n_outputs, n_numbers, n_steps;
  uint8_t isa;      /* lk_isa: lk_isa_get() at first; tests choose others */
  uint8_t mistake;  /* not 0: what lk_element_end tells */
  uint8_t wrong_op; /* lk_element_op of the mistake */
  uint8_t input_dtypes[LK_ELEMENT_INPUTS], output_dtypes[LK_ELEMENT_OUTPUTS];
  lk_element_value outputs[LK_ELEMENT_OUTPUTS];
  uint8_t classes[LK_ELEMENT_VALUES]; /* lk_element_class of each value */
  lk_element_step steps[LK_ELEMENT_STEPS];
  uint64_t numbers[LK_ELEMENT_NUMBERS]; /* an element of the class, in the first bytes */
} lk_element_program;

/* The class that an element type is computed in. */
lk_element_class lk_element_class_of(uint32_t dtype);
/* Bytes of an element in it. */
uint8_t lk_element_class_bytes(lk_element_class class_);
/* The step that casts to it. */
lk_element_op lk_element_cast_op(lk_element_class to);
/* Whether its memory is as the class is. */
bool lk_element_is_of_class(uint32_t dtype);
/* The loops for an lk_isa. */
const lk_element_loops *lk_element_loops_for(uint32_t isa);

lk_element_program lk_element_begin(void);

/* The next input, an element of memory of the type. */
lk_element_value lk_element_input(lk_element_program *self, uint32_t dtype);
/* A number in the type's class. */
lk_element_value lk_element_number(lk_element_program *self, uint32_t dtype, double number);
lk_element_value lk_element_integer(lk_element_program *self, uint32_t dtype, int64_t number);

/* Steps. Operands of one step have one class, but for the choice of LK_ELEMENT_WHERE, which is
 * BOOL. */
lk_element_value lk_element_unary(lk_element_program *self, lk_element_op op, lk_element_value a,
                                  float p, float q);
lk_element_value lk_element_binary(lk_element_program *self, lk_element_op op, lk_element_value a,
                                   lk_element_value b);
lk_element_value lk_element_ternary(lk_element_program *self, lk_element_op op, lk_element_value a,
                                    lk_element_value b, lk_element_value c);
/* To the class of a type; the same value where it has it. To bool: a != 0. */
lk_element_value lk_element_cast(lk_element_program *self, lk_element_value a, uint32_t dtype);

/* The next output. The value has the class of the type; integers keep their low bits. */
void lk_element_output(lk_element_program *self, lk_element_value value, uint32_t dtype);

/* LK_UNSUPPORTED: there are too many of something, or a step cannot be done on its class. */
lk_status lk_element_end(const lk_element_program *self, lk_error *error);
