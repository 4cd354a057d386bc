/* Schedules: edges in rows, by urgency, and how long a number of workers would take. */
#include "executor_glue/run/schedule.h"

#include <stdbool.h>

#include "base/alloc.h"
#include "base/status.h"

static bool waits_for(const uint64_t *before, uint32_t n_words, uint32_t step, uint32_t other) {
  return (before[(size_t)step * n_words + other / 64] >> other % 64 & 1) != 0;
}

/* Insertion by falling urgency; stable, so that equal ones keep the order of the graph. */
static void sort_urgent(uint32_t *steps, uint32_t count, const double *urgency) {
  for (uint32_t i = 1; i < count; i++) {
    const uint32_t step = steps[i];
    uint32_t at = i;
    for (; at > 0 && urgency[steps[at - 1]] < urgency[step]; at--) steps[at] = steps[at - 1];
    steps[at] = step;
  }
}

static void count_edges(lk_run_schedule *schedule, const uint64_t *before, uint32_t n_words) {
  for (uint32_t s = 0; s < schedule->n_steps; s++) {
    for (uint32_t w = 0; w < n_words; w++) {
      for (uint64_t bits = before[(size_t)s * n_words + w]; bits != 0; bits &= bits - 1) {
        schedule->first_after[w * 64 + (uint32_t)__builtin_ctzll(bits) + 1]++;
        schedule->n_before[s]++;
      }
    }
    if (schedule->n_before[s] == 0) schedule->n_roots++;
  }
  for (uint32_t s = 0; s < schedule->n_steps; s++) {
    schedule->first_after[s + 1] += schedule->first_after[s];
  }
  schedule->n_edges = schedule->first_after[schedule->n_steps];
}

/* `urgency` [n_steps] is filled on the way: steps behind come after this one in the graph's order. */
static void fill_edges(lk_run_schedule *schedule, const uint64_t *before, uint32_t n_words,
                       const double *costs, double *urgency) {
  uint32_t n_roots = 0;
  for (uint32_t s = schedule->n_steps; s-- > 0;) {
    uint32_t *after = schedule->after + schedule->first_after[s];
    uint32_t n = 0;
    const uint32_t n_after = schedule->first_after[s + 1] - schedule->first_after[s];
    for (uint32_t t = s + 1; n < n_after; t++) {
      if (waits_for(before, n_words, t, s)) after[n++] = t;
    }
    sort_urgent(after, n, urgency);
    urgency[s] = costs[s] + (n > 0 ? urgency[after[0]] : 0);
  }
  for (uint32_t s = 0; s < schedule->n_steps; s++) {
    if (schedule->n_before[s] == 0) schedule->roots[n_roots++] = s;
  }
  sort_urgent(schedule->roots, n_roots, urgency);
}

lk_status lk_run_schedule_create(const lk_allocator *allocator, const uint64_t *before,
                                 uint32_t n_words, const double *costs, uint32_t n_steps,
                                 lk_run_schedule **out_schedule, lk_error *error) {
  lk_status status = LK_OK;
  double *urgency = NULL;
  *out_schedule = NULL;
  lk_run_schedule *made = lk_calloc(allocator, 1, sizeof *made);
  if (made == NULL) return lk_fail_memory(error, "a schedule", sizeof *made);
  made->n_steps = n_steps;
  made->n_before = lk_calloc(allocator, n_steps, sizeof *made->n_before);
  made->first_after = lk_calloc(allocator, (size_t)n_steps + 1, sizeof *made->first_after);
  urgency = lk_calloc(allocator, n_steps, sizeof *urgency);
  if (made->n_before == NULL || made->first_after == NULL || urgency == NULL) {
    status = lk_fail_memory(error, "a schedule", n_steps * sizeof *urgency);
    goto cleanup;
  }
  count_edges(made, before, n_words);
  made->after = lk_calloc(allocator, made->n_edges, sizeof *made->after);
  made->roots = lk_calloc(allocator, made->n_roots, sizeof *made->roots);
  if (made->after == NULL || made->roots == NULL) {
    status = lk_fail_memory(error, "a schedule", made->n_edges * sizeof *made->after);
    goto cleanup;
  }
  fill_edges(made, before, n_words, costs, urgency);
  *out_schedule = made;
  made = NULL;

cleanup:
  lk_free(allocator, urgency);
  lk_run_schedule_destroy(allocator, made);
  return status;
}

void lk_run_schedule_destroy(const lk_allocator *allocator, lk_run_schedule *schedule) {
  if (schedule == NULL) return;
  lk_free(allocator, schedule->roots);
  lk_free(allocator, schedule->after);
  lk_free(allocator, schedule->first_after);
  lk_free(allocator, schedule->n_before);
  lk_free(allocator, schedule);
}

uint64_t lk_run_schedule_bytes(const lk_run_schedule *schedule) {
  return sizeof *schedule +
         ((uint64_t)schedule->n_steps * 2 + 1 + schedule->n_edges + schedule->n_roots) *
             sizeof(uint32_t);
}

/* ---- how long it takes ---- */

/* The worker that has waited least when the step is ready, so that those who waited longer stay free
 * for what is ready already; or the one that is free first. */
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

lk_status lk_run_schedule_length(const lk_allocator *allocator, const lk_run_schedule *schedule,
                                 const double *costs, uint32_t workers, double *out_length,
                                 lk_error *error) {
  const uint32_t n_steps = schedule->n_steps;
  *out_length = 0;
  double *ready = lk_calloc(allocator, (size_t)n_steps + workers, sizeof *ready);
  if (ready == NULL) return lk_fail_memory(error, "a schedule's times", n_steps * sizeof *ready);
  double *busy_until = ready + n_steps;
  for (uint32_t s = 0; s < n_steps; s++) {
    const uint32_t worker = choose_worker(busy_until, workers, ready[s]);
    const double begin = busy_until[worker] > ready[s] ? busy_until[worker] : ready[s];
    const double end = begin + costs[s];
    busy_until[worker] = end;
    if (end > *out_length) *out_length = end;
    for (uint32_t i = schedule->first_after[s]; i < schedule->first_after[s + 1]; i++) {
      if (ready[schedule->after[i]] < end) ready[schedule->after[i]] = end;
    }
  }
  lk_free(allocator, ready);
  return LK_OK;
}
