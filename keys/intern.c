/* Interned strings: a number for each distinct string of a context.
 *
 * An array of names by number, whose free places are a list, and an open-addressed index into it.
 * The lock guards both. A name is never moved, so a pointer to its text stays valid without the
 * lock. Both arrays shrink when most of what they once had has gone. */
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

typedef struct lk_name {
  uint64_t hash;
  size_t length;
  uint64_t users;
  char text[];
} lk_name;

typedef struct lk_place {
  lk_name *name;       /* NULL: free */
  uint32_t next, prev; /* then: those beside it in the list of free places, or NO_PLACE */
} lk_place;

#define NO_PLACE UINT32_MAX

struct lk_intern {
  uint64_t serial;
  lk_allocator allocator;
  lk_fork_entry fork;
  pthread_mutex_t mutex; /* guards everything below */
  lk_place *places;      /* by number */
  size_t count, capacity;
  size_t live; /* of `count`, that are not free */
  size_t text_bytes;
  uint32_t free;   /* the first free place */
  uint32_t *slots; /* number + 1 of a name, 0: free; at most half of them are taken */
  size_t n_slots;  /* a power of two */
};

enum {
  FIRST_SLOTS = 256,
  SHRINK_AT = 16 /* where fewer than one place in so many is taken, half as many do */
};

static const char *const known[LK_N_WORDS] = {
#define W(symbol, text) text,
#include "keys/words.inc"
#undef W
};

const char *lk_word_text(lk_word word) {
  return known[word];
}

/* ---- the index ---- */

/* The slot of that string, or the free one where it belongs. */
static size_t find_slot(const lk_intern *intern, const char *text, size_t length, uint64_t hash) {
  const size_t mask = intern->n_slots - 1;
  for (size_t i = (size_t)hash & mask;; i = (i + 1) & mask) {
    if (intern->slots[i] == 0) return i;
    const lk_name *name = intern->places[intern->slots[i] - 1].name;
    if (name->hash == hash && name->length == length && memcmp(name->text, text, length) == 0) {
      return i;
    }
  }
}

static bool index_anew(lk_intern *intern, size_t wanted) {
  uint32_t *slots = lk_calloc(&intern->allocator, wanted, sizeof *slots);
  if (slots == NULL) return false;
  for (size_t i = 0; i < intern->n_slots; i++) {
    if (intern->slots[i] == 0) continue;
    size_t slot = (size_t)intern->places[intern->slots[i] - 1].name->hash & (wanted - 1);
    while (slots[slot] != 0) slot = (slot + 1) & (wanted - 1);
    slots[slot] = intern->slots[i];
  }
  lk_free(&intern->allocator, intern->slots);
  intern->slots = slots;
  intern->n_slots = wanted;
  return true;
}

/* Frees a slot, and moves into it what comes after it and was put off from there or before: no
 * string may lie behind a free slot that its search meets first. */
static void free_slot(lk_intern *intern, size_t hole) {
  const size_t mask = intern->n_slots - 1;
  for (size_t i = (hole + 1) & mask; intern->slots[i] != 0; i = (i + 1) & mask) {
    const size_t home = (size_t)intern->places[intern->slots[i] - 1].name->hash & mask;
    if (((i - home) & mask) < ((i - hole) & mask)) continue;
    intern->slots[hole] = intern->slots[i];
    hole = i;
  }
  intern->slots[hole] = 0;
}

/* ---- the places ---- */

static void list_free(lk_intern *intern, uint32_t id) {
  intern->places[id] = (lk_place){.next = intern->free, .prev = NO_PLACE};
  if (intern->free != NO_PLACE) intern->places[intern->free].prev = id;
  intern->free = id;
}

static void unlist_free(lk_intern *intern, uint32_t id) {
  const lk_place place = intern->places[id];
  if (place.next != NO_PLACE) intern->places[place.next].prev = place.prev;
  if (place.prev != NO_PLACE) {
    intern->places[place.prev].next = place.next;
  } else {
    intern->free = place.next;
  }
}

