/* Checks what a caller passes to a run, before anything is done with it. */
#pragma once

#include <latchkey/session.h>

#include "executor_glue/graph/graph.h"

/* An input against its declaration: type, rank, fixed dimensions, size, layout, alignment. The
 * sentence names the input, its shape and the declared one. */
lk_status lk_check_input(const lk_value *value, const lk_tensor *input, lk_error *error);

/* The outputs that the caller has memory for against what the run has `made` [n_outputs]: type,
 * number of elements, layout, alignment; with `exact_outputs` of `options`, which may be NULL, the
 * shape; and that none overlaps an input or another output. `wanted` NULL: all are. */
lk_status lk_check_outputs(const lk_graph *graph, const lk_tensor_desc *made,
                           const lk_tensor *inputs, const lk_tensor *outputs, const bool *wanted,
                           const lk_run_options *options, lk_error *error);
