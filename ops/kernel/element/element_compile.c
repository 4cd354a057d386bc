/* From the steps of an element program to calls of loops: which value lies where, and which loop
 * does a step. */
#include "ops/kernel/element/element_compile.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/block.h"
#include "ops/kernel/element/element_narrow.h"

enum { FIRST_NUMBER = LK_ELEMENT_INPUTS, FIRST_STEP = LK_ELEMENT_FIRST_STEP, NOWHERE = 255 };

typedef struct plan {
  const lk_element_program *program;
  const lk_element_loops *loops;
  lk_element *out;
  const lk_element_lie *lies; /* of inputs and then outputs */
  uint32_t n_calls, n_registers;
  uint32_t narrow; /* lk_element_narrow that values are computed in; NARROWS: in their classes */
  bool too_long;
  uint8_t level[LK_ELEMENT_VALUES], ref[LK_ELEMENT_VALUES], last_use[LK_ELEMENT_VALUES];
  uint8_t uses[LK_ELEMENT_VALUES];     /* by steps and outputs */
  uint8_t owner[LK_ELEMENT_REGISTERS]; /* the value in a register; NOWHERE: it is free */
  lk_element_register registers[LK_ELEMENT_REGISTERS];
} plan;

/* Owns a register until the end of a step. */
enum { TEMPORARY = LK_ELEMENT_VALUES };

static uint8_t ref_of_output(const plan *self, uint32_t index) {
  return (uint8_t)(self->program->n_inputs + index);
}
static uint8_t ref_of_register(const plan *self, uint32_t index) {
  const lk_element_program *program = self->program;
  return (uint8_t)(program->n_inputs + program->n_outputs + program->n_numbers + index);
}

/* Bytes of an element of a value on the way. Logical values have one in any case. */
static uint8_t bytes_of(const plan *self, lk_element_value value) {
  const lk_element_class class_ = self->program->classes[value];
  const bool is_narrow = self->narrow != LK_ELEMENT_NARROWS && class_ != LK_ELEMENT_BOOL;
  return is_narrow
             ? (uint8_t)lk_dtype_size(self->program->input_dtypes[self->program->n_inputs - 1])
             : lk_element_class_bytes(class_);
}
/* Whether the memory of a type is as its values are on the way. */
static bool is_as_computed(const plan *self, uint32_t dtype) {
  return self->narrow != LK_ELEMENT_NARROWS || lk_element_is_of_class(dtype);
}

/* ---- registers ---- */

static uint8_t add_register(plan *self, uint8_t owner, uint8_t bytes, uint8_t level) {
  const uint32_t i = self->n_registers;
  if (i == LK_ELEMENT_REGISTERS) {
    self->too_long = true;
    return 0;
  }
  self->n_registers++;
  self->registers[i] = (lk_element_register){0, bytes, level, 0};
  self->owner[i] = owner;
  return ref_of_register(self, i);
}

static uint8_t take_register(plan *self, uint8_t owner, uint8_t bytes, uint8_t level) {
  const lk_element_register *registers = self->registers;
  for (uint32_t i = 0; i < self->n_registers; i++) {
    if (self->owner[i] != NOWHERE || registers[i].bytes != bytes || registers[i].level != level) {
      continue;
    }
    self->owner[i] = owner;
    return ref_of_register(self, i);
  }
  return add_register(self, owner, bytes, level);
}

/* Those of values that no step after `step` reads. */
static void free_registers(plan *self, uint32_t step) {
  for (uint32_t i = 0; i < self->n_registers; i++) {
    const uint8_t owner = self->owner[i];
    if (owner < LK_ELEMENT_VALUES && self->last_use[owner] <= step) self->owner[i] = NOWHERE;
  }
}
static void free_temporaries(plan *self) {
  for (uint32_t i = 0; i < self->n_registers; i++) {
    if (self->owner[i] == TEMPORARY) self->owner[i] = NOWHERE;
  }
}

/* ---- calls ---- */

