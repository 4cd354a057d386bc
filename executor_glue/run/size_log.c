#include "executor_glue/run/size_log.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/fork.h"
#include "base/list.h"
#include "base/status.h"
#include "base/tensor.h"

/* Of the table: most logs have a few sizes, and there may be very many logs. */
enum { FIRST_BUCKETS = 4, BUCKETS_MAX = LK_SIZES_MAX / 4, RECORDS_OF_BUCKET = 4 };

struct lk_size_record {
  lk_size_record *next, **link; /* of the bucket */
  /* Of the records without a run plan, by when they lost it. */
  lk_size_record *idle_earlier, *idle_later;
  atomic_uint_least64_t runs;
  uint64_t hash;
  uint64_t number;    /* in the order of the first builds */
  uint32_t run_plans; /* that exist */
  bool recurs;        /* so was a plan, at some time */
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
  pthread_mutex_t mutex;    /* guards what follows, and all of a record but its runs */
  lk_size_record **buckets; /* by hash: `few`, or allocated */
  size_t n_buckets;         /* a power of 2 */
  lk_size_record *few[FIRST_BUCKETS];
  lk_size_record *idle_first, *idle_last;
  size_t n_records;
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
  log->buckets = log->few;
  log->n_buckets = FIRST_BUCKETS;
  (void)pthread_mutex_init(&log->mutex, NULL); /* cannot fail on glibc */
  log->fork = (lk_fork_entry){.level = LK_FORK_LEAF, .mutex = &log->mutex};
  lk_fork_enter(&log->fork);
  return LK_OK;
}

void lk_size_log_destroy(lk_size_log *log) {
  if (log == NULL) return;
  lk_fork_leave(&log->fork);
  pthread_mutex_destroy(&log->mutex);
  for (size_t i = 0; i < log->n_buckets; i++) {
    for (lk_size_record *each = log->buckets[i], *next; each != NULL; each = next) {
      next = each->next;
      lk_free(log->allocator, each);
    }
  }
  if (log->buckets != log->few) lk_free(log->allocator, log->buckets);
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

/* ---- the list, with the mutex ---- */

static lk_size_record **bucket_of(lk_size_log *log, uint64_t hash) {
  return &log->buckets[hash % log->n_buckets];
}

/* For one more record. False: there is no memory. */
static bool make_room(lk_size_log *log) {
  const size_t count = log->n_buckets;
  lk_size_record **old = log->buckets;
  if (count == BUCKETS_MAX || log->n_records < count * RECORDS_OF_BUCKET) return true;
  lk_size_record **larger = lk_calloc(log->allocator, 2 * count, sizeof *larger);
  if (larger == NULL) return false;
  log->buckets = larger;
  log->n_buckets = 2 * count;
  for (size_t i = 0; i < count; i++) {
    for (lk_size_record *each = old[i], *next; each != NULL; each = next) {
      next = each->next;
      LK_LIST_ADD(*bucket_of(log, each->hash), each, next, link);
    }
  }
  if (old != log->few) lk_free(log->allocator, old);
  return true;
}

/* NULL: it is new. */
static lk_size_record *find(lk_size_log *log, const lk_size_record *wanted) {
  lk_size_record *each = *bucket_of(log, wanted->hash);
  while (each != NULL && (each->hash != wanted->hash || each->n_bytes != wanted->n_bytes ||
                          memcmp(each->bytes, wanted->bytes, wanted->n_bytes) != 0)) {
    each = each->next;
  }
  return each;
}

static void idle_append(lk_size_log *log, lk_size_record *record) {
  record->idle_earlier = log->idle_last;
  record->idle_later = NULL;
  *(log->idle_last != NULL ? &log->idle_last->idle_later : &log->idle_first) = record;
  log->idle_last = record;
}

static void idle_remove(lk_size_log *log, lk_size_record *record) {
  lk_size_record *earlier = record->idle_earlier, *later = record->idle_later;
  *(earlier != NULL ? &earlier->idle_later : &log->idle_first) = later;
  *(later != NULL ? &later->idle_earlier : &log->idle_last) = earlier;
}

/* Where the list is full, the record that has been without a run plan for the longest time leaves
 * it for `record`, or all have one. Returns the record that is not in the list: its memory is the
 * caller's to free. */
static lk_size_record *enter(lk_size_log *log, lk_size_record *record) {
  lk_size_record *gone = NULL;
  if (log->n_records == LK_SIZES_MAX) {
    log->lost++;
    gone = log->idle_first;
    if (gone == NULL) return record;
    idle_remove(log, gone);
    LK_LIST_REMOVE(gone, next, link);
    log->n_records--;
  }
  LK_LIST_ADD(*bucket_of(log, record->hash), record, next, link);
  idle_append(log, record);
  log->n_records++;
  record->number = log->next_number++;
  return gone;
}

/* ---- builds ---- */

static void count_build(lk_size_log *log, lk_size_record *record, const lk_size_build *build) {
  const uint64_t took = build->end_ns - build->begin_ns;
  if (record->run_plans++ == 0) idle_remove(log, record);
  record->builds++;
  record->build_ns += took;
  if (took > record->longest_build_ns) record->longest_build_ns = took;
  record->last_build_ns = build->end_ns;
  record->plan_bytes = build->bytes;
  record->recurs = record->recurs || build->recurs;
}

bool lk_size_log_recurs(lk_size_log *log, const lk_size_build *size) {
  lk_size_record *wanted = make_record(log, size);
  if (wanted == NULL) return false;
  pthread_mutex_lock(&log->mutex);
  const lk_size_record *found = find(log, wanted);
  const bool recurs = found != NULL && found->recurs;
  pthread_mutex_unlock(&log->mutex);
  lk_free(log->allocator, wanted);
  return recurs;
}

lk_status lk_size_log_add(lk_size_log *log, const lk_size_build *build, lk_size_record **out_record,
                          lk_error *error) {
  *out_record = NULL;
  lk_size_record *made = make_record(log, build), *gone = made;
  if (made == NULL) {
    return lk_fail_memory(error, "a size", sizeof *made + count_bytes(build));
  }
  pthread_mutex_lock(&log->mutex);
  lk_size_record *found = find(log, made);
  const bool has_room = found != NULL || make_room(log);
  if (found == NULL && has_room) {
    gone = enter(log, made);
    found = gone != made ? made : NULL;
  }
  if (found != NULL) count_build(log, found, build);
  pthread_mutex_unlock(&log->mutex);
  *out_record = found;
  lk_free(log->allocator, gone);
  return has_room ? LK_OK : lk_fail_memory(error, "a list of sizes", sizeof *made);
}

void lk_size_record_add_runs(lk_size_record *record, uint64_t count) {
  atomic_fetch_add_explicit(&record->runs, count, memory_order_relaxed);
}

void lk_size_log_release(lk_size_log *log, lk_size_record *record) {
  if (record == NULL) return;
  pthread_mutex_lock(&log->mutex);
  if (--record->run_plans == 0) idle_append(log, record);
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
  size_t n_copied = 0;
  for (size_t i = 0; all != NULL && i < log->n_buckets; i++) {
    for (lk_size_record *each = log->buckets[i]; each != NULL && !failed; each = each->next) {
      failed = !copy_record(log, each, &all[n_copied++]);
    }
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
