/* Profiles: what each step of each operator took, added up over runs. */
#include "executor_glue/run/profile.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/require.h"
#include "base/status.h"
#include "base/struct.h"
#include "executor_glue/run/run_times.h"

enum { N_TEXTS = 7 }; /* of an entry */

/* What a run has measured, until it is known that it succeeds. */
typedef struct profile_run {
  uint64_t begin_ns, bind_ns;
  bool was_built;
  size_t *entries; /* [entries_capacity]: of each step, as the labels number them */
  size_t entries_capacity;
  lk_run_times times;
} profile_run;

struct lk_profile {
  lk_allocator allocator;
  atomic_bool is_taken; /* by a run */
  lk_profile_info total;
  lk_profile_entry *entries; /* `total.n_entries`, and behind them those that the run adds */
  size_t n_entries, entries_capacity;
  size_t next; /* where the entry of the next step probably is: runs are alike */
  profile_run run;
};

/* ---- entries ---- */

static void get_texts(const lk_profile_entry *entry, const char *out[N_TEXTS]) {
  out[0] = entry->output_name; /* the one that differs most */
  out[1] = entry->op_type;
  out[2] = entry->node_name;
  out[3] = entry->fused;
  out[4] = entry->kind;
  out[5] = entry->tiles;
  out[6] = entry->engine;
}

static void set_texts(lk_profile_entry *entry, const char *const texts[N_TEXTS]) {
  entry->output_name = texts[0];
  entry->op_type = texts[1];
  entry->node_name = texts[2];
  entry->fused = texts[3];
  entry->kind = texts[4];
  entry->tiles = texts[5];
  entry->engine = texts[6];
}

static bool is_same(const lk_profile_entry *a, const lk_profile_entry *b) {
  const char *texts_a[N_TEXTS], *texts_b[N_TEXTS];
  if (a->step != b->step || a->threads != b->threads) return false;
  if (a->is_expected_measured != b->is_expected_measured) return false;
  get_texts(a, texts_a);
  get_texts(b, texts_b);
  for (int i = 0; i < N_TEXTS; i++) {
    if (strcmp(texts_a[i], texts_b[i]) != 0) return false;
  }
  return true;
}

static lk_status copy_texts(lk_profile *profile, lk_profile_entry *entry, lk_error *error) {
  const char *texts[N_TEXTS];
  size_t bytes = 0;
  get_texts(entry, texts);
  for (int i = 0; i < N_TEXTS; i++) bytes += strlen(texts[i]) + 1;
  char *copy = lk_alloc(&profile->allocator, bytes);
  if (copy == NULL) return lk_fail_memory(error, "a profile", bytes);
  for (int i = 0; i < N_TEXTS; i++) {
    const size_t size = strlen(texts[i]) + 1;
    memcpy(copy, texts[i], size);
    texts[i] = copy;
    copy += size;
  }
  set_texts(entry, texts); /* the block begins with the first one */
  return LK_OK;
}

/* The number of the entry that shows the same as `wanted`, which is added where there is none. */
static lk_status find_entry(lk_profile *profile, const lk_profile_entry *wanted, size_t *out_entry,
                            lk_error *error) {
  const size_t count = profile->n_entries;
  for (size_t i = 0; i < count; i++) {
    *out_entry = (profile->next + i) % count;
    if (is_same(&profile->entries[*out_entry], wanted)) return LK_OK;
  }
  if (!LK_GROW(&profile->allocator, profile->entries, count, profile->entries_capacity)) {
    return lk_fail_memory(error, "a profile", sizeof *wanted);
  }
  profile->entries[count] = *wanted;
  LK_RETURN_NOT_OK(copy_texts(profile, &profile->entries[count], error));
  *out_entry = profile->n_entries++;
  return LK_OK;
}

static void drop_entries(lk_profile *profile, size_t left) {
  while (profile->n_entries > left) {
    const lk_profile_entry *last = &profile->entries[--profile->n_entries];
    lk_free(&profile->allocator, (void *)(uintptr_t)last->output_name);
  }
}

/* ---- for everybody ---- */

lk_status lk_profile_create(const lk_allocator *allocator, lk_profile **out_profile,
                            lk_error *error) {
  LK_REQUIRE("profile_create", error, out_profile);
  if (allocator == NULL) allocator = lk_allocator_default();
  *out_profile = lk_calloc(allocator, 1, sizeof **out_profile);
  if (*out_profile == NULL) return lk_fail_memory(error, "a profile", sizeof **out_profile);
  (*out_profile)->allocator = *allocator;
  return LK_OK;
}

void lk_profile_clear(lk_profile *profile) {
  drop_entries(profile, 0);
  profile->total = (lk_profile_info){0};
}

void lk_profile_destroy(lk_profile *profile) {
  if (profile == NULL) return;
  const lk_allocator allocator = profile->allocator;
  lk_profile_clear(profile);
  lk_free(&allocator, profile->entries);
  lk_free(&allocator, profile->run.entries);
  lk_run_times_end(&profile->run.times, &allocator);
  lk_free(&allocator, profile);
}

lk_status lk_profile_info_get(const lk_profile *profile, lk_profile_info *out, lk_error *error) {
  LK_REQUIRE("profile_info", error, profile, out);
  return lk_struct_write(out, &profile->total, sizeof profile->total, "lk_profile_info", error);
}

