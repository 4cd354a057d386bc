/* Measured times by value key, and their sums by size class. Both stay until the end, so that what
 * is being saved names an entry, and an entry its class. */
#include "ops/engine/tuning.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "keys/cache/table.h"
#include "ops/engine/guard.h"
#include "ops/engine/size_class.h"
#include "ops/engine/value_key.h"

enum { MOST_WORKS = 65536 };

/* Of the works of one size class. There are no more of them than works. */
typedef struct size_class {
  lk_table_node node; /* first */
  lk_key *key;        /* with names that its works' keys use */
  lk_tuned times;
} size_class;

typedef struct entry {
  lk_table_node node; /* first */
  lk_key *key;
  size_class *of_class; /* NULL: a key that is not made as keys are here has none */
  lk_tuned times;       /* all */
  lk_tuned unsaved;     /* of these */
} entry;

struct lk_tuning_taken {
  entry *of;
  lk_tuned times;
};

struct lk_tuning {
  const lk_allocator *allocator;
  lk_intern *intern;
  locale_t c;
  _Atomic uint64_t works, skipped;
  pthread_mutex_t mutex; /* guards the tables, and the times in them */
  lk_table table, classes;
  /* what lk_tuning_fitting has counted last: of whom, when there were so many works */
  lk_key_engine counted_of;
  uint64_t counted_works, counted;
};

lk_status lk_tuning_create(const lk_allocator *allocator, lk_intern *intern, lk_tuning **out_tuning,
                           lk_error *error) {
  *out_tuning = NULL;
  lk_tuning *made = lk_calloc(allocator, 1, sizeof *made);
  if (made == NULL) return lk_fail_memory(error, "measured times", sizeof *made);
  made->allocator = allocator;
  made->intern = intern;
  made->c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (made->c == (locale_t)0) {
    lk_free(allocator, made);
    return lk_fail_memory(error, "a locale", sizeof *made);
  }
  (void)pthread_mutex_init(&made->mutex, NULL);
  lk_table_init(&made->table, allocator);
  lk_table_init(&made->classes, allocator);
  *out_tuning = made;
  return LK_OK;
}

void lk_tuning_destroy(lk_tuning *tuning) {
  if (tuning == NULL) return;
  for (lk_table_node *node; (node = lk_table_first(&tuning->table)) != NULL;) {
    entry *each = (entry *)node;
    lk_table_remove(&tuning->table, node);
    lk_key_destroy(tuning->allocator, each->key);
    lk_free(tuning->allocator, each);
  }
  for (lk_table_node *node; (node = lk_table_first(&tuning->classes)) != NULL;) {
    size_class *each = (size_class *)node;
    lk_table_remove(&tuning->classes, node);
    lk_key_destroy(tuning->allocator, each->key);
    lk_free(tuning->allocator, each);
  }
  freelocale(tuning->c);
  (void)pthread_mutex_destroy(&tuning->mutex);
  lk_free(tuning->allocator, tuning);
}

uint64_t lk_tuning_works(const lk_tuning *tuning) {
  return atomic_load_explicit(&tuning->works, memory_order_relaxed);
}

bool lk_tuning_is_empty(const lk_tuning *tuning) {
  return lk_tuning_works(tuning) == 0;
}

uint64_t lk_tuning_skipped(const lk_tuning *tuning) {
  return atomic_load_explicit(&tuning->skipped, memory_order_relaxed);
}

static void count_skipped(lk_tuning *tuning) {
  (void)atomic_fetch_add_explicit(&tuning->skipped, 1, memory_order_relaxed);
}

/* ---- with the lock held ---- */

static entry *find(const lk_tuning *tuning, const lk_key *key) {
  return (entry *)lk_table_find(&tuning->table, key);
}

static bool is_full(const lk_tuning *tuning) {
  return lk_tuning_works(tuning) >= MOST_WORKS;
}

/* Whether a key is of a work, and begins as that of its class does. One that has been edited may
 * have more in its head, which the class would lose. */
