/* Keys as bytes: beginning, finishing, comparing and reading them. Adding is in key_build.h. */
#define XXH_INLINE_ALL
#include "keys/key.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"

/* Keys are compared as bytes: there must be none that no field sets. */
#define LK_FIELD_SIZE(type, field, form) +sizeof(type)
#define LK_NO_PADDING(record, FIELDS)                                                              \
  _Static_assert(0 FIELDS(LK_FIELD_SIZE) == sizeof(record), #record " has padding");               \
  _Static_assert(sizeof(record) % 8 == 0, #record " would misalign the next record")
LK_NO_PADDING(lk_key_head, LK_KEY_HEAD_FIELDS);
LK_NO_PADDING(lk_key_call, LK_KEY_CALL_FIELDS);
LK_NO_PADDING(lk_key_tensor, LK_KEY_TENSOR_FIELDS);
LK_NO_PADDING(lk_key_attr_record, LK_KEY_ATTR_FIELDS);
LK_NO_PADDING(lk_key_post_op, LK_KEY_POST_OP_FIELDS);
LK_NO_PADDING(lk_key_content, LK_KEY_CONTENT_FIELDS);
LK_NO_PADDING(lk_key_value, LK_KEY_VALUE_FIELDS);
/* lk_key_add_tensor writes pairs of fields. */
_Static_assert(offsetof(lk_key_tensor, index) == offsetof(lk_key_tensor, role) + 4 &&
                   offsetof(lk_key_tensor, layout) == offsetof(lk_key_tensor, dtype) + 4 &&
                   offsetof(lk_key_tensor, rank) == offsetof(lk_key_tensor, extra) + 4 &&
                   sizeof(lk_key_tensor) == 24,
               "lk_key_add_tensor writes every field");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "lk_key_store puts the first field low");
_Static_assert(sizeof(lk_record_prefix) == 8, "records are 8-aligned");
_Static_assert(sizeof(struct lk_key) % 8 == 0, "a copy's bytes follow its struct");

enum { LK_HEAD_SIZE = sizeof(lk_record_prefix) + sizeof(lk_key_head) };

/* ---- building ---- */

void lk_key_reject(lk_key_builder *builder, lk_status status) {
  if (builder->status == LK_OK) builder->status = status;
}

bool lk_key_grow(lk_key_builder *builder, uint64_t bytes) {
  if (bytes > LK_KEY_MAX_BYTES - builder->size) {
    lk_key_reject(builder, LK_OUT_OF_RANGE);
    return false;
  }
  uint32_t wanted = builder->size + (uint32_t)bytes;
  if (wanted < builder->capacity * 2) wanted = builder->capacity * 2;
  uint8_t *grown = lk_alloc(builder->allocator, wanted);
  if (grown == NULL) {
    lk_key_reject(builder, LK_OUT_OF_MEMORY);
    return false;
  }
  memcpy(grown, builder->bytes, builder->size);
  if (builder->bytes != builder->inline_bytes) lk_free(builder->allocator, builder->bytes);
  builder->bytes = grown;
  builder->capacity = wanted;
  return true;
}

static void begin_empty(lk_key_builder *builder, const lk_allocator *allocator) {
  builder->allocator = allocator;
  builder->bytes = builder->inline_bytes;
  builder->size = 0;
  builder->capacity = sizeof builder->inline_bytes;
  builder->fixed = 0;
  builder->status = LK_OK;
}

void lk_key_begin(lk_key_builder *builder, const lk_allocator *allocator, const lk_key_head *head) {
  begin_empty(builder, allocator);
  (void)lk_key_put(builder, LK_RECORD_HEAD, head, sizeof *head, 0);
}

void lk_key_begin_from(lk_key_builder *builder, const lk_allocator *allocator,
                       const lk_key *fixed) {
  begin_empty(builder, allocator);
  /* On failure the head alone is there, so that there is something to read. */
  const uint32_t size = fixed->size <= builder->capacity || lk_key_grow(builder, fixed->size)
                            ? fixed->size
                            : LK_HEAD_SIZE;
  memcpy(builder->bytes, fixed->bytes, size);
  builder->size = size;
  builder->fixed = size;
  builder->fixed_hash = fixed->hash;
  /* A key with a call part already: its hash is not that of the fixed part alone. */
  if (lk_key_get_head(fixed)->fixed != fixed->size) lk_key_seal(builder);
}

void lk_key_begin_like(lk_key_builder *builder, const lk_allocator *allocator, const lk_key *like) {
  const uint32_t size = lk_key_get_head(like)->fixed;
  const lk_key fixed = {.hash = XXH3_64bits(like->bytes, size), .size = size, .bytes = like->bytes};
  lk_key_begin_from(builder, allocator, &fixed);
}

void lk_key_seal(lk_key_builder *builder) {
  builder->fixed = builder->size;
  memcpy(builder->bytes + sizeof(lk_record_prefix) + offsetof(lk_key_head, fixed), &builder->fixed,
         sizeof builder->fixed);
  builder->fixed_hash = XXH3_64bits(builder->bytes, builder->fixed);
}

void lk_key_add_value(lk_key_builder *builder, uint32_t role, uint32_t index,
                      const lk_tensor *tensor) {
  int64_t size = 0;
  lk_status status = lk_tensor_size(&tensor->desc, "a value in a key", NULL, &size, NULL);
  if (status == LK_OK && tensor->desc.layout != LK_LAYOUT_PLAIN) status = LK_INVALID_ARGUMENT;
  if (status != LK_OK) {
    lk_key_reject(builder, status);
    return;
  }
  const uint64_t bytes = (uint64_t)size;
  const lk_key_value record = {role, index, tensor->desc.dtype, tensor->desc.rank, bytes};
  const uint64_t dims = tensor->desc.rank * sizeof tensor->desc.dims[0];
  /* Also guards the sum against wrapping. */
  const uint64_t padded = bytes <= LK_KEY_MAX_BYTES ? (bytes + 7) & ~(uint64_t)7 : LK_KEY_MAX_BYTES;
  uint8_t *to = lk_key_put(builder, LK_RECORD_VALUE, &record, sizeof record, dims + padded);
  if (to == NULL) return;
  memcpy(to, tensor->desc.dims, dims);
  if (padded > 0) {
    memset(to + dims + padded - 8, 0, 8);
    memcpy(to + dims, tensor->data, bytes);
  }
}

/* Apart, so that finish stays short where nothing fails. */
static lk_status fail_finish(const lk_key_builder *builder, lk_error *error) {
  switch (builder->status) {
  case LK_OUT_OF_MEMORY:
    return lk_fail_memory(error, "a key", (size_t)builder->capacity * 2);
  case LK_OUT_OF_RANGE:
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to build a key: it is longer than %u bytes, or a rank is over %d",
                   LK_KEY_MAX_BYTES, LK_MAX_RANK);
  default:
    return lk_fail(error, builder->status,
                   "failed to build a key: a value is no plain tensor of a known type");
  }
}