/* `loop`: one of those of self->loops, which it is called by. */
static lk_element_call *add_call(plan *self, lk_element_fn *const *loop, uint8_t level) {
  if (self->n_calls == LK_ELEMENT_CALLS) {
    self->too_long = true;
    self->n_calls--; /* the plan fails; this one may be overwritten */
  }
  lk_element_call *call = &self->out->slots[self->n_calls++].call;
  const uint8_t none = ref_of_register(self, LK_ELEMENT_REGISTERS);
  const ptrdiff_t at = (const char *)loop - (const char *)self->loops;
  *call = (lk_element_call){.loop = (uint16_t)at, .level = level, .refs = {none, none, none, none}};
  return call;
}
static void set_ref(lk_element_call *call, uint32_t which, uint8_t ref, uint8_t bytes) {
  call->refs[which] = ref;
  call->bytes[which] = bytes;
}

/* Input `value` brought to its class, in `to` or in a register. */
static uint8_t load(plan *self, lk_element_value value, uint8_t to) {
  const uint32_t dtype = self->program->input_dtypes[value];
  const uint8_t memory = (uint8_t)lk_dtype_size(dtype), level = self->level[value];
  const uint8_t bytes = bytes_of(self, value);
  const uint8_t at = to != NOWHERE ? to : take_register(self, value, bytes, level);
  const bool transposes = self->lies[value].is_along_columns && lk_element_is_of_class(dtype);
  lk_element_call *call =
      add_call(self, transposes ? &self->loops->transpose : &self->loops->load[dtype], level);
  call->memory = 1;
  call->is_strided = level == LK_ELEMENT_EACH && self->lies[value].stride != memory;
  set_ref(call, 0, at, bytes);
  set_ref(call, 1, value, memory);
  return at;
}

/* Input `value`, which has its class, copied to all rows of a register. */
static uint8_t repeat(plan *self, lk_element_value value) {
  const uint8_t bytes = bytes_of(self, value);
  const bool is_once = self->lies[value].is_fixed;
  /* what is copied once has a register to itself, before and behind its uses */
  const uint8_t at = is_once ? add_register(self, value, bytes, LK_ELEMENT_EACH)
                             : take_register(self, value, bytes, LK_ELEMENT_EACH);
  if (is_once) self->last_use[value] = NOWHERE;
  lk_element_call *call = add_call(self, &self->loops->repeat, LK_ELEMENT_EACH);
  call->memory = 1;
  call->is_once = is_once;
  set_ref(call, 0, at, bytes);
  set_ref(call, 1, value, bytes);
  return at;
}

/* Where a value lies as its class, loaded when it is asked for the first time. */
static uint8_t locate(plan *self, lk_element_value value) {
  if (self->ref[value] != NOWHERE) return self->ref[value];
  const uint32_t dtype = self->program->input_dtypes[value];
  const bool lies_side_by_side = self->level[value] != LK_ELEMENT_EACH ||
                                 self->lies[value].stride == (int64_t)lk_dtype_size(dtype);
  self->ref[value] = !is_as_computed(self, dtype) || !lies_side_by_side ? load(self, value, NOWHERE)
                     : self->lies[value].repeats                        ? repeat(self, value)
                                                                        : value;
  return self->ref[value];
}

/* A register with the value repeated up to `level`. */
static uint8_t fill(plan *self, lk_element_value value, uint8_t level) {
  const uint8_t bytes = bytes_of(self, value);
  const uint8_t from = locate(self, value);
  const uint8_t to = take_register(self, TEMPORARY, bytes, level);
  lk_element_call *call = add_call(self, &self->loops->fill[lk_log_up(bytes)], level);
  set_ref(call, 0, to, bytes);
  set_ref(call, 1, from, 0);
  return to;
}

/* ---- steps ---- */

