/* Who runs which step next, when the steps of a run plan run in parallel.
 *
 * Workers are the threads of one parallel_run. A worker that has ended a step goes on with one
 * that has waited for this step only: the one of the highest priority. It leaves the others in a
 * queue for workers that have nothing to do. The queue is an array: a step is put there at most
 * once in a run, and a worker that takes a place in it waits for this place only. So only workers
 * that sleep, or wake others, take a lock.
 */
#pragma once

#include <latchkey/latchkey.h>
#include <stdbool.h>

#include "executor_glue/run/schedule.h"

typedef struct lk_ready_queue lk_ready_queue; /* the state of one run at a time; in a frame */

/* Borrows the schedule. */
lk_status lk_ready_queue_create(const lk_allocator *allocator, const lk_schedule *schedule,
                                lk_ready_queue **out_queue, lk_error *error);
void lk_ready_queue_destroy(lk_ready_queue *queue); /* NULL is allowed */

/* Runs one step in a lane, on the thread of that lane. False: the run ends after what is
 * running. */
typedef bool lk_run_step_fn(void *arg, uint32_t step, uint32_t lane);

/* Calls `run_step` for every step once, after those that it waits for, on `workers` threads, this
 * one among them; returns when all are done. False: a call said so, and some steps have not run. */
bool lk_ready_queue_run(lk_ready_queue *queue, const lk_api *api, lk_context *context,
                        uint32_t workers, lk_run_step_fn *run_step, void *arg);
