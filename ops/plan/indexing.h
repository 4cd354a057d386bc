/* Steps that move blocks by indices, and what operators that emit them share. */
#pragma once

#include "ops/kernel/move/indexed.h"
#include "ops/plan/planner.h"

/* ---- shape rules ---- */

/* Puts dimensions `first` to `end` - 1 of a tensor behind those of another one. */
lk_status lk_append_dims(lk_tensor_desc *to, const lk_tensor_desc *from, uint32_t first,
                         uint32_t end, lk_error *error);
/* Inputs 0 and 1 as data and indices that have its rank, and lie in it but along an axis. */
lk_status lk_check_elements(const lk_inference *self, int64_t axis, lk_error *error);
/* Tuples of indices into the dimensions of data behind `batch` of them. */
lk_status lk_check_tuples(const lk_tensor_desc *data, const lk_tensor_desc *indices, int64_t batch,
                          lk_error *error);

/* ---- steps; while they are described, distances in data and values count elements ---- */

/* Sets dimension `i` of the slots. */
static inline void lk_index_dim(lk_indexed *step, uint32_t i, int64_t dim, int64_t data,
                                int64_t values, int64_t index) {
  step->dims[i] = dim;
  step->data[i] = data;
  step->values[i] = values;
  step->index[i] = index;
}
/* Adds an indexed axis. */
static inline void lk_index_axis(lk_indexed *step, int64_t size, int64_t stride) {
  step->sizes[step->n_axes] = size;
  step->strides[step->n_axes++] = stride;
}
/* Of input 0, by input 1: a slot for each index, or for each tuple of them. */
lk_indexed lk_index_elements(lk_planner *planner, int64_t axis);
lk_indexed lk_index_tuples(lk_planner *planner, uint32_t batch);

/* Input 0 by input 1, to output 0. */
lk_status lk_plan_gather(lk_planner *planner, lk_indexed *step, lk_error *error);
/* Whole rows, those of the first dimension of `table`, by each of the indices. `rule`:
 * lk_index_rule. */
lk_status lk_plan_gather_rows(lk_planner *planner, const lk_operand *table,
                              const lk_operand *indices, uint32_t rule, const lk_operand *to,
                              lk_error *error);
/* `values` into `data`. */
lk_status lk_plan_scatter(lk_planner *planner, lk_indexed *step, const lk_operand *data,
                          const lk_operand *indices, const lk_operand *values, lk_error *error);
