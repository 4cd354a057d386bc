/* Arithmetic on tensor descriptions, with overflow checked. */
#pragma once

#include <latchkey/base.h>
#include <stdbool.h>
#include <string.h>

size_t lk_dtype_size(uint32_t dtype);      /* bytes of an element; 0: unknown type */
const char *lk_dtype_name(uint32_t dtype); /* "f32"; "?" for an unknown type */
/* The name of any type that ONNX has a number for, "f32" or "float8e4m3fn"; of another number,
 * "99 (no element type of ONNX)". The result may be `buffer`. */
#define LK_DTYPE_TEXT_CAPACITY 64
const char *lk_dtype_text(int64_t dtype, char buffer[LK_DTYPE_TEXT_CAPACITY]);
/* "f32", "f32 and f64", "f32, f16 and f64": those whose bit is set in `types`. */
void lk_dtypes_text(uint32_t types, char *buffer, size_t capacity);
uint32_t lk_dtype_parse(const char *name, size_t length); /* LK_DTYPE_NONE: unknown name */

/* A plain description. */
lk_tensor_desc lk_tensor_desc_make(uint32_t dtype, uint32_t rank, const int64_t *dims);
/* Same type, rank, dimensions and layout; as a few word comparisons in the caller's code, for paths
 * that are nothing but this. */
static inline bool lk_tensor_desc_same(const lk_tensor_desc *a, const lk_tensor_desc *b) {
  uint64_t head_a[2], head_b[2];
  memcpy(head_a, a, sizeof head_a);
  memcpy(head_b, b, sizeof head_b);
  int64_t differ = (int64_t)((head_a[0] ^ head_b[0]) | (head_a[1] ^ head_b[1]));
  if (differ != 0) return false;
  const uint32_t rank = a->rank <= LK_MAX_RANK ? a->rank : LK_MAX_RANK;
  for (uint32_t i = 0; i < rank; i++) differ |= a->dims[i] ^ b->dims[i];
  return differ == 0;
}
/* Same rank and dimensions. */
bool lk_shape_equal(const lk_tensor_desc *a, const lk_tensor_desc *b);

/* No tensor is larger: it is what an address space has. So arithmetic on sizes of one tensor needs
 * no checks of its own, as long as it multiplies by less than 2^16. */
#define LK_TENSOR_MAX_BYTES ((int64_t)1 << 47)

/* Checks type, rank and dimensions (each >= 0), and that there are not more than
 * LK_TENSOR_MAX_BYTES; of an empty tensor, neither are there along the dimensions that are not 0,
 * which plans multiply too. Either out pointer may be NULL. The sentence names `what`. */
lk_status lk_tensor_size(const lk_tensor_desc *desc, const char *what, int64_t *out_elements,
                         int64_t *out_bytes, lk_error *error);
/* Number of elements of a description that lk_tensor_size has accepted. */
static inline int64_t lk_elements(const lk_tensor_desc *desc) {
  int64_t elements = 1;
  for (uint32_t i = 0; i < desc->rank; i++) elements *= desc->dims[i];
  return elements;
}

/* "1x3x48x320:f32" (with "@2" behind it for layout 2; plain has none); "scalar:f32" for rank 0. */
#define LK_TENSOR_TEXT_CAPACITY 192
const char *lk_tensor_text(const lk_tensor_desc *desc, char buffer[LK_TENSOR_TEXT_CAPACITY]);
