/* Schedules: the edges of the graph in rows, by priority; and how long workers take by them. */
#include "executor_glue/run/schedule.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/graph/look.h"

static lk_status look(const lk_api *api, lk_error *error) {
  return lk_graph_look(api, "plan what runs in parallel", error);
}

/* By falling priority; equal ones have the order of the graph. For qsort_r. */
static int compare_steps(const void *a, const void *b, void *priorities) {
  const double *priority = priorities;
  const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  if (priority[x] != priority[y]) return priority[x] > priority[y] ? -1 : 1;
  return x < y ? -1 : x > y;
}

static void sort_by_priority(uint32_t *steps, uint32_t count, double *priority) {
  qsort_r(steps, count, sizeof *steps, compare_steps, priority);
}

static void count_edges(const uint64_t *predecessors, uint32_t n_words, uint32_t n_steps,
                        uint32_t *out_edges, uint32_t *out_roots) {
  for (uint32_t s = 0; s < n_steps; s++) {
    uint32_t n = 0;
    for (uint32_t w = 0; w < n_words; w++) {
      n += (uint32_t)__builtin_popcountll(predecessors[(size_t)s * n_words + w]);
    }
    *out_edges += n;
    *out_roots += n == 0;
  }
}

/* How many edges each step has, and where its part of `successors` begins. */
static lk_status divide_edges(const lk_api *api, lk_schedule *schedule,
                              const uint64_t *predecessors, uint32_t n_words, lk_error *error) {
  for (uint32_t s = 0; s < schedule->n_steps; s++) {
    LK_RETURN_NOT_OK(look(api, error));
    for (uint32_t w = 0; w < n_words; w++) {
      for (uint64_t bits = predecessors[(size_t)s * n_words + w]; bits != 0; bits &= bits - 1) {
        schedule->first_successor[w * 64 + (uint32_t)__builtin_ctzll(bits) + 1]++;
        schedule->n_predecessors[s]++;
      }
    }
  }
  for (uint32_t s = 0; s < schedule->n_steps; s++) {
    schedule->first_successor[s + 1] += schedule->first_successor[s];
  }
  return LK_OK;
}

/* Where the part of each step ends goes down to where it begins, as the part is filled. */
static lk_status fill_edges(const lk_api *api, lk_schedule *schedule, const uint64_t *predecessors,
                            uint32_t n_words, lk_error *error) {
  for (uint32_t s = 0; s < schedule->n_steps; s++) {
    LK_RETURN_NOT_OK(look(api, error));
    for (uint32_t w = 0; w < n_words; w++) {
      for (uint64_t bits = predecessors[(size_t)s * n_words + w]; bits != 0; bits &= bits - 1) {
        const uint32_t p = w * 64 + (uint32_t)__builtin_ctzll(bits);
        schedule->successors[--schedule->first_successor[p + 1]] = s;
      }
    }
  }
  for (uint32_t s = 0; s < schedule->n_steps; s++) {
    schedule->first_successor[s] = schedule->first_successor[s + 1];
  }
  schedule->first_successor[schedule->n_steps] = schedule->n_edges;
  return LK_OK;
}

/* `priority` [n_steps] is filled from the last step on: successors have a higher number. */
static lk_status sort_edges(const lk_api *api, lk_schedule *schedule, const double *costs,
                            double *priority, lk_error *error) {
  uint32_t n_roots = 0;
  for (uint32_t s = schedule->n_steps; s-- > 0;) {
    uint32_t *successors = schedule->successors + schedule->first_successor[s];
    const uint32_t n = schedule->first_successor[s + 1] - schedule->first_successor[s];
    LK_RETURN_NOT_OK(look(api, error));
    sort_by_priority(successors, n, priority);
    priority[s] = costs[s] + (n > 0 ? priority[successors[0]] : 0);
  }
  for (uint32_t s = 0; s < schedule->n_steps; s++) {
    if (schedule->n_predecessors[s] == 0) schedule->roots[n_roots++] = s;
  }
  sort_by_priority(schedule->roots, n_roots, priority);
  return LK_OK;
}

