/* The order in which steps of a run plan may run in parallel: a directed graph of dependencies.
 *
 * A dependency that follows from others is left out. Immutable.
 */
#pragma once

#include <latchkey/latchkey.h>

typedef struct lk_schedule {
  uint32_t n_steps, n_edges, n_roots;
  uint32_t *n_predecessors;  /* [n_steps]: how many steps it waits for */
  uint32_t *first_successor; /* [n_steps + 1]: where its part of `successors` begins */
  uint32_t *successors;      /* [n_edges]: steps that wait for it, by falling priority */
  uint32_t *roots;           /* [n_roots]: steps that wait for none, by falling priority */
} lk_schedule;

/* The priority of a step is the length of the longest path from it to the end: the sum of `costs`
 * [n_steps] along it. `predecessors` is bits: step s waits for step p < s when bit p of
 * predecessors + s * n_words is set. Both functions look by `api` whether they have to end. */
lk_status lk_schedule_create(const lk_api *api, const lk_allocator *allocator,
                             const uint64_t *predecessors, uint32_t n_words, const double *costs,
                             uint32_t n_steps, lk_schedule **out_schedule, lk_error *error);
void lk_schedule_destroy(const lk_allocator *allocator,
                         lk_schedule *schedule); /* NULL is allowed */
uint64_t lk_schedule_bytes(const lk_schedule *schedule);

/* How long `workers` take, when each takes the next step that is ready; in the unit of `costs`.
 * LK_OUT_OF_MEMORY. */
lk_status lk_schedule_makespan(const lk_api *api, const lk_allocator *allocator,
                               const lk_schedule *schedule, const double *costs, uint32_t workers,
                               double *out_makespan, lk_error *error);
