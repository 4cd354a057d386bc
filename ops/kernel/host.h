/* A step that is a host's own code. */
#pragma once

#include <latchkey/operator.h>

/* Behind it lie the descriptions of all inputs and outputs, and what `infer` has left. Operands:
 * inputs that are there, outputs, and scratch memory, if any. */
typedef struct lk_host_step {
  const lk_operator *op;
  uint64_t present; /* bit i: input i is there */
  uint64_t scratch_bytes;
  uint32_t n_inputs, n_outputs;
} lk_host_step;

lk_status lk_host_kernel(const void *params, void *const *pointers, lk_error *error);

/* The same for a step and for what binds: LK_OK, or a failure of a host's function as one of the
 * library's: "<what> of operator <name> ...". */
lk_status lk_host_status(const lk_operator *op, const char *what, lk_status status,
                         const lk_error *said, lk_error *error);
