/* Checks what a caller passes to a run, before anything is done with it. */
#include "executor_glue/run/check_request.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"

/* "1x3x?x?:f32", "any rank:f32" */
static const char *declared_text(const lk_declaration *declared,
                                 char buffer[LK_TENSOR_TEXT_CAPACITY]) {
  size_t used = 0, room = LK_TENSOR_TEXT_CAPACITY;
  const char *dtype =
      declared->dtype != LK_DTYPE_NONE ? lk_dtype_name(declared->dtype) : "any type";
  if (declared->rank < 0) used = (size_t)snprintf(buffer, room, "any rank");
  if (declared->rank == 0) used = (size_t)snprintf(buffer, room, "scalar");
  for (int32_t i = 0; i < declared->rank; i++) {
    const char *between = i > 0 ? "x" : "";
    int length = declared->dims[i] < 0 ? snprintf(buffer + used, room - used, "%s?", between)
                                       : snprintf(buffer + used, room - used, "%s%" PRId64, between,
                                                  declared->dims[i]);
    used += (size_t)length;
  }
  (void)snprintf(buffer + used, room - used, ":%s", dtype);
  return buffer;
}

static bool is_aligned(const lk_tensor *tensor) {
  return (uintptr_t)tensor->data % lk_dtype_size(tensor->desc.dtype) == 0;
}

/* The rule that an input of `bytes` bytes breaks, or NULL. */
static const char *broken_by_input(const lk_declaration *declared, const lk_tensor *input,
                                   int64_t bytes) {
  const lk_tensor_desc *desc = &input->desc;
  if (declared->dtype != LK_DTYPE_NONE && desc->dtype != declared->dtype) {
    return "the types must be equal; cast it, as by array.astype";
  }
  if (declared->rank >= 0 && desc->rank != (uint32_t)declared->rank) {
    return "the ranks must be equal; reshape it";
  }
  for (int32_t i = 0; i < declared->rank; i++) {
    if (declared->dims[i] >= 0 && desc->dims[i] != declared->dims[i]) {
      return "fixed dimensions must be equal; pad or resize it, or free the dimension in the model";
    }
  }
  if (desc->layout != LK_LAYOUT_PLAIN) return "the layout must be plain";
  if (bytes > 0 && input->data == NULL) return "a tensor with elements needs data";
  if (bytes > 0 && !is_aligned(input)) return "data must be aligned to the element size";
  return NULL;
}

lk_status lk_check_input(const lk_value *value, const lk_tensor *input, lk_error *error) {
  static const lk_declaration nothing = {.rank = -1};
  const lk_declaration *declared = value->declared != NULL ? value->declared : &nothing;
  char given[LK_TENSOR_TEXT_CAPACITY], wanted[LK_TENSOR_TEXT_CAPACITY];
  int64_t bytes = 0;
  if (input->desc.dtype == LK_DTYPE_NONE) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to run with input '%s': it has no type; set desc to the type and shape "
                   "of the elements at data",
                   value->name);
  }
  lk_status status = lk_tensor_size(&input->desc, "a tensor", NULL, &bytes, error);
  if (status != LK_OK) return lk_error_prefix(error, status, "input '%s'", value->name);
  const char *rule = broken_by_input(declared, input, bytes);
  if (rule == NULL) return LK_OK;
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "failed to run with input '%s': it is %s and declared as %s, %s", value->name,
                 lk_tensor_text(&input->desc, given), declared_text(declared, wanted), rule);
}

static bool has_shape(const lk_tensor_desc *desc, const lk_tensor_desc *of) {
  return desc->rank == of->rank && memcmp(desc->dims, of->dims, of->rank * sizeof of->dims[0]) == 0;
}

