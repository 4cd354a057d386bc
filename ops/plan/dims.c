/* Terms of dimensions: a list of them, and an open-addressing index over it. */
#include "ops/plan/dims.h"

#include <string.h>

#include "base/alloc.h"

typedef enum term_kind {
  TERM_OPEN,     /* a: serial number */
  TERM_WINDOW,   /* a: dimension, b: margin, c: stride */
  TERM_LINEAR,   /* a: dimension, b: factor, c: addend */
  TERM_DIVIDE,   /* a: dimension, b: divisor */
  TERM_SCALE,    /* a: dimension, b: bits of the scale */
  TERM_ADD,      /* a <= b: dimensions */
  TERM_MULTIPLY, /* a <= b: dimensions */
  TERM_BROADCAST /* a <= b: dimensions */
} term_kind;

typedef struct term {
  int64_t kind, a, b, c;
} term;

struct lk_dims {
  const lk_allocator *allocator;
  term *items;
  uint32_t *index; /* [index_size]: item + 1, 0 for a free place; a power of two */
  size_t count, capacity, index_size;
  int64_t n_open;
  bool failed;
};

enum { FIRST_INDEX_SIZE = 256, INDEX_LOAD = 2 };

/* The term `item`, as a dimension. */
static int64_t term_of(size_t item) {
  return LK_DIM_UNKNOWN - 1 - (int64_t)item;
}

lk_dims *lk_dims_create(const lk_allocator *allocator) {
  lk_dims *dims = lk_calloc(allocator, 1, sizeof *dims);
  if (dims == NULL) return NULL;
  dims->allocator = allocator;
  dims->index_size = FIRST_INDEX_SIZE;
  dims->index = lk_calloc(allocator, dims->index_size, sizeof *dims->index);
  if (dims->index != NULL) return dims;
  lk_dims_destroy(dims);
  return NULL;
}

void lk_dims_destroy(lk_dims *dims) {
  if (dims == NULL) return;
  lk_free(dims->allocator, dims->items);
  lk_free(dims->allocator, dims->index);
  lk_free(dims->allocator, dims);
}

const lk_allocator *lk_dims_allocator(const lk_dims *dims) {
  return dims->allocator;
}

bool lk_dims_failed(const lk_dims *dims) {
  return dims->failed;
}

static uint64_t mix(uint64_t hash, int64_t word) {
  hash = (hash ^ (uint64_t)word) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ (hash >> 29);
}

/* The place of `wanted` in the index: its own, or the free one where it belongs. */
static size_t find_place(const lk_dims *dims, const term *wanted) {
  uint64_t hash = mix(mix(mix(mix(0, wanted->kind), wanted->a), wanted->b), wanted->c);
  size_t place = (size_t)hash & (dims->index_size - 1);
  while (dims->index[place] != 0) {
    const term *item = &dims->items[dims->index[place] - 1];
    if (memcmp(item, wanted, sizeof *item) == 0) break;
    place = (place + 1) & (dims->index_size - 1);
  }
  return place;
}

static bool grow_index(lk_dims *dims) {
  uint32_t *grown = lk_calloc(dims->allocator, dims->index_size * 2, sizeof *grown);
  if (grown == NULL) return false;
  lk_free(dims->allocator, dims->index);
  dims->index = grown;
  dims->index_size *= 2;
  for (size_t i = 0; i < dims->count; i++) {
    dims->index[find_place(dims, &dims->items[i])] = (uint32_t)i + 1;
  }
  return true;
}

/* `a` is the operand that is no number, or the lesser one; unknown, it makes the term unknown. */
static int64_t intern(lk_dims *dims, term_kind kind, int64_t a, int64_t b, int64_t c) {
  const term wanted = {(int64_t)kind, a, b, c};
  if (dims == NULL || dims->failed || a == LK_DIM_UNKNOWN) return LK_DIM_UNKNOWN;
  const size_t place = find_place(dims, &wanted);
  if (dims->index[place] != 0) return term_of(dims->index[place] - 1);
  if (dims->count >= INT32_MAX - 1 ||
      !LK_GROW(dims->allocator, dims->items, dims->count, dims->capacity)) {
    dims->failed = true;
    return LK_DIM_UNKNOWN;
  }
  dims->items[dims->count++] = wanted;
  dims->index[place] = (uint32_t)dims->count;
  if (dims->count * INDEX_LOAD > dims->index_size && !grow_index(dims)) dims->failed = true;
  return term_of(dims->count - 1);
}

static int64_t symmetric(lk_dims *dims, term_kind kind, int64_t a, int64_t b) {
  if (a == LK_DIM_UNKNOWN || b == LK_DIM_UNKNOWN) return LK_DIM_UNKNOWN;
  return a <= b ? intern(dims, kind, a, b, 0) : intern(dims, kind, b, a, 0);
}

int64_t lk_dims_open(lk_dims *dims) {
  return intern(dims, TERM_OPEN, dims->n_open++, 0, 0);
}

bool lk_dims_add(lk_dims *dims, int64_t a, int64_t b, int64_t *out) {
  if (a >= 0 && b >= 0) return !__builtin_add_overflow(a, b, out);
  *out = a == 0 ? b : b == 0 ? a : symmetric(dims, TERM_ADD, a, b);
  return true;
}

bool lk_dims_multiply(lk_dims *dims, int64_t a, int64_t b, int64_t *out) {
  if (a >= 0 && b >= 0) return !__builtin_mul_overflow(a, b, out);
  *out = a == 0 || b == 0 ? 0 : a == 1 ? b : b == 1 ? a : symmetric(dims, TERM_MULTIPLY, a, b);
  return true;
}

bool lk_dims_broadcast(lk_dims *dims, int64_t a, int64_t b, int64_t *out) {
  if (lk_dims_differ(a, b) && a != 1 && b != 1) return false;
  if (a == b || b == 1) {
    *out = a;
  } else if (a == 1) {
    *out = b;
  } else if (a >= 0 || b >= 0) {
    /* against a number other than 1, the other side is 1 or the same: anything else fails to run */
    *out = a >= 0 ? a : b;
  } else {
    *out = symmetric(dims, TERM_BROADCAST, a, b);
  }
  return true;
}

int64_t lk_dims_divide(lk_dims *dims, int64_t dim, int64_t divisor) {
  if (dim >= 0) return dim / divisor;
  return divisor == 1 ? dim : intern(dims, TERM_DIVIDE, dim, divisor, 0);
}

int64_t lk_dims_window(lk_dims *dims, int64_t dim, int64_t margin, int64_t stride) {
  return margin == -1 && stride == 1 ? dim : intern(dims, TERM_WINDOW, dim, margin, stride);
}

int64_t lk_dims_linear(lk_dims *dims, int64_t dim, int64_t factor, int64_t addend) {
  return factor == 1 && addend == 0 ? dim : intern(dims, TERM_LINEAR, dim, factor, addend);
}

int64_t lk_dims_scale(lk_dims *dims, int64_t dim, float scale) {
  uint32_t bits = 0;
  memcpy(&bits, &scale, sizeof bits);
  return scale == 1.0F ? dim : intern(dims, TERM_SCALE, dim, (int64_t)bits, 0);
}