lk_status lk_profile_entry_get(const lk_profile *profile, uint32_t index, lk_profile_entry *out,
                               lk_error *error) {
  LK_REQUIRE("profile_entry", error, profile, out);
  if (index >= profile->total.n_entries) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to show entry %" PRIu32 " of a profile: it has %" PRIu32
                   ", numbered from 0",
                   index, profile->total.n_entries);
  }
  return lk_struct_write(out, &profile->entries[index], sizeof *out, "lk_profile_entry", error);
}

/* ---- for a run ---- */

lk_status lk_profile_begin(lk_profile *profile, lk_error *error) {
  profile_run *run = &profile->run;
  if (atomic_exchange(&profile->is_taken, true)) {
    return lk_fail(error, LK_BUSY,
                   "failed to run: another run uses the profile, one at a time may");
  }
  run->bind_ns = 0;
  run->begin_ns = lk_now_ns();
  return LK_OK;
}

/* The numbers of the entries of all steps. */
static lk_status find_entries(lk_profile *profile, const lk_labels *labels, uint32_t step_threads,
                              lk_error *error) {
  profile_run *run = &profile->run;
  profile->next = 0;
  for (uint32_t i = 0; i < labels->n_steps; i++) {
    const lk_step_label *step = &labels->steps[i];
    const lk_profile_entry wanted = {.op_type = step->node->op_type,
                                     .node_name = step->node->name,
                                     .output_name = step->node->output_name,
                                     .fused = step->node->fused,
                                     .kind = step->kind,
                                     .tiles = step->tiles,
                                     .engine = step->engine,
                                     .step = step->index,
                                     .threads = (int32_t)step_threads,
                                     .is_expected_measured = step->is_expected_measured};
    if (!LK_GROW(&profile->allocator, run->entries, i, run->entries_capacity)) {
      return lk_fail_memory(error, "the times of a run", labels->n_steps * sizeof *run->entries);
    }
    LK_RETURN_NOT_OK(find_entry(profile, &wanted, &run->entries[i], error));
    profile->next = run->entries[i] + 1;
  }
  return LK_OK;
}

lk_status lk_profile_bound(lk_profile *profile, lk_labels *labels, bool was_built,
                           uint32_t step_threads, lk_error *error) {
  profile_run *run = &profile->run;
  run->bind_ns = lk_now_ns() - run->begin_ns;
  run->was_built = was_built;
  LK_RETURN_NOT_OK(find_entries(profile, labels, step_threads, error));
  return lk_run_times_begin(&run->times, &profile->allocator, labels, error);
}

lk_run_times *lk_profile_times(lk_profile *profile) {
  return &profile->run.times;
}

/* Clocks are read one after the other: threads may seem to have computed a little longer than there
 * was time. */
static uint64_t left_of(uint64_t thread_ns, uint64_t compute_ns) {
  return thread_ns > compute_ns ? thread_ns - compute_ns : 0;
}

/* Beside what was expected of the works of a plan, what they took. */
static void add_expected(lk_profile *profile, const lk_run_times *times, uint32_t plan) {
  const lk_labels *labels = times->labels;
  lk_profile_entry *entry = NULL;
  uint64_t works_ns = 0;
  for (uint32_t i = labels->first[plan]; i < labels->first[plan + 1]; i++) {
    const lk_step_label *step = &labels->steps[i];
    if (step->work != 0) works_ns += times->times[i].ns;
    if (step->expected_ns <= 0) continue;
    entry = &profile->entries[profile->run.entries[i]];
    entry->expected_ns += step->expected_ns;
  }
  if (entry != NULL) entry->works_ns += works_ns;
}

static void add_run(lk_profile *profile, const lk_run_times *times) {
  const profile_run *run = &profile->run;
  const uint64_t execute_ns = times->end_ns - times->begin_ns;
  lk_profile_info *total = &profile->total;
  uint64_t compute_ns = 0;
  for (uint32_t i = 0; i < times->labels->n_steps; i++) {
    const lk_step_time *time = &times->times[i];
    const lk_step_label *step = &times->labels->steps[i];
    lk_profile_entry *entry = &profile->entries[run->entries[i]];
    if (entry->executions == 0 || time->ns < entry->min_ns) entry->min_ns = time->ns;
    entry->executions++;
    entry->total_ns += time->ns;
    entry->thread_ns += time->ns * times->step_threads;
    entry->wait_ns += left_of(time->ns * times->step_threads, time->compute_ns);
    entry->flops += step->flops;
    entry->bytes += step->bytes;
    compute_ns += time->compute_ns;
  }
  for (uint32_t plan = 0; plan < times->labels->n_plans; plan++) add_expected(profile, times, plan);
  total->runs++;
  total->binds += run->was_built;
  total->bind_ns += run->bind_ns;
  total->execute_ns += execute_ns;
  total->thread_ns += execute_ns * times->n_threads;
  total->wait_ns += left_of(execute_ns * times->n_threads, compute_ns);
  total->n_entries = (uint32_t)profile->n_entries;
}

void lk_profile_end(lk_profile *profile, const lk_run_times *times) {
  if (times != NULL) {
    add_run(profile, times);
  } else {
    drop_entries(profile, profile->total.n_entries);
  }
  atomic_store(&profile->is_taken, false);
}