lk_status lk_key_finish_unhashed(lk_key_builder *builder, lk_key *out_key, lk_error *error) {
  *out_key = (lk_key){0};
  if (builder->status != LK_OK) return fail_finish(builder, error);
  if (builder->fixed == 0) lk_key_seal(builder);
  out_key->hash = builder->fixed_hash;
  out_key->size = builder->size;
  out_key->unhashed = builder->size > builder->fixed;
  out_key->bytes = builder->bytes;
  return LK_OK;
}

void lk_key_complete(lk_key *key) {
  if (key->unhashed == 0) return;
  const uint32_t fixed = lk_key_get_head(key)->fixed;
  key->hash = XXH3_64bits_withSeed(key->bytes + fixed, key->size - fixed, key->hash);
  key->unhashed = 0;
}

lk_status lk_key_finish(lk_key_builder *builder, lk_key *out_key, lk_error *error) {
  const lk_status status = lk_key_finish_unhashed(builder, out_key, error);
  if (status == LK_OK) lk_key_complete(out_key);
  return status;
}

void lk_key_builder_release(lk_key_builder *builder) {
  if (builder->bytes == builder->inline_bytes) return;
  lk_free(builder->allocator, builder->bytes);
  builder->bytes = builder->inline_bytes;
  builder->size = 0;
  builder->capacity = sizeof builder->inline_bytes;
}

