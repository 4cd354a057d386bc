/* Which steps of a run plan wait for which, when steps may run at the same time.
 *
 * A step waits for the steps that wrote what it reads, and one that writes into memory (in place, or
 * through a view) for all that touched this memory before it in the order of the graph. What one
 * step waits for by way of another is left out. Immutable.
 */
#ifndef LK_RUN_SCHEDULE_H
#define LK_RUN_SCHEDULE_H

#include <latchkey/base.h>

typedef struct lk_run_schedule {
  uint32_t n_steps, n_edges, n_roots;
  uint32_t *n_before;    /* [n_steps]: how many steps it waits for */
  uint32_t *first_after; /* [n_steps + 1]: where its part of `after` begins */
  uint32_t *after;       /* [n_edges]: steps that wait for it, the most urgent first */
  uint32_t *roots;       /* [n_roots]: steps that wait for none, the most urgent first */
} lk_run_schedule;

/* Urgent is what has the longest way to the end: the sum of `costs` [n_steps] along it. `before` is
 * bits: step s waits for step p < s when bit p of before + s * n_words is set. */
lk_status lk_run_schedule_create(const lk_allocator *allocator, const uint64_t *before,
                                 uint32_t n_words, const double *costs, uint32_t n_steps,
                                 lk_run_schedule **out_schedule, lk_error *error);
void lk_run_schedule_destroy(const lk_allocator *allocator,
                             lk_run_schedule *schedule); /* NULL is allowed */
uint64_t lk_run_schedule_bytes(const lk_run_schedule *schedule);

/* How long `workers` take, when each takes the next step that is ready; in the unit of `costs`.
 * LK_OUT_OF_MEMORY. */
lk_status lk_run_schedule_length(const lk_allocator *allocator, const lk_run_schedule *schedule,
                                 const double *costs, uint32_t workers, double *out_length,
                                 lk_error *error);

#endif
