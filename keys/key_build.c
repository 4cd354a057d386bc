/* Building a key: what is not inline in key_build.h. */
#define XXH_INLINE_ALL
#include "keys/key_build.h"

#include <xxhash.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"

/* lk_key_add_tensor writes pairs of fields. */
_Static_assert(offsetof(lk_key_tensor, index) == offsetof(lk_key_tensor, role) + 4 &&
                   offsetof(lk_key_tensor, layout) == offsetof(lk_key_tensor, dtype) + 4 &&
                   sizeof(lk_key_tensor) == 24,
               "lk_key_add_tensor writes every field");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "lk_key_store puts the first field low");

bool lk_key_reject(lk_key_builder *builder, lk_status status) {
  if (builder->status == LK_OK) builder->status = status;
  return false;
}

/* The bytes of the fixed part, if they are not there yet. */
static void fill_fixed(lk_key_builder *builder) {
  if (builder->from == NULL) return;
  memcpy(builder->bytes, builder->from->bytes, builder->from->size);
  builder->from = NULL;
}

bool lk_key_grow(lk_key_builder *builder, uint64_t bytes) {
  if (bytes > LK_KEY_MAX_BYTES - builder->size) return lk_key_reject(builder, LK_OUT_OF_RANGE);
  uint32_t wanted = builder->size + (uint32_t)bytes;
  if (wanted < builder->capacity * 2) wanted = builder->capacity * 2;
  /* What there is room for is added without asking again, so there is never room for more. */
  if (wanted > LK_KEY_MAX_BYTES) wanted = LK_KEY_MAX_BYTES;
  uint8_t *grown = lk_alloc(builder->allocator, wanted);
  if (grown == NULL) return lk_key_reject(builder, LK_OUT_OF_MEMORY);
  fill_fixed(builder);
  memcpy(grown, builder->bytes, builder->size);
  if (builder->bytes != builder->inline_bytes) lk_free(builder->allocator, builder->bytes);
  builder->bytes = grown;
  builder->capacity = wanted;
  return true;
}

void lk_key_begin(lk_key_builder *builder, const lk_allocator *allocator, const lk_key_head *head) {
  lk_key_begin_empty(builder, allocator);
  (void)lk_key_put(builder, LK_RECORD_HEAD, head, sizeof *head, 0);
}

void lk_key_begin_with(lk_key_builder *builder, const lk_allocator *allocator,
                       const lk_key *fixed) {
  lk_key_begin_empty(builder, allocator);
  /* On failure the head alone is there, so that there is something to read. */
  const uint32_t size = fixed->size <= builder->capacity || lk_key_grow(builder, fixed->size)
                            ? fixed->size
                            : LK_KEY_HEAD_BYTES;
  memcpy(builder->bytes, fixed->bytes, size);
  builder->size = size;
  builder->fixed = size;
  builder->fixed_hash = fixed->hash;
  /* A key with a call part already: its hash is not that of the fixed part alone. */
  if (lk_key_get_head(fixed)->fixed != fixed->size) lk_key_seal(builder);
}

void lk_key_begin_like(lk_key_builder *builder, const lk_allocator *allocator, const lk_key *like) {
  const uint32_t size = lk_key_get_head(like)->fixed;
  const uint64_t hash = like->fixed_hash != 0 ? like->fixed_hash : XXH3_64bits(like->bytes, size);
  const lk_key fixed = {.hash = hash, .size = size, .bytes = like->bytes};
  lk_key_begin_with(builder, allocator, &fixed);
}

void lk_key_seal(lk_key_builder *builder) {
  fill_fixed(builder);
  builder->fixed = builder->size;
  memcpy(builder->bytes + sizeof(lk_record_prefix) + offsetof(lk_key_head, fixed), &builder->fixed,
         sizeof builder->fixed);
  builder->fixed_hash = XXH3_64bits(builder->bytes, builder->fixed);
}

/* A record, and where its payload of `bytes` bytes goes, behind which there are zeros up to the
 * next record. NULL: no room. */
static uint8_t *put_padded(lk_key_builder *builder, lk_record_type type, const void *record,
                           uint32_t record_bytes, uint64_t bytes) {
  const uint64_t most = LK_KEY_MAX_BYTES; /* longer ones are refused, and must not wrap */
  const uint64_t padded = ((bytes < most ? bytes : most) + 7) & ~(uint64_t)7;
  uint8_t *to = lk_key_put(builder, type, record, record_bytes, padded);
  if (to != NULL && padded > 0) memset(to + padded - 8, 0, 8);
  return to;
}

