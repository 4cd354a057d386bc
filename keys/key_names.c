/* The names in a key's records, counted as used (intern.h has the rule). */
#include "base/alloc.h"
#include "keys/key.h"

/* Ids to tell the table about under one lock. */
typedef struct batch {
  lk_intern *intern;
  void (*tell)(lk_intern *intern, const uint32_t *ids, size_t count);
  size_t count;
  uint32_t ids[32];
} batch;

static void tell(batch *all) {
  if (all->count > 0) all->tell(all->intern, all->ids, all->count);
  all->count = 0;
}

static void add(batch *all, uint32_t id) {
  if (id < LK_N_WORDS) return; /* always there */
  if (all->count == sizeof all->ids / sizeof all->ids[0]) tell(all);
  all->ids[all->count++] = id;
}

/* What each form of a field (key.h) is to this file: a name, or none. */
#define NAME_word(field) add(all, of->field);
#define NAME_label(field) add(all, of->field);
#define NAME_number(field)
#define NAME_hex(field)
#define NAME_dtype(field)
#define NAME_kind(field)
#define NAME_float(field)
#define NAME_post(field)
#define NAME_element(field)
#define NAME_count(field)
#define NAME_fixed(field)
#define NAME_FIELD(type, field, form) NAME_##form(field)

#define NAMES_OF(symbol, value, name, type)                                                        \
  static void add_##name(batch *all, const type *of) {                                             \
    (void)all;                                                                                     \
    (void)of;                                                                                      \
    LK_KEY_##symbol##_FIELDS(NAME_FIELD)                                                           \
  }
LK_RECORD_LIST(NAMES_OF)

static void each_name(const lk_key *key, batch *all) {
  add_head(all, lk_key_get_head(key));
  lk_key_reader reader = lk_key_read(key);
  while (lk_key_next(&reader)) {
    switch (reader.type) { /* it is of LK_RECORD_LIST */
#define NAMES_CASE(symbol, value, name, type)                                                      \
  case LK_RECORD_##symbol:                                                                         \
    add_##name(all, reader.record);                                                                \
    break;
      LK_RECORD_LIST(NAMES_CASE)
    }
  }
  tell(all);
}

void lk_key_use_names(lk_key *key, lk_intern *intern) {
  key->uses = intern;
  if (intern == NULL) return;
  batch all = {.intern = intern, .tell = lk_intern_retain};
  each_name(key, &all);
}

void lk_key_leave_names(lk_key *key) {
  if (key->uses == NULL) return;
  batch all = {.intern = key->uses, .tell = lk_intern_release};
  each_name(key, &all);
  key->uses = NULL;
}

lk_status lk_key_keep(const lk_allocator *allocator, lk_intern *intern, const lk_key *key,
                      lk_key **out_copy, lk_error *error) {
  const lk_status status = lk_key_copy(allocator, key, out_copy, error);
  if (status == LK_OK) lk_key_use_names(*out_copy, intern);
  return status;
}

void lk_key_destroy(const lk_allocator *allocator, lk_key *key) {
  if (key == NULL) return;
  lk_key_leave_names(key);
  lk_free(allocator, key);
}
