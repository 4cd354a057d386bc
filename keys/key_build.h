/* Building a key: begin, add records, finish.
 *
 * Adding is inline, because a name key is built before every look-up. A record whose length depends
 * on a rank is written at its full length, or at half of it, with sizes known when compiling, and
 * only what is used of it is kept: the next record overwrites the rest.
 */
#pragma once

#include <string.h>

#include "keys/key.h"

#define LK_KEY_INLINE_BYTES 1024

/* Builds a key on the stack, and takes memory only for one that is longer. Begin, add, finish,
 * destroy. The first failure is remembered, and finish returns it. It need not be zeroed: begin
 * sets what is read. */
typedef struct lk_key_builder {
  const lk_allocator *allocator;
  uint8_t *bytes;
  uint32_t size, capacity, fixed; /* fixed: 0 until it is sealed */
  lk_status status;
  uint64_t fixed_hash;
  const lk_key *from; /* has the bytes of the fixed part, which are not there yet; or NULL */
  alignas(8) uint8_t inline_bytes[LK_KEY_INLINE_BYTES];
} lk_key_builder;

void lk_key_begin(lk_key_builder *builder, const lk_allocator *allocator, const lk_key_head *head);
/* Begins with a fixed part that was made before (begin, add, seal, finish) and kept by lk_key_copy:
 * no hashing, and no copying before it is needed. It must stay until the key is no longer. */
static inline void lk_key_begin_from(lk_key_builder *builder, const lk_allocator *allocator,
                                     const lk_key *fixed);
/* The same with any key, all of which becomes fixed; copied at once. */
void lk_key_begin_with(lk_key_builder *builder, const lk_allocator *allocator, const lk_key *fixed);
/* The same with the fixed part of a whole key; of a copy without hashing. */
void lk_key_begin_like(lk_key_builder *builder, const lk_allocator *allocator, const lk_key *like);
/* Ends the fixed part (head.fixed is set). What is added from now on belongs to the call. */
void lk_key_seal(lk_key_builder *builder);

/* The key, valid until the builder is destroyed. Seals it if that was not done. */
lk_status lk_key_finish(lk_key_builder *builder, lk_key *out_key, lk_error *error);
/* The same without the hash and perhaps without the fixed part, which a look-up may not need. Only
 * for lk_cache_get and lk_key_complete. */
static inline lk_status lk_key_finish_partial(lk_key_builder *builder, lk_key *out_key,
                                              lk_error *error);
static inline void lk_key_builder_destroy(lk_key_builder *builder);

/* ---- beginning and ending, inline for what is built before every look-up ---- */

lk_status lk_key_finish_rare(lk_key_builder *builder, lk_key *out_key, lk_error *error);
void lk_key_builder_free(lk_key_builder *builder);

static inline void lk_key_begin_empty(lk_key_builder *builder, const lk_allocator *allocator) {
  builder->allocator = allocator;
  builder->bytes = builder->inline_bytes;
  builder->size = 0;
  builder->capacity = sizeof builder->inline_bytes;
  builder->fixed = 0;
  builder->status = LK_OK;
  builder->from = NULL;
}

static inline void lk_key_begin_from(lk_key_builder *builder, const lk_allocator *allocator,
                                     const lk_key *fixed) {
  if (fixed->serial == 0 || fixed->size > sizeof builder->inline_bytes) {
    lk_key_begin_with(builder, allocator, fixed);
    return;
  }
  lk_key_begin_empty(builder, allocator);
  builder->size = fixed->size;
  builder->fixed = fixed->size;
  builder->fixed_hash = fixed->hash;
  builder->from = fixed;
}

static inline lk_status lk_key_finish_partial(lk_key_builder *builder, lk_key *out_key,
                                              lk_error *error) {
  if (builder->status != LK_OK || builder->fixed == 0 || builder->size == builder->fixed) {
    return lk_key_finish_rare(builder, out_key, error);
  }
  *out_key = (lk_key){.hash = builder->fixed_hash,
                      .size = builder->size,
                      .partial = 1,
                      .bytes = builder->bytes,
                      .fixed = builder->from,
                      .serial = 0,
                      .fixed_hash = 0,
                      .names = 0,
                      .uses = NULL};
  return LK_OK;
}

static inline void lk_key_builder_destroy(lk_key_builder *builder) {
  if (builder->bytes != builder->inline_bytes) lk_key_builder_free(builder);
}

/* ---- adding ---- */

/* Makes room for `bytes` more; false: the builder's status says why. */
bool lk_key_grow(lk_key_builder *builder, uint64_t bytes);
/* Remembers the first failure. Returns false, so that failing is one statement. */
bool lk_key_reject(lk_key_builder *builder, lk_status status);

/* A float in a key: its bit pattern, so that 0.0 and -0.0 are different keys. */
static inline uint32_t lk_key_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* Two neighbouring fields in one store: hashing reads 8 bytes at a time right afterwards, and a
 * processor cannot forward two narrow stores to one wide load. */
