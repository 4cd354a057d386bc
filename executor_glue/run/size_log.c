#include "executor_glue/run/size_log.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/fork.h"
#include "base/status.h"
#include "base/tensor.h"

struct lk_size_record {
  atomic_uint_least64_t runs;
  uint64_t hash;
  uint64_t number;    /* in the order of the first builds */
  uint32_t run_plans; /* that exist */
  uint64_t builds, build_ns, longest_build_ns, last_build_ns, plan_bytes;
  uint32_t n_inputs, n_values;
  size_t n_bytes;
  /* The size: descriptions of the inputs, then those of the values, each with its data behind it,
   * which takes a multiple of 8 bytes. Equal sizes are equal bytes. */
  alignas(8) unsigned char bytes[];
};

struct lk_size_log {
  const lk_allocator *allocator;
  lk_fork_entry fork;
  pthread_mutex_t mutex; /* guards what follows, and all of a record but its runs */
  lk_size_record **records;
  size_t n_records, capacity;
  uint64_t next_number, lost;
  char name[];
};

lk_status lk_size_log_create(const lk_allocator *allocator, const char *name, lk_size_log **out_log,
                             lk_error *error) {
  const size_t name_bytes = strlen(name) + 1, bytes = sizeof **out_log + name_bytes;
  lk_size_log *log = *out_log = lk_calloc(allocator, 1, bytes);
  if (log == NULL) return lk_fail_memory(error, "a list of sizes", bytes);
  memcpy(log->name, name, name_bytes);
  log->allocator = allocator;
  (void)pthread_mutex_init(&log->mutex, NULL); /* cannot fail on glibc */
  log->fork = (lk_fork_entry){.level = LK_FORK_LEAF, .mutex = &log->mutex};
  lk_fork_enter(&log->fork);
  return LK_OK;
}

void lk_size_log_destroy(lk_size_log *log) {
  if (log == NULL) return;
  lk_fork_leave(&log->fork);
  pthread_mutex_destroy(&log->mutex);
  for (size_t i = 0; i < log->n_records; i++) lk_free(log->allocator, log->records[i]);
  lk_free(log->allocator, log->records);
  lk_free(log->allocator, log);
}

/* ---- sizes as bytes ---- */

static size_t data_bytes(const lk_tensor *value) {
  const size_t bytes = (size_t)lk_elements(&value->desc) * lk_dtype_size(value->desc.dtype);
  return (bytes + 7) / 8 * 8;
}

static size_t count_bytes(const lk_size_build *build) {
  size_t sum = build->n_inputs * sizeof *build->inputs;
  for (uint32_t i = 0; i < build->n_values; i++) {
    sum += sizeof build->values[i].desc + data_bytes(&build->values[i]);
  }
  return sum;
}

/* `to`: zeros. */
static void write_bytes(const lk_size_build *build, unsigned char *to) {
  const size_t inputs = build->n_inputs * sizeof *build->inputs;
  if (inputs > 0) memcpy(to, build->inputs, inputs);
  to += inputs;
  for (uint32_t i = 0; i < build->n_values; i++) {
    const lk_tensor *value = &build->values[i];
    const size_t exact = (size_t)lk_elements(&value->desc) * lk_dtype_size(value->desc.dtype);
    memcpy(to, &value->desc, sizeof value->desc);
    to += sizeof value->desc;
    if (exact > 0) memcpy(to, value->data, exact);
    to += data_bytes(value);
  }
}

/* ---- builds ---- */

static lk_size_record *make_record(const lk_size_log *log, const lk_size_build *build) {
  const size_t count = count_bytes(build);
  lk_size_record *made = lk_calloc(log->allocator, 1, sizeof *made + count);
  if (made == NULL) return NULL;
  made->n_inputs = build->n_inputs;
  made->n_values = build->n_values;
  made->n_bytes = count;
  write_bytes(build, made->bytes);
  made->hash = XXH3_64bits(made->bytes, count);
  return made;
}

/* With the mutex, as the next two. NULL: it is new. */
static lk_size_record *find(const lk_size_log *log, const lk_size_record *wanted) {
  for (size_t i = 0; i < log->n_records; i++) {
    lk_size_record *each = log->records[i];
    if (each->hash == wanted->hash && each->n_bytes == wanted->n_bytes &&
        memcmp(each->bytes, wanted->bytes, wanted->n_bytes) == 0) {
      return each;
    }
  }
  return NULL;
}

/* The record that was built the longest time ago, of those without a run plan; NULL: none. */
static lk_size_record **find_oldest(lk_size_log *log) {
  lk_size_record **oldest = NULL;
  for (size_t i = 0; i < log->n_records; i++) {
    lk_size_record **each = &log->records[i];
    if ((*each)->run_plans > 0) continue;
    if (oldest == NULL || (*each)->last_build_ns < (*oldest)->last_build_ns) oldest = each;
  }
  return oldest;
}