/* ---- comparing, copying ---- */

bool lk_key_equal(const lk_key *a, const lk_key *b) {
  return a->hash == b->hash && a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

lk_status lk_key_copy(const lk_allocator *allocator, const lk_key *key, lk_key **out_copy,
                      lk_error *error) {
  *out_copy = NULL;
  const size_t size = sizeof(lk_key) + key->size;
  lk_key *copy = lk_alloc(allocator, size);
  if (copy == NULL) return lk_fail_memory(error, "a copy of a key", size);
  *copy = *key;
  copy->bytes = (uint8_t *)(copy + 1);
  memcpy(copy + 1, key->bytes, key->size);
  *out_copy = copy;
  return LK_OK;
}

/* ---- reading ---- */

const lk_key_head *lk_key_get_head(const lk_key *key) {
  return (const lk_key_head *)(const void *)(key->bytes + sizeof(lk_record_prefix));
}

lk_key_reader lk_key_read(const lk_key *key) {
  return (lk_key_reader){.key = key, .offset = LK_HEAD_SIZE};
}

static uint32_t record_size(uint32_t type) {
  switch (type) {
  case LK_RECORD_HEAD:
    return sizeof(lk_key_head);
  case LK_RECORD_CALL:
    return sizeof(lk_key_call);
  case LK_RECORD_TENSOR:
    return sizeof(lk_key_tensor);
  case LK_RECORD_ATTR:
    return sizeof(lk_key_attr_record);
  case LK_RECORD_POST_OP:
    return sizeof(lk_key_post_op);
  case LK_RECORD_CONTENT:
    return sizeof(lk_key_content);
  case LK_RECORD_VALUE:
    return sizeof(lk_key_value);
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

void lk_key_add_record(lk_key_builder *builder, const lk_key_reader *reader) {
  lk_record_prefix prefix;
  memcpy(&prefix, (const uint8_t *)reader->record - sizeof prefix, sizeof prefix);
  (void)lk_key_put(builder, prefix.type, reader->record, prefix.size - (uint32_t)sizeof prefix, 0);
}

bool lk_key_find_tensor(const lk_key *key, uint32_t role, uint32_t index, lk_tensor_desc *out_desc,
                        uint32_t *out_extra) {
  lk_key_reader reader = lk_key_read(key);
  while (lk_key_next(&reader)) {
    if (reader.type != LK_RECORD_TENSOR) continue;
    const lk_key_tensor *tensor = reader.record;
    if (tensor->role != role || tensor->index != index) continue;
    if (out_desc != NULL) {
      *out_desc = lk_tensor_desc_make(tensor->dtype, tensor->rank, reader.payload);
      out_desc->layout = tensor->layout;
    }
    if (out_extra != NULL) *out_extra = tensor->extra;
    return true;
  }
  return false;
}

const int64_t *lk_key_find_attr(const lk_key *key, uint32_t name, uint32_t *out_count) {
  lk_key_reader reader = lk_key_read(key);
  while (lk_key_next(&reader)) {
    if (reader.type != LK_RECORD_ATTR) continue;
    const lk_key_attr_record *attr = reader.record;
    if (attr->name != name) continue;
    if (out_count != NULL) *out_count = attr->count;
    return reader.payload;
  }
  if (out_count != NULL) *out_count = 0;
  return NULL;
}
