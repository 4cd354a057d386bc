/* What is certain about types and shapes of a graph's values before any input is seen: a sound,
 * partial inference by the operators' own rules (op_infer_values). Equal dimensions are equal in
 * every run. Declared shapes are believed for graph inputs alone (the executor checks those) and
 * for constants; nothing is taken from annotations of other values. */
#pragma once

#include "executor_glue/graph/graph.h"

typedef struct lk_symbolic_shapes {
  const lk_allocator *allocator;
  const lk_api *api;
  lk_dims *dims;
  lk_tensor_desc *descs; /* [n_values]: what is not known, and dimensions, as op_infer has them */
  int32_t *copies;       /* [n_values]: the value that this one is, or LK_NO_VALUE */
  int64_t (*elements)[LK_MAX_VALUES]; /* [n_values]: of small whole tensors, as op_infer_values */
  size_t n_values; /* of the graph when this was made; values added later are not known */
} lk_symbolic_shapes;

/* The longest list that an operator reads: Resize's roi, two numbers for each dimension. */
#define LK_MAX_LIST_VALUES (2 * LK_MAX_RANK)
/* The value of a constant that may be such a list, aligned in `memory`; NULL: it is none. */
void *lk_symbolic_value(const lk_value *value, int64_t memory[LK_MAX_LIST_VALUES]);

/* What op_infer is asked about a node, and answers. */
typedef struct lk_question {
  lk_node_input *flags;                  /* [n_inputs] */
  lk_tensor *inputs;                     /* [n_inputs] */
  int64_t (*values)[LK_MAX_LIST_VALUES]; /* [n_inputs]: memory for lk_symbolic_value */
  const int64_t **elements;              /* [n_inputs] */
  lk_tensor_desc *outputs;               /* [n_outputs] */
} lk_question;

/* Zeroed, with room for any node of the graph. On failure, `out` is for lk_question_destroy. */
lk_status lk_question_create(const lk_graph *graph, lk_question *out, lk_error *error);
void lk_question_destroy(const lk_graph *graph, lk_question *question);

/* For a sorted graph. What is found stays true for a value whatever node makes it later. */
lk_status lk_symbolic_shapes_create(const lk_api *api, const lk_graph *graph,
                                    lk_symbolic_shapes **out_shapes, lk_error *error);
/* The same of a body whose inputs are what `inputs` [n_inputs] says, with -1 for dimensions that
 * are not known. NULL: what is declared. */
lk_status lk_symbolic_shapes_of_body(const lk_api *api, const lk_graph *graph,
                                     const lk_tensor_desc *inputs, lk_symbolic_shapes **out_shapes,
                                     lk_error *error);
void lk_symbolic_shapes_destroy(lk_symbolic_shapes *shapes); /* NULL is allowed */

uint32_t lk_symbolic_shape_dtype(const lk_symbolic_shapes *shapes, int32_t value);
int32_t lk_symbolic_shape_rank(const lk_symbolic_shapes *shapes, int32_t value); /* -1: not known */
/* All of it that is known. False: `value` came after `shapes`. */
bool lk_symbolic_shape_desc(const lk_symbolic_shapes *shapes, int32_t value, lk_tensor_desc *out);
/* Both shapes are known to be equal in every run. */
bool lk_symbolic_shape_same(const lk_symbolic_shapes *shapes, int32_t a, int32_t b);
/* The elements of a tensor of whole numbers, LK_MAX_VALUES at most, which are the same numbers
 * from 0 on in every run; NULL: they are not known to be. */
const int64_t *lk_symbolic_numbers(const lk_symbolic_shapes *shapes, int32_t value);
/* A tensor of `desc` is known to broadcast to the shape of `value` without enlarging it. */
bool lk_symbolic_shape_takes(const lk_symbolic_shapes *shapes, int32_t value,
                             const lk_tensor_desc *desc);
/* The value that `value` is known to be, type and elements; LK_NO_VALUE: none. */
int32_t lk_symbolic_copy_of(const lk_symbolic_shapes *shapes, int32_t value);