static bool is_expensive(uint32_t op) {
  switch (op) {
  case LK_ELEMENT_EXP:
  case LK_ELEMENT_LOG:
  case LK_ELEMENT_SIN:
  case LK_ELEMENT_COS:
  case LK_ELEMENT_TAN:
  case LK_ELEMENT_ASIN:
  case LK_ELEMENT_ACOS:
  case LK_ELEMENT_ATAN:
  case LK_ELEMENT_SINH:
  case LK_ELEMENT_COSH:
  case LK_ELEMENT_ASINH:
  case LK_ELEMENT_ACOSH:
  case LK_ELEMENT_ATANH:
  case LK_ELEMENT_TANH:
  case LK_ELEMENT_ERF:
  case LK_ELEMENT_SIGMOID:
  case LK_ELEMENT_SOFTPLUS:
  case LK_ELEMENT_MISH:
  case LK_ELEMENT_GELU:
  case LK_ELEMENT_GELU_TANH:
  case LK_ELEMENT_ELU:
  case LK_ELEMENT_SWISH:
  case LK_ELEMENT_POW:
  case LK_ELEMENT_MOD:
  case LK_ELEMENT_FMOD:
    return true;
  default:
    return false;
  }
}

static uint32_t count_operands(uint32_t op) {
  return op >= LK_ELEMENT_FMA ? 3 : op >= LK_ELEMENT_ADD ? 2 : 1;
}

/* The loop for a step whose operands have these levels; which of them must be filled up. */
static lk_element_fn *const *choose_loop(const lk_element_forms *forms, uint32_t count,
                                         const bool *full, bool *out_fills) {
  *out_fills = false;
  if (count == 2 && !full[1]) return &forms->right;
  if (count == 2 && !full[0]) return &forms->left;
  if (count == 3 && full[0] && !full[1] && !full[2] && forms->right != NULL) return &forms->right;
  *out_fills = count == 3;
  return &forms->all;
}

/* Whether the loops hold their result within bounds. */
static bool takes_bounds(const lk_element_step *step) {
  return step->class_ == LK_ELEMENT_F32 &&
         (step->op == LK_ELEMENT_ADD || step->op == LK_ELEMENT_SUB || step->op == LK_ELEMENT_MUL ||
          step->op == LK_ELEMENT_DIV || step->op == LK_ELEMENT_MIN || step->op == LK_ELEMENT_MAX ||
          step->op == LK_ELEMENT_FMA);
}

/* What one loop does: a step, or one and the next. */
typedef struct merged {
  uint32_t op;
  float p, q;
  uint32_t count; /* of steps */
} merged;

/* Puts a Relu or Clip into the bounds of `inout`. */
static void merge_bounds(const lk_element_step *next, merged *inout) {
  const bool is_relu = next->op == LK_ELEMENT_RELU;
  inout->p = is_relu ? 0 : next->p;
  if (!is_relu) inout->q = next->q;
  inout->count = 2;
}
/* A sum with a number behind a product with a number: each is rounded all the same. The numbers are
 * such that 0 may stand for any denormal operand or product: it is less than half of what two
 * neighbours of q differ by (2^-25 of q), so that the sum is q. No sum is denormal but 0: where it
 * is far below q, it is a multiple of 2^-125. */
static bool is_product_sum(const lk_element_step *step, const lk_element_step *next) {
  return step->op == LK_ELEMENT_LINEAR && step->q == 0 && isnormal(step->p) &&
         next->op == LK_ELEMENT_LINEAR && fabsf(next->p) == 1 && isfinite(next->q) &&
         fabsf(next->q) >= 0x1p-100F && fabsf(step->p) <= fabsf(next->q) * 0x1p100F;
}
/* Step `index`, and the next one where a loop does both and nobody else reads what is between. */
static merged merge(const plan *self, uint32_t index) {
  const lk_element_program *program = self->program;
  const lk_element_step *step = &program->steps[index], *next = step + 1;
  const uint32_t value = FIRST_STEP + index;
  const bool is_between =
      index + 1 < program->n_steps && next->operands[0] == value && self->uses[value] == 1;
  merged found = {step->op, step->p, step->q, 1};
  if (takes_bounds(step)) {
    found.p = -INFINITY;
    found.q = INFINITY;
    if (is_between && (next->op == LK_ELEMENT_RELU || next->op == LK_ELEMENT_CLIP)) {
      merge_bounds(next, &found);
    }
  } else if (is_between && is_product_sum(step, next)) {
    found = (merged){LK_ELEMENT_PRODUCT_SUM, step->p * next->p, next->q, 2};
  }
  return found;
}

