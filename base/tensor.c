/* Arithmetic on tensor descriptions, with overflow checked. */
#include "base/tensor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"

/* By lk_dtype, which has gaps. */
static const struct {
  const char *name; /* NULL: a gap */
  size_t size;
} dtypes[] = {
#define LK_DTYPE_ROW(symbol, value, bytes, name) [symbol] = {name, bytes},
    LK_DTYPE_LIST(LK_DTYPE_ROW)
#undef LK_DTYPE_ROW
};

enum { N_DTYPES = sizeof dtypes / sizeof dtypes[0] };

size_t lk_dtype_size(uint32_t dtype) {
  return dtype < N_DTYPES ? dtypes[dtype].size : 0;
}

const char *lk_dtype_name(uint32_t dtype) {
  return dtype < N_DTYPES && dtypes[dtype].name != NULL ? dtypes[dtype].name : "?";
}

const char *lk_dtype_text(int64_t dtype, char buffer[LK_DTYPE_TEXT_CAPACITY]) {
  /* By ONNX's numbers; those that are missing here have rows in LK_DTYPE_LIST. */
  static const char *const others[] = {
      [0] = "undefined",     [8] = "string",          [14] = "complex64",  [15] = "complex128",
      [17] = "float8e4m3fn", [18] = "float8e4m3fnuz", [19] = "float8e5m2", [20] = "float8e5m2fnuz",
      [21] = "uint4",        [22] = "int4",           [23] = "float4e2m1", [24] = "float8e8m0",
      [25] = "uint2",        [26] = "int2",           [27] = "float6e2m3", [28] = "float6e3m2"};
  if (dtype >= 0 && dtype < N_DTYPES && dtypes[dtype].name != NULL) return dtypes[dtype].name;
  if (dtype >= 0 && dtype < (int64_t)(sizeof others / sizeof others[0]) && others[dtype] != NULL) {
    return others[dtype];
  }
  (void)snprintf(buffer, LK_DTYPE_TEXT_CAPACITY, "%" PRId64 " (no element type of ONNX)", dtype);
  return buffer;
}

uint32_t lk_dtype_parse(const char *name, size_t length) {
  for (uint32_t i = 0; i < N_DTYPES; i++) {
    if (dtypes[i].name != NULL && strlen(dtypes[i].name) == length &&
        memcmp(dtypes[i].name, name, length) == 0) {
      return i;
    }
  }
  return LK_DTYPE_NONE;
}

lk_tensor_desc lk_tensor_desc_make(uint32_t dtype, uint32_t rank, const int64_t *dims) {
  lk_tensor_desc desc = {.dtype = dtype, .rank = rank};
  for (uint32_t i = 0; i < rank && i < LK_MAX_RANK; i++) desc.dims[i] = dims[i];
  return desc;
}

bool lk_shape_equal(const lk_tensor_desc *a, const lk_tensor_desc *b) {
  return a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof a->dims[0]) == 0;
}

lk_status lk_tensor_size(const lk_tensor_desc *desc, const char *what, int64_t *out_elements,
                         int64_t *out_bytes, lk_error *error) {
  size_t size = lk_dtype_size(desc->dtype);
  if (size == 0) {
    char type[LK_DTYPE_TEXT_CAPACITY];
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to size %s: its element type is %s, which is not supported", what,
                   lk_dtype_text(desc->dtype, type));
  }
  if (desc->rank > LK_MAX_RANK) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to size %s: it has rank %" PRIu32 ", at most %d is supported", what,
                   desc->rank, LK_MAX_RANK);
  }
  int64_t bytes = (int64_t)size;
  bool empty = false, overflows = false;
  for (uint32_t i = 0; i < desc->rank; i++) {
    if (desc->dims[i] < 0) {
      return lk_fail(error, LK_OUT_OF_RANGE,
                     "failed to size %s: dimension %" PRIu32 " is %" PRId64
                     ", it must be at least 0",
                     what, i, desc->dims[i]);
    }
    const bool is_none = desc->dims[i] == 0;
    empty = empty || is_none;
    overflows = __builtin_mul_overflow(bytes, desc->dims[i] + is_none, &bytes) || overflows;
  }
  if (overflows || bytes > LK_TENSOR_MAX_BYTES) {
    char text[LK_TENSOR_TEXT_CAPACITY];
    return lk_fail(error, LK_OUT_OF_RANGE, "failed to size %s: %s has more than 2^47 bytes%s", what,
                   lk_tensor_text(desc, text), empty ? " but for its dimensions of 0" : "");
  }
  if (empty) bytes = 0;
  if (out_bytes != NULL) *out_bytes = bytes;
  if (out_elements != NULL) *out_elements = bytes >> __builtin_ctzll(size); /* a power of two */
  return LK_OK;
}

const char *lk_tensor_text(const lk_tensor_desc *desc, char buffer[LK_TENSOR_TEXT_CAPACITY]) {
  size_t used = 0;
  uint32_t rank = desc->rank <= LK_MAX_RANK ? desc->rank : LK_MAX_RANK;
  if (rank == 0) used = (size_t)snprintf(buffer, LK_TENSOR_TEXT_CAPACITY, "scalar");
  for (uint32_t i = 0; i < rank; i++) {
    used += (size_t)snprintf(buffer + used, LK_TENSOR_TEXT_CAPACITY - used, "%s%" PRId64,
                             i > 0 ? "x" : "", desc->dims[i]);
  }
  used += (size_t)snprintf(buffer + used, LK_TENSOR_TEXT_CAPACITY - used, ":%s",
                           lk_dtype_name(desc->dtype));
  if (desc->layout != LK_LAYOUT_PLAIN) {
    (void)snprintf(buffer + used, LK_TENSOR_TEXT_CAPACITY - used, "@%" PRIu32, desc->layout);
  }
  return buffer;
}

void lk_dtypes_text(uint32_t types, char *buffer, size_t capacity) {
  size_t used = 0;
  buffer[0] = '\0';
  for (uint32_t dtype = 0; dtype < 32 && used < capacity; dtype++) {
    if ((types >> dtype & 1) == 0) continue;
    const char *before = used == 0 ? "" : types >> dtype == 1 ? " and " : ", ";
    used += (size_t)snprintf(buffer + used, capacity - used, "%s%s", before, lk_dtype_name(dtype));
  }
}
