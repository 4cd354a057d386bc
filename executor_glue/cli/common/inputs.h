/* The inputs of a series of requests: from .npy files, or random with drawn shapes.
 *
 * All shapes are drawn and all memory is allocated at the start, so that a request costs nothing
 * here while somebody measures. Element i of a random input is a function of the seed, the input
 * and i: floats are uniform in [0,1), integers and bools are zero. With `own_values` each request
 * begins a few elements further on: no two are equal, and all of them take little more memory than
 * one.
 */
#pragma once

#include "executor_glue/cli/common/model.h"
#include "executor_glue/cli/common/options.h"

typedef struct input_series input_series;

/* LK_INVALID_ARGUMENT names inputs that are unknown, given twice, or have a free dimension and no
 * shape, with an example of --shape. */
lk_status input_series_create(const cli_model *model, const input_args *args, input_series **out,
                              lk_error *error);
void input_series_destroy(input_series *series); /* NULL is allowed */

/* The inputs of a request: input_series_count of them, valid until the next call. Their data is
 * valid until the end. `request` is less than args->requests. */
const lk_named_tensor *input_series_get(input_series *series, uint64_t request);
uint32_t input_series_count(const input_series *series);
/* The inputs of all requests, [requests][input_series_count], which several threads may read. The
 * caller frees `*out` by lk_allocator_default, before the series. LK_OUT_OF_MEMORY. */
lk_status input_series_rows(input_series *series, lk_named_tensor **out, lk_error *error);
/* How many different tuples of shapes there are among the requests. */
uint64_t input_series_distinct(const input_series *series);
/* No earlier request has the same shapes. */
bool input_series_is_new(const input_series *series, uint64_t request);

/* True when NAME of --shape or --input means an input of this model. */
bool input_series_fits(const cli_model *model, const input_args *args, const char *name);