static const lk_element_forms *forms_of(const plan *self, uint32_t op, uint32_t class_) {
  return self->narrow != LK_ELEMENT_NARROWS ? &self->loops->narrow[op][self->narrow]
                                            : &self->loops->ops[op][class_];
}

/* `to`: where the result goes, NOWHERE: a register. `what`: step `index`, with what follows. */
static void plan_step(plan *self, uint32_t index, const merged *what, uint8_t to) {
  const lk_element_step *step = &self->program->steps[index];
  const lk_element_value result = (lk_element_value)(FIRST_STEP + index + what->count - 1);
  const uint32_t count = count_operands(step->op);
  const uint8_t level = self->level[result];
  bool full[3] = {false}, fills = false;
  for (uint32_t i = 0; i < count; i++) full[i] = self->level[step->operands[i]] == level;
  lk_element_fn *const *loop =
      choose_loop(forms_of(self, what->op, step->class_), count, full, &fills);
  uint8_t refs[3], bytes[3];
  for (uint32_t i = 0; i < count; i++) {
    const lk_element_value operand = step->operands[i];
    const bool is_filled = fills && !full[i];
    refs[i] = is_filled ? fill(self, operand, level) : locate(self, operand);
    bytes[i] = full[i] || is_filled ? bytes_of(self, operand) : 0;
  }
  free_registers(self, index); /* the result may go where an operand was */
  free_temporaries(self);
  const uint8_t size = bytes_of(self, result);
  const uint8_t at = to != NOWHERE ? to : take_register(self, result, size, level);
  lk_element_call *call = add_call(self, loop, level);
  call->p = what->p;
  call->q = what->q;
  set_ref(call, 0, at, size);
  for (uint32_t i = 0; i < count; i++) set_ref(call, 1 + i, refs[i], bytes[i]);
  self->ref[result] = at;
  free_registers(self, index); /* of a result that nobody reads */
}

/* ---- outputs ---- */

/* Whether a loop can write its result to the output itself. With several outputs none does: one of
 * them may lie over an input that is still to be read. */
static bool is_written_directly(const plan *self, uint32_t output) {
  const lk_element_program *program = self->program;
  const uint32_t dtype = program->output_dtypes[output];
  return program->n_outputs == 1 && is_as_computed(self, dtype) &&
         self->level[program->outputs[output]] == LK_ELEMENT_EACH &&
         self->lies[program->n_inputs + output].stride == (int64_t)lk_dtype_size(dtype);
}

static void store(plan *self, uint32_t output) {
  const lk_element_program *program = self->program;
  const lk_element_value value = program->outputs[output];
  const uint32_t dtype = program->output_dtypes[output];
  const uint8_t bytes = lk_element_class_bytes(program->classes[value]);
  const uint8_t from = self->level[value] == LK_ELEMENT_EACH ? locate(self, value)
                                                             : fill(self, value, LK_ELEMENT_EACH);
  const uint8_t memory = (uint8_t)lk_dtype_size(dtype);
  const int64_t stride = self->lies[program->n_inputs + output].stride;
  lk_element_call *call = add_call(self, &self->loops->store[dtype], LK_ELEMENT_EACH);
  call->is_strided = stride != memory;
  set_ref(call, 0, ref_of_output(self, output), memory);
  set_ref(call, 1, from, bytes);
  free_temporaries(self);
}

static void plan_outputs(plan *self) {
  const lk_element_program *program = self->program;
  for (uint32_t i = 0; i < program->n_outputs && program->n_outputs > 1; i++) {
    const lk_element_value value = program->outputs[i];
    /* an input that is an output: out of the way of the other outputs */
    if (value < FIRST_NUMBER && locate(self, value) == value) {
      self->ref[value] = load(self, value, NOWHERE);
    }
  }
  for (uint32_t i = 0; i < program->n_outputs; i++) store(self, i);
}