static bool has_class(const lk_key *key, lk_work *out_work, lk_key_engine *out_engine) {
  return lk_value_key_engine(key, out_engine) && lk_value_key_read(key, out_work, NULL) == LK_OK;
}
static bool begins_alike(const lk_key *a, const lk_key *b) {
  const uint32_t fixed = lk_key_get_head(b)->fixed;
  return a->size >= fixed && memcmp(a->bytes, b->bytes, fixed) == 0;
}

static lk_status add_class(lk_tuning *tuning, const lk_key *key, size_class **out_class,
                           lk_error *error) {
  size_class *made = lk_calloc(tuning->allocator, 1, sizeof *made);
  if (made == NULL) return lk_fail_memory(error, "measured times", sizeof *made);
  lk_status status = lk_key_copy(tuning->allocator, key, &made->key, error);
  if (status == LK_OK && !lk_table_insert(&tuning->classes, made->key, &made->node)) {
    status = lk_fail_memory(error, "measured times", sizeof *made);
  }
  if (status == LK_OK) {
    *out_class = made;
    return LK_OK;
  }
  lk_key_destroy(tuning->allocator, made->key);
  lk_free(tuning->allocator, made);
  return status;
}

/* NULL where the key has none. */
static lk_status find_or_add_class(lk_tuning *tuning, const lk_key *key, size_class **out_class,
                                   lk_error *error) {
  lk_status status = LK_OK;
  lk_work work, rounded;
  lk_key_engine engine;
  lk_key_builder builder;
  lk_key of_class;
  *out_class = NULL;
  if (!has_class(key, &work, &engine)) return LK_OK;
  lk_size_class(&work, &rounded);
  lk_value_key_begin_anew(&builder, tuning->allocator, &engine, &rounded);
  LK_TRY(lk_key_finish(&builder, &of_class, error));
  if (!begins_alike(key, &of_class)) goto cleanup;
  *out_class = (size_class *)lk_table_find(&tuning->classes, &of_class);
  if (*out_class == NULL) LK_TRY(add_class(tuning, &of_class, out_class, error));
cleanup:
  lk_key_builder_destroy(&builder);
  return status;
}

/* Takes the key over where it does not fail. */
static lk_status add(lk_tuning *tuning, lk_key *key, entry **out_entry, lk_error *error) {
  size_class *of_class;
  LK_RETURN_NOT_OK(find_or_add_class(tuning, key, &of_class, error));
  entry *made = lk_calloc(tuning->allocator, 1, sizeof *made);
  if (made == NULL) return lk_fail_memory(error, "measured times", sizeof *made);
  made->key = key;
  made->of_class = of_class;
  if (!lk_table_insert(&tuning->table, key, &made->node)) {
    lk_free(tuning->allocator, made);
    return lk_fail_memory(error, "measured times", sizeof *made);
  }
  (void)atomic_fetch_add_explicit(&tuning->works, 1, memory_order_relaxed);
  *out_entry = made;
  return LK_OK;
}

static void sum(lk_tuned *to, const lk_tuned *times) {
  to->native_ns += times->native_ns;
  to->engine_ns += times->engine_ns;
  to->count += times->count;
}

/* False, and nothing has changed: there would be too much of it. */
static bool add_to(lk_tuned *to, const lk_tuned *times) {
  lk_tuned all = *to;
  sum(&all, times);
  if (!lk_tuned_is_good(&all)) return false;
  *to = all;
  return true;
}

/* A class keeps what it has where there would be too much. */
static bool add_times(entry *of, const lk_tuned *times) {
  if (!add_to(&of->times, times)) return false;
  if (of->of_class != NULL) (void)add_to(&of->of_class->times, times);
  return true;
}

/* ---- times ---- */

bool lk_tuning_find(lk_tuning *tuning, const lk_key *key, lk_tuned *out_times) {
  lk_guard_lock(&tuning->mutex);
  const entry *found = find(tuning, key);
  if (found != NULL) *out_times = found->times;
  lk_guard_unlock(&tuning->mutex);
  return found != NULL;
}