static uint8_t *put_attr(lk_key_builder *builder, lk_record_type type, uint32_t name,
                         uint32_t count, uint64_t bytes) {
  const lk_key_attr_record record = {name, count};
  return put_padded(builder, type, &record, sizeof record, bytes);
}

void lk_key_add_floats(lk_key_builder *builder, uint32_t name, const float *values,
                       uint32_t count) {
  static const uint32_t infinity = 0x7f800000, one_nan = 0x7fc00000;
  uint8_t *to = put_attr(builder, LK_RECORD_FLOATS, name, count, (uint64_t)count * sizeof *values);
  for (uint32_t i = 0; to != NULL && i < count; i++) {
    uint32_t bits = 0;
    memcpy(&bits, values + i, sizeof bits);
    if ((bits & 0x7fffffff) > infinity) bits = one_nan;
    memcpy(to + i * sizeof bits, &bits, sizeof bits);
  }
}

void lk_key_add_bytes(lk_key_builder *builder, uint32_t name, const void *bytes, uint32_t count) {
  uint8_t *to = put_attr(builder, LK_RECORD_BYTES, name, count, count);
  if (to != NULL && count > 0) memcpy(to, bytes, count);
}

void lk_key_add_text(lk_key_builder *builder, uint32_t name, const char *text, uint32_t count) {
  uint8_t *to = put_attr(builder, LK_RECORD_TEXT, name, count, count);
  if (to != NULL && count > 0) memcpy(to, text, count);
}

void lk_key_add_value(lk_key_builder *builder, uint32_t role, uint32_t index,
                      const lk_tensor *tensor) {
  int64_t size = 0;
  lk_status status = lk_tensor_size(&tensor->desc, "a value in a key", NULL, &size, NULL);
  if (status == LK_OK && tensor->desc.layout != LK_LAYOUT_PLAIN) status = LK_INVALID_ARGUMENT;
  if (status != LK_OK) {
    (void)lk_key_reject(builder, status);
    return;
  }
  const uint64_t bytes = (uint64_t)size;
  const lk_key_value record = {role, index, tensor->desc.dtype, tensor->desc.rank, bytes};
  const uint64_t dims = tensor->desc.rank * sizeof tensor->desc.dims[0];
  uint8_t *to = put_padded(builder, LK_RECORD_VALUE, &record, sizeof record, dims + bytes);
  if (to == NULL) return;
  memcpy(to, tensor->desc.dims, dims);
  if (bytes > 0) memcpy(to + dims, tensor->data, bytes);
}

/* A function of its own, so that finish stays short where nothing fails. */
static lk_status fail_finish(const lk_key_builder *builder, lk_error *error) {
  switch (builder->status) {
  case LK_OUT_OF_MEMORY:
    return lk_fail_memory(error, "a key", (size_t)builder->capacity * 2);
  case LK_OUT_OF_RANGE:
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to build a key: it is longer than the %u bytes that are allowed, or a "
                   "rank is over %d",
                   LK_KEY_MAX_BYTES, LK_MAX_RANK);
  default:
    return lk_fail(error, builder->status,
                   "failed to build a key: a value has a layout or an element type that is not "
                   "known, a plain tensor is required");
  }
}

lk_status lk_key_finish_rare(lk_key_builder *builder, lk_key *out_key, lk_error *error) {
  *out_key = (lk_key){0};
  if (builder->status != LK_OK) return fail_finish(builder, error);
  if (builder->fixed == 0) lk_key_seal(builder);
  fill_fixed(builder);
  out_key->hash = builder->fixed_hash;
  out_key->size = builder->size;
  out_key->partial = builder->size > builder->fixed;
  out_key->bytes = builder->bytes;
  return LK_OK;
}

lk_status lk_key_finish(lk_key_builder *builder, lk_key *out_key, lk_error *error) {
  const lk_status status = lk_key_finish_rare(builder, out_key, error);
  if (status == LK_OK) lk_key_complete(out_key);
  return status;
}

void lk_key_builder_free(lk_key_builder *builder) {
  lk_free(builder->allocator, builder->bytes);
  builder->bytes = builder->inline_bytes;
  builder->size = 0;
  builder->capacity = sizeof builder->inline_bytes;
}