static lk_status take_place(lk_intern *intern, uint32_t *out_id, lk_error *error) {
  if (intern->free != NO_PLACE) {
    *out_id = intern->free;
    unlist_free(intern, *out_id);
    return LK_OK;
  }
  if (intern->count >= NO_PLACE) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to intern a name: there are %zu names, at most %" PRIu32 " are allowed",
                   intern->count, NO_PLACE);
  }
  if (!LK_GROW(&intern->allocator, intern->places, intern->count, intern->capacity)) {
    return lk_fail_memory(error, "the table of names", intern->capacity * 2 * sizeof(lk_place));
  }
  *out_id = (uint32_t)intern->count++;
  return LK_OK;
}

/* Names keep their numbers, so the places end with the highest that is taken. */
static void free_place(lk_intern *intern, uint32_t id) {
  list_free(intern, id);
  while (intern->count > 0 && intern->places[intern->count - 1].name == NULL) {
    unlist_free(intern, (uint32_t)--intern->count);
  }
}

/* Half of `now`, as often as fewer than one in SHRINK_AT is taken. */
static size_t shrunk(size_t now, size_t taken) {
  while (now > FIRST_SLOTS && taken * SHRINK_AT < now) now /= 2;
  return now;
}

/* After a release. Where there is no memory for smaller arrays, the larger ones stay. */
static void shrink(lk_intern *intern) {
  const size_t slots = shrunk(intern->n_slots, intern->live);
  const size_t capacity = shrunk(intern->capacity, intern->count);
  if (slots < intern->n_slots) (void)index_anew(intern, slots);
  if (capacity == intern->capacity) return;
  lk_place *places = lk_realloc(&intern->allocator, intern->places, intern->count * sizeof *places,
                                capacity * sizeof *places);
  if (places == NULL) return;
  intern->places = places;
  intern->capacity = capacity;
}

/* ---- names ---- */

static void free_name(lk_intern *intern, lk_name *name) {
  intern->text_bytes -= sizeof *name + name->length + 1;
  lk_free(&intern->allocator, name);
}

static lk_name *make_name(lk_intern *intern, const char *text, size_t length, uint64_t hash) {
  lk_name *name = lk_alloc(&intern->allocator, sizeof *name + length + 1);
  if (name == NULL) return NULL;
  *name = (lk_name){.hash = hash, .length = length};
  if (length > 0) memcpy(name->text, text, length);
  name->text[length] = '\0';
  intern->text_bytes += sizeof *name + length + 1;
  return name;
}

/* With the lock held. The table is unchanged when there is no memory. */
static lk_status add(lk_intern *intern, const char *text, size_t length, uint64_t hash,
                     uint32_t *out_id, lk_error *error) {
  if ((intern->live + 1) * 2 > intern->n_slots && !index_anew(intern, intern->n_slots * 2)) {
    return lk_fail_memory(error, "the index of names", intern->n_slots * 2 * sizeof(uint32_t));
  }
  lk_name *name = make_name(intern, text, length, hash);
  if (name == NULL) return lk_fail_memory(error, "a name", length + 1);
  const lk_status status = take_place(intern, out_id, error);
  if (status != LK_OK) {
    free_name(intern, name);
    return status;
  }
  intern->places[*out_id].name = name;
  intern->slots[find_slot(intern, text, length, hash)] = *out_id + 1;
  intern->live++;
  return LK_OK;
}

static lk_status get_locked(lk_intern *intern, const char *text, size_t length, uint32_t *out_id,
                            lk_error *error) {
  const uint64_t hash = XXH3_64bits(text, length);
  const uint32_t found = intern->slots[find_slot(intern, text, length, hash)];
  if (found == 0) {
    LK_RETURN_NOT_OK(add(intern, text, length, hash, out_id, error));
  } else {
    *out_id = found - 1;
  }
  intern->places[*out_id].name->users++;
  return LK_OK;
}