bool lk_tuning_find_class(lk_tuning *tuning, const lk_key *key, lk_tuned *out_times) {
  lk_guard_lock(&tuning->mutex);
  const size_class *found = (size_class *)lk_table_find(&tuning->classes, key);
  /* it has no times where there was no memory for its first work, or none of that were taken */
  const bool is_known = found != NULL && found->times.count > 0;
  if (is_known) *out_times = found->times;
  lk_guard_unlock(&tuning->mutex);
  return is_known;
}

/* With the lock held. */
static uint64_t count_fitting(const lk_tuning *tuning, const lk_key_engine *engine) {
  uint64_t count = 0;
  for (lk_table_node *node = lk_table_first(&tuning->table); node != NULL;
       node = lk_table_next(node)) {
    lk_key_engine of;
    if (lk_value_key_engine(((const entry *)node)->key, &of)) {
      count += memcmp(&of, engine, sizeof of) == 0 ? 1 : 0;
    }
  }
  return count;
}

/* Works do not go. Who asks again and again, as statistics do, does not hold others up. */
uint64_t lk_tuning_fitting(lk_tuning *tuning, const lk_key_engine *engine) {
  lk_guard_lock(&tuning->mutex);
  const uint64_t works = lk_tuning_works(tuning);
  if (works != tuning->counted_works || memcmp(&tuning->counted_of, engine, sizeof *engine) != 0) {
    tuning->counted = count_fitting(tuning, engine);
    tuning->counted_of = *engine;
    tuning->counted_works = works;
  }
  const uint64_t count = tuning->counted;
  lk_guard_unlock(&tuning->mutex);
  return count;
}

lk_status lk_tuning_check(const lk_tuned *times, lk_error *error) {
  if (lk_tuned_is_good(times)) return LK_OK;
  return lk_fail(error, LK_OUT_OF_RANGE,
                 "failed to note measured times: they are %g ns by native and %g ns by the engine, "
                 "finite numbers above 0 are needed",
                 times->native_ns, times->engine_ns);
}

lk_status lk_tuning_note(lk_tuning *tuning, const lk_key *key, const lk_tuned *times,
                         lk_error *error) {
  LK_RETURN_NOT_OK(lk_tuning_check(times, error));
  lk_status status = LK_OK;
  lk_key *kept = NULL;
  lk_guard_lock(&tuning->mutex);
  entry *of = find(tuning, key);
  if (of == NULL && !is_full(tuning)) {
    LK_TRY(lk_key_keep(tuning->allocator, tuning->intern, key, &kept, error));
    LK_TRY(add(tuning, kept, &of, error));
    kept = NULL;
  }
  if (of == NULL) {
    count_skipped(tuning);
  } else if (add_times(of, times)) {
    sum(&of->unsaved, times);
  } else {
    LK_TRY(lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to note measured times: %g ns by native and %g ns by the engine are too "
                   "much beside what was noted of the work before",
                   times->native_ns, times->engine_ns));
  }
cleanup:
  lk_guard_unlock(&tuning->mutex);
  lk_key_destroy(tuning->allocator, kept);
  return status;
}

/* ---- lines ---- */

static lk_status read_line(lk_tuning *tuning, const char *line, size_t bytes, lk_error *error) {
  lk_status status = LK_OK;
  lk_tuned times;
  lk_key *key = NULL;
  if (bytes == 0 || line[0] == '#') return LK_OK;
  LK_RETURN_NOT_OK(lk_tuning_line_parse(tuning->intern, tuning->allocator, line, bytes, tuning->c,
                                        &key, &times, error));
  if (key == NULL) {
    count_skipped(tuning);
    return LK_OK;
  }
  lk_guard_lock(&tuning->mutex);
  entry *of = find(tuning, key);
  if (of == NULL && !is_full(tuning)) {
    LK_TRY(add(tuning, key, &of, error));
    key = NULL;
  }
  if (of == NULL || !add_times(of, &times)) count_skipped(tuning);
cleanup:
  lk_guard_unlock(&tuning->mutex);
  lk_key_destroy(tuning->allocator, key);
  return status;
}

