/* Who runs which step next, when the steps of a run plan run at once.
 *
 * Workers are the threads of a region (plugin/team). A worker that has ended a step goes on with the
 * most urgent of those that have only waited for it, and leaves the others in a queue for whoever has
 * nothing to do. The queue is an array: a step is put there at most once in a run, and a worker that
 * takes a place in it waits for this place only. So nothing is locked but by who sleeps, or wakes
 * somebody.
 */
#ifndef LK_GRAPH_RUN_TURNS_H
#define LK_GRAPH_RUN_TURNS_H

#include <stdbool.h>

#include "executor_glue/graph/run_schedule.h"

typedef struct lk_run_turns lk_run_turns; /* the state of one run at a time; in a frame */

/* Borrows the schedule. */
lk_status lk_run_turns_create(const lk_allocator *allocator, const lk_run_schedule *schedule,
                              lk_run_turns **out_turns, lk_error *error);
void lk_run_turns_destroy(lk_run_turns *turns); /* NULL is allowed */
uint64_t lk_run_turns_bytes(const lk_run_turns *turns);

/* Runs one step in a lane, on the thread of that lane. False: the run ends after what is running. */
typedef bool lk_run_step_fn(void *arg, uint32_t step, uint32_t lane);

/* Calls `run_step` for every step once, after those that it waits for, on `workers` threads, this one
 * among them; returns when all are done. False: a call said so, and some steps have not run. */
bool lk_run_turns_take(lk_run_turns *turns, uint32_t workers, lk_run_step_fn *run_step, void *arg);

#endif
