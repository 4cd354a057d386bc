/* Interned strings: a number for each distinct string of a context.
 *
 * An array of entries, which only grows, and an open-addressed index into it. The lock guards both.
 * A string is never moved, so a pointer to it stays valid without the lock. */
#define XXH_INLINE_ALL
#include "keys/intern.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/fork.h"
#include "base/status.h"

typedef struct lk_intern_entry {
  uint64_t hash;
  char *text;
  size_t length;
} lk_intern_entry;

struct lk_intern {
  uint64_t serial;
  lk_allocator allocator;
  lk_fork_entry fork;
  pthread_mutex_t mutex; /* guards everything below */
  lk_intern_entry *entries;
  size_t count, capacity;
  uint32_t *slots; /* index + 1 of an entry, 0: free; at most half of them are taken */
  size_t n_slots;  /* a power of two */
};

enum { FIRST_SLOTS = 256 };

static const char *const words[LK_N_WORDS] = {
#define W(symbol, text) text,
#include "keys/words.inc"
#undef W
};

/* The slot of that string, or the free one where it belongs. */
static size_t find_slot(const lk_intern *intern, const char *text, size_t length, uint64_t hash) {
  size_t mask = intern->n_slots - 1;
  for (size_t i = (size_t)hash & mask;; i = (i + 1) & mask) {
    if (intern->slots[i] == 0) return i;
    const lk_intern_entry *entry = &intern->entries[intern->slots[i] - 1];
    if (entry->hash == hash && entry->length == length && memcmp(entry->text, text, length) == 0) {
      return i;
    }
  }
}

static bool grow_slots(lk_intern *intern) {
  size_t wanted = intern->n_slots > 0 ? intern->n_slots * 2 : FIRST_SLOTS;
  uint32_t *slots = lk_calloc(&intern->allocator, wanted, sizeof *slots);
  if (slots == NULL) return false;
  for (size_t i = 0; i < intern->count; i++) {
    size_t slot = (size_t)intern->entries[i].hash & (wanted - 1);
    while (slots[slot] != 0) slot = (slot + 1) & (wanted - 1);
    slots[slot] = (uint32_t)i + 1;
  }
  lk_free(&intern->allocator, intern->slots);
  intern->slots = slots;
  intern->n_slots = wanted;
  return true;
}

/* With the lock held. The table is unchanged when there is no memory. */
static lk_status get_locked(lk_intern *intern, const char *text, size_t length, uint32_t *out_id,
                            lk_error *error) {
  uint64_t hash = XXH3_64bits(text, length);
  size_t slot = find_slot(intern, text, length, hash);
  if (intern->slots[slot] != 0) {
    *out_id = intern->slots[slot] - 1;
    return LK_OK;
  }
  if (intern->count >= UINT32_MAX - 1) {
    return lk_fail(error, LK_OUT_OF_RANGE, "failed to intern a name: %zu names, at most %" PRIu32,
                   intern->count, UINT32_MAX - 1);
  }
  if ((intern->count + 1) * 2 > intern->n_slots) {
    if (!grow_slots(intern)) {
      return lk_fail_memory(error, "the index of names", intern->n_slots * 2 * sizeof(uint32_t));
    }
    slot = find_slot(intern, text, length, hash);
  }
  if (!LK_GROW(&intern->allocator, intern->entries, intern->count, intern->capacity)) {
    return lk_fail_memory(error, "the table of names",
                          intern->capacity * 2 * sizeof(lk_intern_entry));
  }
  char *copy = lk_strndup(&intern->allocator, text, length);
  if (copy == NULL) return lk_fail_memory(error, "a name", length + 1);
  intern->entries[intern->count] = (lk_intern_entry){hash, copy, length};
  *out_id = (uint32_t)intern->count++;
  intern->slots[slot] = *out_id + 1;
  return LK_OK;
}

lk_status lk_intern_create(const lk_allocator *allocator, lk_intern **out_intern, lk_error *error) {
  static _Atomic uint64_t serials;
  lk_status status = LK_OK;
  *out_intern = NULL;
  lk_intern *intern = lk_calloc(allocator, 1, sizeof *intern);
  if (intern == NULL) return lk_fail_memory(error, "the table of names", sizeof *intern);
  intern->allocator = *allocator;
  intern->serial = atomic_fetch_add_explicit(&serials, 1, memory_order_relaxed) + 1;
  (void)pthread_mutex_init(&intern->mutex,
                           NULL); /* with default attributes it cannot fail on Linux */
  intern->fork = (lk_fork_entry){.level = LK_FORK_LEAF, .mutex = &intern->mutex};
  lk_fork_enter(&intern->fork);
  if (!grow_slots(intern)) {
    LK_TRY(lk_fail_memory(error, "the index of names", FIRST_SLOTS * sizeof(uint32_t)));
  }
  for (uint32_t i = 0; i < LK_N_WORDS; i++) {
    uint32_t id = 0;
    LK_TRY(get_locked(intern, words[i], strlen(words[i]), &id, error));
    if (id != i) {
      LK_TRY(lk_fail(error, LK_INTERNAL, "failed to intern the known names: '%s' is there twice",
                     words[i]));
    }
  }
  *out_intern = intern;
  intern = NULL;

cleanup:
  lk_intern_destroy(intern);
  return status;
}

void lk_intern_destroy(lk_intern *intern) {
  if (intern == NULL) return;
  lk_allocator allocator = intern->allocator;
  lk_fork_leave(&intern->fork);
  for (size_t i = 0; i < intern->count; i++) lk_free(&allocator, intern->entries[i].text);
  lk_free(&allocator, intern->entries);
  lk_free(&allocator, intern->slots);
  pthread_mutex_destroy(&intern->mutex);
  lk_free(&allocator, intern);
}

uint64_t lk_intern_serial(const lk_intern *intern) {
  return intern->serial;
}

lk_status lk_intern_get(lk_intern *intern, const char *text, size_t length, uint32_t *out_id,
                        lk_error *error) {
  if (memchr(text, '\0', length) != NULL) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to intern a name: '%s' is followed by a NUL, which no name may contain",
                   text);
  }
  pthread_mutex_lock(&intern->mutex);
  lk_status status = get_locked(intern, text, length, out_id, error);
  pthread_mutex_unlock(&intern->mutex);
  return status;
}

const char *lk_intern_text(lk_intern *intern, uint32_t id) {
  pthread_mutex_lock(&intern->mutex);
  const char *text = id < intern->count ? intern->entries[id].text : NULL;
  pthread_mutex_unlock(&intern->mutex);
  return text;
}