lk_status lk_tuning_read(lk_tuning *tuning, const char *text, size_t bytes, lk_error *error) {
  for (size_t at = 0; at < bytes;) {
    const char *end = memchr(text + at, '\n', bytes - at);
    const size_t length = end != NULL ? (size_t)(end - text) - at : bytes - at;
    LK_RETURN_NOT_OK(read_line(tuning, text + at, length, error));
    at += length + 1;
  }
  return LK_OK;
}

static bool is_unsaved(const entry *of) {
  return of->unsaved.native_ns > 0;
}

static entry *entry_of(lk_table_node *node) {
  return (entry *)node;
}

/* With the lock held: the times go from the entries to the lines. */
static lk_status take(lk_tuning *tuning, lk_tuning_lines *lines, lk_error *error) {
  uint64_t count = 0;
  lk_table_node *const first = lk_table_first(&tuning->table);
  for (lk_table_node *node = first; node != NULL; node = lk_table_next(node)) {
    count += is_unsaved(entry_of(node)) ? 1 : 0;
  }
  if (count == 0) return LK_OK;
  lines->taken = lk_calloc(tuning->allocator, count, sizeof *lines->taken);
  if (lines->taken == NULL) {
    return lk_fail_memory(error, "times to be saved", count * sizeof *lines->taken);
  }
  for (lk_table_node *node = first; node != NULL; node = lk_table_next(node)) {
    entry *each = entry_of(node);
    if (!is_unsaved(each)) continue;
    lines->taken[lines->works++] = (struct lk_tuning_taken){each, each->unsaved};
    each->unsaved = (lk_tuned){0};
  }
  return LK_OK;
}

static lk_status print(const lk_tuning *tuning, lk_tuning_lines *lines, lk_error *error) {
  size_t room = 0;
  for (uint64_t i = 0; i < lines->works; i++) {
    size_t of_line = 0;
    LK_RETURN_NOT_OK(lk_tuning_line_room(tuning->intern, lines->taken[i].of->key, &of_line, error));
    room += of_line;
  }
  lines->text = lk_alloc(tuning->allocator, room);
  if (lines->text == NULL) return lk_fail_memory(error, "measured times as text", room);
  for (uint64_t i = 0; i < lines->works; i++) {
    size_t bytes = 0;
    LK_RETURN_NOT_OK(lk_tuning_line_print(
        tuning->intern, lines->taken[i].of->key, &lines->taken[i].times, tuning->c,
        lines->text + lines->bytes, room - lines->bytes, &bytes, error));
    lines->bytes += bytes;
  }
  return LK_OK;
}

lk_status lk_tuning_write(lk_tuning *tuning, lk_tuning_lines *out_lines, lk_error *error) {
  *out_lines = (lk_tuning_lines){0};
  lk_guard_lock(&tuning->mutex);
  lk_status status = take(tuning, out_lines, error);
  lk_guard_unlock(&tuning->mutex);
  if (status == LK_OK && out_lines->works > 0) status = print(tuning, out_lines, error);
  if (status != LK_OK) lk_tuning_settle(tuning, out_lines, false);
  return status;
}

void lk_tuning_settle(lk_tuning *tuning, lk_tuning_lines *lines, bool is_saved) {
  if (!is_saved && lines->works > 0) {
    lk_guard_lock(&tuning->mutex);
    for (uint64_t i = 0; i < lines->works; i++) {
      sum(&lines->taken[i].of->unsaved, &lines->taken[i].times);
    }
    lk_guard_unlock(&tuning->mutex);
  }
  lk_free(tuning->allocator, lines->taken);
  lk_free(tuning->allocator, lines->text);
  *lines = (lk_tuning_lines){0};
}