static inline void lk_key_store(uint8_t *to, uint32_t first, uint32_t second) {
  const uint64_t both = first | (uint64_t)second << 32;
  memcpy(to, &both, sizeof both);
}

/* Writes the prefix of a record, and returns where the record goes. `room` bytes may be written
 * there, of which `used` (a multiple of 8, at most `room`) are kept. NULL: no room. */
static inline uint8_t *lk_key_reserve(lk_key_builder *builder, lk_record_type type, uint64_t room,
                                      uint64_t used) {
  const uint64_t prefix = sizeof(lk_record_prefix);
  if (prefix + room > builder->capacity - builder->size && !lk_key_grow(builder, prefix + room)) {
    return NULL;
  }
  uint8_t *to = builder->bytes + builder->size;
  lk_key_store(to, (uint32_t)type, (uint32_t)(prefix + used));
  builder->size += (uint32_t)(prefix + used);
  return to + prefix;
}

/* A record of `size` bytes, and where its payload of `bytes` bytes goes. */
static inline uint8_t *lk_key_put(lk_key_builder *builder, lk_record_type type, const void *record,
                                  uint32_t size, uint64_t bytes) {
  uint8_t *to = lk_key_reserve(builder, type, size + bytes, size + bytes);
  if (to == NULL) return NULL;
  memcpy(to, record, size);
  return to + size;
}

static inline void lk_key_add_call(lk_key_builder *builder, const lk_key_call *call) {
  (void)lk_key_put(builder, LK_RECORD_CALL, call, sizeof *call, 0);
}

/* The description's rank is at most LK_MAX_RANK. */
static inline void lk_key_add_tensor(lk_key_builder *builder, uint32_t role, uint32_t index,
                                     const lk_tensor_desc *desc) {
  const uint64_t dims = sizeof(lk_key_tensor), half = sizeof desc->dims / 2;
  if (desc->rank > LK_MAX_RANK) {
    (void)lk_key_reject(builder, LK_OUT_OF_RANGE);
    return;
  }
  uint8_t *to = lk_key_reserve(builder, LK_RECORD_TENSOR, dims + sizeof desc->dims,
                               dims + desc->rank * sizeof desc->dims[0]);
  if (to == NULL) return;
  lk_key_store(to + offsetof(lk_key_tensor, role), role, index);
  lk_key_store(to + offsetof(lk_key_tensor, dtype), desc->dtype, desc->layout);
  lk_key_store(to + offsetof(lk_key_tensor, rank), desc->rank, 0);
  memcpy(to + dims, desc->dims, half); /* mostly all, and in one line of the processor's cache */
  if (desc->rank > LK_MAX_RANK / 2) {
    memcpy(to + dims + half, desc->dims + LK_MAX_RANK / 2, half);
  }
}

static inline void lk_key_add_attr(lk_key_builder *builder, uint32_t name, const int64_t *values,
                                   uint32_t count) {
  const lk_key_attr_record record = {name, count};
  const uint64_t bytes = (uint64_t)count * sizeof *values;
  uint8_t *to = lk_key_put(builder, LK_RECORD_ATTR, &record, sizeof record, bytes);
  if (to != NULL && count > 0) memcpy(to, values, bytes);
}

static inline void lk_key_add_post_op(lk_key_builder *builder, const lk_key_post_op *post_op) {
  (void)lk_key_put(builder, LK_RECORD_POST_OP, post_op, sizeof *post_op, 0);
}

static inline void lk_key_add_content(lk_key_builder *builder, uint32_t role, uint32_t index,
                                      uint64_t id) {
  const lk_key_content record = {role, index, id};
  (void)lk_key_put(builder, LK_RECORD_CONTENT, &record, sizeof record, 0);
}

static inline void lk_key_add_engine(lk_key_builder *builder, const lk_key_engine *engine) {
  (void)lk_key_put(builder, LK_RECORD_ENGINE, engine, sizeof *engine, 0);
}

/* `value`: as lk_key_float. */
static inline void lk_key_add_float(lk_key_builder *builder, uint32_t name, uint32_t value) {
  const lk_key_float_record record = {name, value};
  (void)lk_key_put(builder, LK_RECORD_FLOAT, &record, sizeof record, 0);
}

/* All NaNs become one; 0.0 and -0.0 stay two. */
void lk_key_add_floats(lk_key_builder *builder, uint32_t name, const float *values, uint32_t count);
/* Any bytes; as `text` they are printed as characters. */
void lk_key_add_bytes(lk_key_builder *builder, uint32_t name, const void *bytes, uint32_t count);
void lk_key_add_text(lk_key_builder *builder, uint32_t name, const char *text, uint32_t count);

/* The tensor must be plain. */
void lk_key_add_value(lk_key_builder *builder, uint32_t role, uint32_t index,
                      const lk_tensor *tensor);