/* A place for one record more; `*out_place` NULL: all have run plans. */
static lk_status find_place(lk_size_log *log, lk_size_record ***out_place, lk_error *error) {
  if (log->n_records == LK_SIZES_MAX) {
    *out_place = find_oldest(log);
    log->lost++;
    return LK_OK;
  }
  if (!LK_GROW(log->allocator, log->records, log->n_records, log->capacity)) {
    return lk_fail_memory(error, "a list of sizes", sizeof **out_place);
  }
  *out_place = &log->records[log->n_records];
  **out_place = NULL;
  log->n_records++;
  return LK_OK;
}

static void count_build(lk_size_record *self, const lk_size_build *build) {
  const uint64_t took = build->end_ns - build->begin_ns;
  self->run_plans++;
  self->builds++;
  self->build_ns += took;
  if (took > self->longest_build_ns) self->longest_build_ns = took;
  self->last_build_ns = build->end_ns;
  self->plan_bytes = build->bytes;
}

lk_status lk_size_log_add(lk_size_log *log, const lk_size_build *build, lk_size_record **out_record,
                          lk_error *error) {
  *out_record = NULL;
  lk_size_record *made = make_record(log, build), *gone = made;
  if (made == NULL) {
    return lk_fail_memory(error, "a size", sizeof *made + count_bytes(build));
  }
  lk_size_record **place = NULL;
  lk_status status = LK_OK;
  pthread_mutex_lock(&log->mutex);
  lk_size_record *found = find(log, made);
  if (found == NULL) status = find_place(log, &place, error);
  if (place != NULL) {
    made->number = log->next_number++;
    found = made;
    gone = *place;
    *place = made;
  }
  if (found != NULL) {
    count_build(found, build);
    *out_record = found;
  }
  pthread_mutex_unlock(&log->mutex);
  lk_free(log->allocator, gone);
  return status;
}

void lk_size_record_add_runs(lk_size_record *record, uint64_t count) {
  atomic_fetch_add_explicit(&record->runs, count, memory_order_relaxed);
}

void lk_size_log_release(lk_size_log *log, lk_size_record *record) {
  if (record == NULL) return;
  pthread_mutex_lock(&log->mutex);
  record->run_plans--;
  pthread_mutex_unlock(&log->mutex);
}

/* ---- showing ---- */

/* A record as it was at one moment. */
typedef struct shown {
  uint64_t number;
  lk_session_size info;
  void *block; /* what `info` points to: values, and behind them a copy of the record's bytes */
} shown;

static bool copy_record(const lk_size_log *log, const lk_size_record *from, shown *to) {
  const size_t values_bytes = from->n_values * sizeof(lk_tensor);
  to->block = lk_alloc(log->allocator, values_bytes + from->n_bytes);
  if (to->block == NULL) return false;
  lk_tensor *values = to->block;
  unsigned char *at = (unsigned char *)to->block + values_bytes;
  memcpy(at, from->bytes, from->n_bytes);
  const lk_tensor_desc *inputs = (const lk_tensor_desc *)(const void *)at;
  at += from->n_inputs * sizeof *inputs;
  for (uint32_t i = 0; i < from->n_values; i++) {
    memcpy(&values[i].desc, at, sizeof values[i].desc);
    at += sizeof values[i].desc;
    values[i].data = at;
    at += data_bytes(&values[i]);
  }
  to->number = from->number;
  to->info = (lk_session_size){.struct_size = sizeof to->info,
                               .part = log->name,
                               .inputs = inputs,
                               .values = values,
                               .n_inputs = from->n_inputs,
                               .n_values = from->n_values,
                               .builds = from->builds,
                               .build_ns = from->build_ns,
                               .longest_build_ns = from->longest_build_ns,
                               .last_build_ns = from->last_build_ns,
                               .runs = atomic_load_explicit(&from->runs, memory_order_relaxed),
                               .bytes = from->plan_bytes,
                               .run_plans = from->run_plans};
  return true;
}

static int first_built_first(const void *a, const void *b) {
  const uint64_t left = ((const shown *)a)->number, right = ((const shown *)b)->number;
  return (left > right) - (left < right);
}

lk_status lk_size_log_visit(lk_size_log *log, lk_size_fn visit, void *arg, lk_error *error) {
  bool failed = false;
  pthread_mutex_lock(&log->mutex);
  const size_t count = log->n_records;
  shown *all = lk_calloc(log->allocator, count, sizeof *all);
  for (size_t i = 0; all != NULL && i < count && !failed; i++) {
    failed = !copy_record(log, log->records[i], &all[i]);
  }
  pthread_mutex_unlock(&log->mutex);
  if (all == NULL) return lk_fail_memory(error, "a list of sizes", count * sizeof *all);
  if (!failed) {
    qsort(all, count, sizeof *all, first_built_first);
    for (size_t i = 0; i < count; i++) visit(arg, &all[i].info);
  }
  for (size_t i = 0; i < count; i++) lk_free(log->allocator, all[i].block);
  lk_free(log->allocator, all);
  return failed ? lk_fail_memory(error, "a list of sizes", sizeof(lk_size_record)) : LK_OK;
}

uint64_t lk_size_log_lost(lk_size_log *log) {
  pthread_mutex_lock(&log->mutex);
  const uint64_t lost = log->lost;
  pthread_mutex_unlock(&log->mutex);
  return lost;
}