/* The rule that room of `elements` elements for an output breaks, or NULL. */
static const char *broken_by_output(const lk_tensor_desc *made, const lk_tensor *room,
                                    int64_t elements, bool exact) {
  if (room->desc.dtype != made->dtype) return "the types must be equal";
  if (exact && !has_shape(&room->desc, made)) return "the shapes must be equal";
  if (elements < lk_elements(made)) return "the room must have as many elements at least";
  if (room->desc.layout != LK_LAYOUT_PLAIN) return "the layout must be plain";
  if (!is_aligned(room)) return "data must be aligned to the element size";
  return NULL;
}

static lk_status check_output(const lk_value *value, const lk_tensor_desc *made,
                              const lk_tensor *room, const lk_run_options *options,
                              lk_error *error) {
  char given[LK_TENSOR_TEXT_CAPACITY], text[LK_TENSOR_TEXT_CAPACITY];
  int64_t elements = 0;
  if (room->desc.dtype == LK_DTYPE_NONE) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to run into output '%s': it has data and no type; set desc to the type "
                   "and shape that the room at data has, or data to NULL for memory of the library",
                   value->name);
  }
  lk_status status = lk_tensor_size(&room->desc, "a tensor", &elements, NULL, error);
  if (status != LK_OK) return lk_error_prefix(error, status, "output '%s'", value->name);
  const bool exact = options != NULL && options->exact_outputs != 0;
  const char *rule = broken_by_output(made, room, elements, exact);
  if (rule == NULL) return LK_OK;
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "failed to run into output '%s': the room is %s and the run makes %s, %s",
                 value->name, lk_tensor_text(&room->desc, given), lk_tensor_text(made, text), rule);
}

static bool overlap(const void *a, uint64_t a_bytes, const void *b, uint64_t b_bytes) {
  uintptr_t a_start = (uintptr_t)a, b_start = (uintptr_t)b;
  return a_bytes > 0 && b_bytes > 0 && a_start < b_start + b_bytes && b_start < a_start + a_bytes;
}

static uint64_t bytes_of(const lk_tensor_desc *desc) {
  return (uint64_t)lk_elements(desc) * lk_dtype_size(desc->dtype);
}

static bool is_given(const lk_tensor *outputs, const bool *wanted, uint32_t output) {
  return (wanted == NULL || wanted[output]) && outputs[output].data != NULL;
}

/* Outputs are written while inputs, and other outputs, are still to be read. */
static lk_status check_overlap(const lk_graph *graph, const lk_tensor_desc *made, uint32_t output,
                               const lk_tensor *inputs, const lk_tensor *outputs,
                               const bool *wanted, lk_error *error) {
  const void *data = outputs[output].data;
  const uint64_t bytes = bytes_of(&made[output]);
  const char *other = NULL, *kind = "input";
  for (size_t i = 0; i < graph->n_inputs && other == NULL; i++) {
    if (inputs[i].data != NULL && overlap(data, bytes, inputs[i].data, bytes_of(&inputs[i].desc))) {
      other = graph->values[graph->inputs[i]].name;
    }
  }
  for (uint32_t i = 0; i < output && other == NULL; i++) {
    if (is_given(outputs, wanted, i) && overlap(data, bytes, outputs[i].data, bytes_of(&made[i]))) {
      other = graph->values[graph->outputs[i]].name;
      kind = "output";
    }
  }
  if (other == NULL) return LK_OK;
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "failed to run into output '%s': its memory overlaps %s '%s', it must not",
                 graph->values[graph->outputs[output]].name, kind, other);
}

lk_status lk_check_outputs(const lk_graph *graph, const lk_tensor_desc *made,
                           const lk_tensor *inputs, const lk_tensor *outputs, const bool *wanted,
                           const lk_run_options *options, lk_error *error) {
  for (uint32_t i = 0; i < graph->n_outputs; i++) {
    if (!is_given(outputs, wanted, i)) continue;
    const lk_value *value = &graph->values[graph->outputs[i]];
    LK_RETURN_NOT_OK(check_output(value, &made[i], &outputs[i], options, error));
    LK_RETURN_NOT_OK(check_overlap(graph, made, i, inputs, outputs, wanted, error));
  }
  return LK_OK;
}
