/* The elements of small tensors of whole numbers that a graph computes from dimensions: where
 * exporters ask for a Shape and make another of it. Each is a value as of dims.h. */
#pragma once

#include "ops/plan/op.h"

/* Element `index` of an operator's own input, which is there: LK_DIM_UNKNOWN also where the input
 * is not as values are. */
int64_t lk_value_at(const lk_inference *self, uint32_t input, int64_t index);
/* The values of a list that shapes follow from, input `input`. False: nobody knows how many. */
bool lk_value_list(const lk_inference *self, uint32_t input, int64_t out[LK_MAX_VALUES],
                   uint32_t *out_count);

/* The dimensions of a tensor whose shape input `input` is, as far as they are certain. */
void lk_shape_of_values(const lk_inference *self, uint32_t input, lk_tensor_desc *to);

/* Those of output 0, of a node that was inferred, without its post-ops. All unknown: it is no such
 * tensor, or the operator is none that is known to compute with dimensions. */
void lk_values_infer(const lk_inference *self, const lk_node_desc *desc,
                     int64_t out[LK_MAX_VALUES]);