/* ---- the whole program ---- */

static void find_levels_and_uses(plan *self) {
  const lk_element_program *program = self->program;
  memset(self->ref, NOWHERE, sizeof self->ref);
  for (uint32_t i = 0; i < program->n_inputs; i++) self->level[i] = self->lies[i].level;
  for (uint32_t i = 0; i < program->n_numbers; i++) {
    self->level[FIRST_NUMBER + i] = LK_ELEMENT_ONE;
    self->ref[FIRST_NUMBER + i] = (uint8_t)(program->n_inputs + program->n_outputs + i);
  }
  for (uint32_t i = 0; i < program->n_steps; i++) {
    const lk_element_step *step = &program->steps[i];
    uint8_t level = LK_ELEMENT_ONE;
    for (uint32_t k = 0; k < count_operands(step->op); k++) {
      const lk_element_value operand = step->operands[k];
      if (self->level[operand] > level) level = self->level[operand];
      self->last_use[operand] = (uint8_t)i;
      self->uses[operand]++;
    }
    self->level[FIRST_STEP + i] = level;
    self->last_use[FIRST_STEP + i] = (uint8_t)i;
    self->out->cost = (uint8_t)(self->out->cost + (is_expensive(step->op) ? 4 : 1));
  }
  for (uint32_t i = 0; i < program->n_outputs; i++) {
    self->last_use[program->outputs[i]] = 255;
    self->uses[program->outputs[i]]++;
  }
}

static void plan_calls(plan *self) {
  const lk_element_program *program = self->program;
  const uint32_t last = program->n_steps;
  const lk_element_value value = program->outputs[0];
  const bool is_direct = is_written_directly(self, 0);
  for (uint32_t i = 0; i < last;) {
    const merged what = merge(self, i);
    const bool ends = is_direct && i + what.count == last && value == FIRST_STEP + last - 1;
    plan_step(self, i, &what, ends ? ref_of_output(self, 0) : NOWHERE);
    if (ends) return;
    i += what.count;
  }
  /* nothing but a conversion or a gathering: from memory to memory */
  if (is_direct && value < FIRST_NUMBER && last == 0) {
    (void)load(self, value, ref_of_output(self, 0));
    return;
  }
  plan_outputs(self);
}

lk_status lk_element_compile(const lk_element_program *program, const lk_element_lie *lies,
                             lk_element *out, lk_error *error) {
  LK_RETURN_NOT_OK(lk_element_end(program, error));
  memset(out, 0, offsetof(lk_element, slots));
  out->n_inputs = program->n_inputs;
  out->n_outputs = program->n_outputs;
  out->n_numbers = program->n_numbers;
  out->loops = lk_element_loops_for(program->isa);
  plan self = {.program = program,
               .loops = out->loops,
               .out = out,
               .lies = lies,
               .narrow = LK_ELEMENT_NARROWS};
  memset(self.owner, NOWHERE, sizeof self.owner);
  find_levels_and_uses(&self);
  self.narrow = lk_element_narrow_find(program, lies, self.level[program->outputs[0]]);
  plan_calls(&self);
  if (self.too_long) {
    return lk_fail(error, LK_UNSUPPORTED,
                   "failed to plan an element program: it takes more than %d loops or %d registers",
                   LK_ELEMENT_CALLS, LK_ELEMENT_REGISTERS);
  }
  out->n_calls = (uint8_t)self.n_calls;
  out->n_registers = (uint8_t)self.n_registers;
  for (uint32_t i = 0; i < self.n_registers; i++) {
    *LK_ELEMENT_REGISTER_OF(out, i) = self.registers[i];
  }
  memcpy(LK_ELEMENT_WORDS_OF(out), program->numbers, out->n_numbers * sizeof(int64_t));
  return LK_OK;
}
