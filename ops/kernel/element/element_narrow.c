/* Which element programs need no wider type than that of their operands. */
#include "ops/kernel/element/element_narrow.h"

#include "base/tensor.h"
#include "ops/kernel/element/element.h"

static uint32_t narrow_of(uint32_t dtype) {
  switch (dtype) {
#define NARROW(dtype, name)                                                                        \
  case dtype:                                                                                      \
    return LK_ELEMENT_NARROW_##name;
    LK_ELEMENT_NARROW_LIST(NARROW)
#undef NARROW
  default:
    return LK_ELEMENT_NARROWS;
  }
}

/* Whether what a step makes of numbers of a type is one of them, or a logical value: others are cut
 * to the type only when the program has ended. */
static bool is_closed(uint32_t op) {
  switch (op) {
  case LK_ELEMENT_MIN:
  case LK_ELEMENT_MAX:
  case LK_ELEMENT_RELU:
  case LK_ELEMENT_WHERE:
  case LK_ELEMENT_EQUAL:
  case LK_ELEMENT_LESS:
  case LK_ELEMENT_LESS_EQUAL:
    return true;
  default:
    return false;
  }
}

/* Whether an operand needs no loop that loads or stores it. */
static bool lies_ready(const lk_element_lie *lie, uint32_t dtype, uint32_t wanted) {
  const bool is_ready =
      lie->level != LK_ELEMENT_EACH || lie->stride == (int64_t)lk_dtype_size(dtype);
  return is_ready && (dtype == wanted || dtype == LK_BOOL);
}

uint32_t lk_element_narrow_find(const lk_element_program *program, const lk_element_lie *lies,
                                uint32_t level) {
  if (program->n_inputs == 0 || program->n_outputs != 1 || program->n_steps == 0) {
    return LK_ELEMENT_NARROWS;
  }
  const uint32_t dtype = program->input_dtypes[program->n_inputs - 1];
  const uint32_t narrow = narrow_of(dtype);
  bool fits = narrow != LK_ELEMENT_NARROWS && program->n_numbers == 0 && level == LK_ELEMENT_EACH &&
              program->outputs[0] == LK_ELEMENT_FIRST_STEP + program->n_steps - 1 &&
              lies_ready(&lies[program->n_inputs], program->output_dtypes[0], dtype);
  for (uint32_t i = 0; fits && i < program->n_inputs; i++) {
    fits = lies_ready(&lies[i], program->input_dtypes[i], dtype);
  }
  const lk_element_loops *loops = lk_element_loops_for(program->isa);
  for (uint32_t i = 0; fits && i < program->n_steps; i++) {
    const uint32_t op = program->steps[i].op;
    fits = loops->narrow[op][narrow].all != NULL && program->steps[i].class_ != LK_ELEMENT_BOOL &&
           (is_closed(op) || i + 1U == program->n_steps);
  }
  return fits ? narrow : LK_ELEMENT_NARROWS;
}