lk_status lk_schedule_create(const lk_api *api, const lk_allocator *allocator,
                             const uint64_t *predecessors, uint32_t n_words, const double *costs,
                             uint32_t n_steps, lk_schedule **out_schedule, lk_error *error) {
  lk_status status = LK_OK;
  uint32_t n_edges = 0, n_roots = 0;
  *out_schedule = NULL;
  count_edges(predecessors, n_words, n_steps, &n_edges, &n_roots);
  const lk_schedule sizes = {.n_steps = n_steps, .n_edges = n_edges, .n_roots = n_roots};
  lk_schedule *made = lk_calloc(allocator, 1, lk_schedule_bytes(&sizes));
  double *priority = lk_calloc(allocator, n_steps, sizeof *priority);
  if (made == NULL || priority == NULL) {
    LK_TRY(lk_fail_memory(error, "a schedule", lk_schedule_bytes(&sizes)));
  }
  *made = sizes;
  made->n_predecessors = (uint32_t *)(made + 1);
  made->first_successor = made->n_predecessors + n_steps;
  made->successors = made->first_successor + n_steps + 1;
  made->roots = made->successors + n_edges;
  LK_TRY(divide_edges(api, made, predecessors, n_words, error));
  LK_TRY(fill_edges(api, made, predecessors, n_words, error));
  LK_TRY(sort_edges(api, made, costs, priority, error));
  *out_schedule = made;
  made = NULL;

cleanup:
  lk_free(allocator, priority);
  lk_free(allocator, made);
  return status;
}

void lk_schedule_destroy(const lk_allocator *allocator, lk_schedule *schedule) {
  lk_free(allocator, schedule);
}

uint64_t lk_schedule_bytes(const lk_schedule *schedule) {
  return sizeof *schedule +
         ((uint64_t)schedule->n_steps * 2 + 1 + schedule->n_edges + schedule->n_roots) *
             sizeof(uint32_t);
}

/* ---- the makespan ---- */

/* The worker that has waited least when the step is ready, so that those who waited longer stay
 * free for what is ready already; or the one that is free first. */
static uint32_t choose_worker(const double *busy_until, uint32_t workers, double ready) {
  uint32_t best = 0;
  for (uint32_t w = 1; w < workers; w++) {
    const bool in_time = busy_until[w] <= ready, best_in_time = busy_until[best] <= ready;
    if (in_time != best_in_time) {
      if (in_time) best = w;
    } else if (in_time ? busy_until[w] > busy_until[best] : busy_until[w] < busy_until[best]) {
      best = w;
    }
  }
  return best;
}

lk_status lk_schedule_makespan(const lk_api *api, const lk_allocator *allocator,
                               const lk_schedule *schedule, const double *costs, uint32_t workers,
                               double *out_makespan, lk_error *error) {
  lk_status status = LK_OK;
  const uint32_t n_steps = schedule->n_steps;
  *out_makespan = 0;
  double *ready = lk_calloc(allocator, (size_t)n_steps + workers, sizeof *ready);
  if (ready == NULL) return lk_fail_memory(error, "a schedule's times", n_steps * sizeof *ready);
  double *busy_until = ready + n_steps;
  for (uint32_t s = 0; s < n_steps; s++) {
    LK_TRY(look(api, error));
    const uint32_t worker = choose_worker(busy_until, workers, ready[s]);
    const double begin = busy_until[worker] > ready[s] ? busy_until[worker] : ready[s];
    const double end = begin + costs[s];
    busy_until[worker] = end;
    if (end > *out_makespan) *out_makespan = end;
    for (uint32_t i = schedule->first_successor[s]; i < schedule->first_successor[s + 1]; i++) {
      if (ready[schedule->successors[i]] < end) ready[schedule->successors[i]] = end;
    }
  }

cleanup:
  lk_free(allocator, ready);
  return status;
}