static void release_locked(lk_intern *intern, uint32_t id) {
  lk_name *name = intern->places[id].name;
  if (--name->users > 0) return;
  free_slot(intern, find_slot(intern, name->text, name->length, name->hash));
  free_place(intern, id);
  free_name(intern, name);
  intern->live--;
}

/* ---- the table ---- */

static lk_status add_words(lk_intern *intern, lk_error *error) {
  for (uint32_t i = 0; i < LK_N_WORDS; i++) {
    uint32_t id = 0;
    LK_RETURN_NOT_OK(get_locked(intern, known[i], strlen(known[i]), &id, error));
    if (id != i) {
      return lk_fail(error, LK_INTERNAL, "failed to intern the known names: '%s' is there twice",
                     known[i]);
    }
  }
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
  intern->free = NO_PLACE;
  (void)pthread_mutex_init(&intern->mutex,
                           NULL); /* with default attributes it cannot fail on Linux */
  intern->fork = (lk_fork_entry){.level = LK_FORK_LEAF, .mutex = &intern->mutex};
  lk_fork_enter(&intern->fork);
  if (!index_anew(intern, FIRST_SLOTS)) {
    LK_TRY(lk_fail_memory(error, "the index of names", FIRST_SLOTS * sizeof(uint32_t)));
  }
  LK_TRY(add_words(intern, error));
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
  for (size_t i = 0; i < intern->count; i++) lk_free(&allocator, intern->places[i].name);
  lk_free(&allocator, intern->places);
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

void lk_intern_retain(lk_intern *intern, const uint32_t *ids, size_t count) {
  pthread_mutex_lock(&intern->mutex);
  for (size_t i = 0; i < count; i++) {
    if (ids[i] >= LK_N_WORDS) intern->places[ids[i]].name->users++;
  }
  pthread_mutex_unlock(&intern->mutex);
}

void lk_intern_release(lk_intern *intern, const uint32_t *ids, size_t count) {
  pthread_mutex_lock(&intern->mutex);
  for (size_t i = 0; i < count; i++) {
    if (ids[i] >= LK_N_WORDS) release_locked(intern, ids[i]);
  }
  shrink(intern);
  pthread_mutex_unlock(&intern->mutex);
}

const char *lk_intern_text(lk_intern *intern, uint32_t id) {
  pthread_mutex_lock(&intern->mutex);
  const lk_name *name = id < intern->count ? intern->places[id].name : NULL;
  pthread_mutex_unlock(&intern->mutex);
  return name != NULL ? name->text : NULL;
}

lk_intern_size lk_intern_size_get(lk_intern *intern) {
  pthread_mutex_lock(&intern->mutex);
  const lk_intern_size size = {.names = intern->live - LK_N_WORDS,
                               .bytes = intern->text_bytes + intern->capacity * sizeof(lk_place) +
                                        intern->n_slots * sizeof *intern->slots};
  pthread_mutex_unlock(&intern->mutex);
  return size;
}

/* ---- names of a key that is being made ---- */

static bool grow_words(lk_words *words) {
  const lk_allocator *allocator = &words->intern->allocator;
  const size_t bytes = words->capacity * sizeof *words->ids;
  uint32_t *ids = lk_alloc(allocator, bytes * 2);
  if (ids == NULL) return false;
  memcpy(ids, words->ids, bytes);
  if (words->ids != words->first) lk_free(allocator, words->ids);
  words->ids = ids;
  words->capacity *= 2;
  return true;
}

lk_status lk_words_get(lk_words *words, const char *text, size_t length, uint32_t *out_id,
                       lk_error *error) {
  if (words->count == words->capacity && !grow_words(words)) {
    return lk_fail_memory(error, "the names of a key", words->capacity * 2 * sizeof *words->ids);
  }
  LK_RETURN_NOT_OK(lk_intern_get(words->intern, text, length, out_id, error));
  words->ids[words->count++] = *out_id;
  return LK_OK;
}

void lk_words_end_used(lk_words *words) {
  lk_intern_release(words->intern, words->ids, words->count);
  if (words->ids != words->first) lk_free(&words->intern->allocator, words->ids);
  lk_words_begin(words, words->intern);
}
