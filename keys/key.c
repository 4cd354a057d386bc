/* Keys as bytes: what they consist of, hashing, comparing and reading them. */
#define XXH_INLINE_ALL
#include "keys/key.h"

#include <stdatomic.h>
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"

/* Keys are compared as bytes: there must be none that no field sets. */
#define LK_FIELD_SIZE(type, field, form) +sizeof(type)
#define LK_NO_PADDING(symbol, value, name, record)                                                 \
  _Static_assert(0 LK_KEY_##symbol##_FIELDS(LK_FIELD_SIZE) == sizeof(record),                      \
                 #record " has padding");                                                          \
  _Static_assert(sizeof(record) % 8 == 0, #record " would misalign the next record");
LK_RECORD_LIST(LK_NO_PADDING)
_Static_assert(sizeof(lk_record_prefix) == 8, "records are 8-aligned");
_Static_assert(sizeof(struct lk_key) % 8 == 0, "a copy's bytes follow its struct");

void lk_key_complete(lk_key *key) {
  if (key->partial == 0) return;
  if (key->fixed != NULL) {
    memcpy((uint8_t *)(uintptr_t)key->bytes, key->fixed->bytes, key->fixed->size);
    key->fixed = NULL;
  }
  const uint32_t fixed = lk_key_get_head(key)->fixed;
  key->hash = XXH3_64bits_withSeed(key->bytes + fixed, key->size - fixed, key->hash);
  key->partial = 0;
}

bool lk_key_equal(const lk_key *a, const lk_key *b) {
  return a->hash == b->hash && a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

lk_status lk_key_copy(const lk_allocator *allocator, const lk_key *key, lk_key **out_copy,
                      lk_error *error) {
  static _Atomic uint64_t next_serial = 1;
  *out_copy = NULL;
  const size_t size = sizeof(lk_key) + key->size;
  lk_key *copy = lk_alloc(allocator, size);
  if (copy == NULL) return lk_fail_memory(error, "a copy of a key", size);
  *copy = *key;
  copy->bytes = (uint8_t *)(copy + 1);
  copy->fixed_hash = XXH3_64bits(key->bytes, lk_key_get_head(key)->fixed);
  copy->serial = 0;
  copy->uses = NULL;
  if (lk_key_get_head(key)->fixed == key->size) {
    copy->serial = atomic_fetch_add_explicit(&next_serial, 1, memory_order_relaxed);
  }
  memcpy(copy + 1, key->bytes, key->size);
  *out_copy = copy;
  return LK_OK;
}

/* ---- reading ---- */

const lk_key_head *lk_key_get_head(const lk_key *key) {
  return (const lk_key_head *)(const void *)(key->bytes + sizeof(lk_record_prefix));
}

lk_key_reader lk_key_read(const lk_key *key) {
  return (lk_key_reader){.key = key, .offset = LK_KEY_HEAD_BYTES};
}

bool lk_key_is_of_thread(const lk_key *key) {
  lk_key_reader reader = lk_key_read(key);
  while (lk_key_next(&reader)) {
    if (reader.type != LK_RECORD_CALL) continue;
    if (((const lk_key_call *)reader.record)->thread_generation != 0) return true;
  }
  return false;
}

static uint32_t record_size(uint32_t type) {
  switch (type) {
#define LK_RECORD_SIZE(symbol, value, name, record)                                                \
  case LK_RECORD_##symbol:                                                                         \
    return sizeof(record);
    LK_RECORD_LIST(LK_RECORD_SIZE)
#undef LK_RECORD_SIZE
  default:
    return 0;
  }
}

bool lk_key_next(lk_key_reader *reader) {
  if (reader->offset >= reader->key->size) return false;
  const uint8_t *at = reader->key->bytes + reader->offset;
  lk_record_prefix prefix;
  memcpy(&prefix, at, sizeof prefix);
  reader->type = prefix.type;
  reader->record = at + sizeof prefix;
  reader->payload = at + sizeof prefix + record_size(prefix.type);
  reader->offset += prefix.size;
  return true;
}
