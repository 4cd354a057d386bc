/* Dimensions as interned terms: a list of terms and an open-addressing index over it. */
#include "executor_glue/passes/symbolic_dim.h"

#include <string.h>

#include "base/alloc.h"

typedef enum term_kind {
  TERM_CONSTANT, /* a */
  TERM_OPEN,     /* a: serial number */
  TERM_WINDOW,   /* a: dim, b: padding - kernel, c: stride */
  TERM_AFFINE,   /* a: dim, b: factor, c: addend */
  TERM_SCALE,    /* a: dim, b: bits of the scale */
  TERM_SUM,      /* a <= b: dims */
  TERM_PRODUCT,  /* a <= b: dims */
  TERM_BROADCAST /* a <= b: dims */
} term_kind;

typedef struct term {
  int64_t kind, a, b, c;
} term;

struct lk_symbolic_dims {
  const lk_allocator *allocator;
  term *items;
  int32_t *index; /* [index_size]: item + 1, 0 for a free place; a power of two */
  size_t count, capacity, index_size;
  int64_t n_open;
  bool failed;
};

enum { FIRST_INDEX_SIZE = 256, INDEX_LOAD = 2 };

/* Arithmetic beyond this is left open: no real dimension comes near, and nothing overflows. */
static const int64_t DIM_LIMIT = (int64_t)1 << 40;

lk_symbolic_dims *lk_symbolic_dims_create(const lk_allocator *allocator) {
  lk_symbolic_dims *terms = lk_calloc(allocator, 1, sizeof *terms);
  if (terms == NULL) return NULL;
  terms->allocator = allocator;
  terms->index_size = FIRST_INDEX_SIZE;
  terms->index = lk_calloc(allocator, terms->index_size, sizeof *terms->index);
  if (terms->index == NULL) {
    lk_free(allocator, terms);
    return NULL;
  }
  return terms;
}

void lk_symbolic_dims_destroy(lk_symbolic_dims *terms) {
  if (terms == NULL) return;
  lk_free(terms->allocator, terms->items);
  lk_free(terms->allocator, terms->index);
  lk_free(terms->allocator, terms);
}

bool lk_symbolic_dims_failed(const lk_symbolic_dims *terms) {
  return terms->failed;
}

static uint64_t mix(uint64_t hash, int64_t word) {
  hash = (hash ^ (uint64_t)word) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ (hash >> 29);
}

/* The place of `wanted` in the index: its own, or the free one where it belongs. */
static size_t find_place(const lk_symbolic_dims *terms, const term *wanted) {
  uint64_t hash = mix(mix(mix(mix(0, wanted->kind), wanted->a), wanted->b), wanted->c);
  size_t place = (size_t)hash & (terms->index_size - 1);
  while (terms->index[place] != 0) {
    const term *item = &terms->items[terms->index[place] - 1];
    if (memcmp(item, wanted, sizeof *item) == 0) break;
    place = (place + 1) & (terms->index_size - 1);
  }
  return place;
}

static bool grow_index(lk_symbolic_dims *terms) {
  int32_t *grown = lk_calloc(terms->allocator, terms->index_size * 2, sizeof *grown);
  if (grown == NULL) return false;
  lk_free(terms->allocator, terms->index);
  terms->index = grown;
  terms->index_size *= 2;
  for (size_t i = 0; i < terms->count; i++) {
    terms->index[find_place(terms, &terms->items[i])] = (int32_t)i + 1;
  }
  return true;
}

static int32_t intern(lk_symbolic_dims *terms, term_kind kind, int64_t a, int64_t b, int64_t c) {
  const term wanted = {(int64_t)kind, a, b, c};
  if (terms->failed) return 0;
  size_t place = find_place(terms, &wanted);
  if (terms->index[place] != 0) return terms->index[place] - 1;
  if (terms->count >= INT32_MAX - 1 ||
      !LK_GROW(terms->allocator, terms->items, terms->count, terms->capacity)) {
    terms->failed = true;
    return 0;
  }
  terms->items[terms->count++] = wanted;
  terms->index[place] = (int32_t)terms->count;
  if (terms->count * INDEX_LOAD > terms->index_size && !grow_index(terms)) terms->failed = true;
  return (int32_t)terms->count - 1;
}

int32_t lk_dim_open(lk_symbolic_dims *terms) {
  return intern(terms, TERM_OPEN, terms->n_open++, 0, 0);
}

int32_t lk_dim_constant(lk_symbolic_dims *terms, int64_t n) {
  if (n < 0 || n > DIM_LIMIT) return lk_dim_open(terms);
  return intern(terms, TERM_CONSTANT, n, 0, 0);
}

int64_t lk_dim_value(const lk_symbolic_dims *terms, int32_t dim) {
  if (terms->failed) return -1;
  const term *item = &terms->items[dim];
  return item->kind == TERM_CONSTANT ? item->a : -1;
}

int32_t lk_dim_window(lk_symbolic_dims *terms, int32_t dim, int64_t kernel, int64_t padding,
                      int64_t stride) {
  if (stride < 1 || kernel < 1 || kernel > DIM_LIMIT || padding < -DIM_LIMIT ||
      padding > DIM_LIMIT) {
    return lk_dim_open(terms);
  }
  const int64_t delta = padding - kernel;
  if (stride == 1 && delta == -1) return dim;
  const int64_t n = lk_dim_value(terms, dim);
  if (n < 0) return intern(terms, TERM_WINDOW, dim, delta, stride);
  return n + delta < 0 ? lk_dim_open(terms) : lk_dim_constant(terms, (n + delta) / stride + 1);
}

int32_t lk_dim_affine(lk_symbolic_dims *terms, int32_t dim, int64_t factor, int64_t addend) {
  if (factor == 1 && addend == 0) return dim;
  const int64_t n = lk_dim_value(terms, dim);
  if (n < 0) return intern(terms, TERM_AFFINE, dim, factor, addend);
  int64_t result = 0;
  if (__builtin_mul_overflow(n, factor, &result) ||
      __builtin_add_overflow(result, addend, &result)) {
    return lk_dim_open(terms);
  }
  return lk_dim_constant(terms, result);
}

int32_t lk_dim_scale(lk_symbolic_dims *terms, int32_t dim, float scale) {
  if (scale == 1.0f) return dim;
  uint32_t bits = 0;
  memcpy(&bits, &scale, sizeof bits);
  return intern(terms, TERM_SCALE, dim, (int64_t)bits, 0);
}

static int32_t symmetric(lk_symbolic_dims *terms, term_kind kind, int32_t a, int32_t b) {
  return a <= b ? intern(terms, kind, a, b, 0) : intern(terms, kind, b, a, 0);
}

int32_t lk_dim_sum(lk_symbolic_dims *terms, int32_t a, int32_t b) {
  const int64_t x = lk_dim_value(terms, a), y = lk_dim_value(terms, b);
  if (x >= 0 && y >= 0) return lk_dim_constant(terms, x + y);
  return symmetric(terms, TERM_SUM, a, b);
}

int32_t lk_dim_product(lk_symbolic_dims *terms, int32_t a, int32_t b) {
  const int64_t x = lk_dim_value(terms, a), y = lk_dim_value(terms, b);
  if (x == 1) return b;
  if (y == 1) return a;
  int64_t product = 0;
  if (x >= 0 && y >= 0 && !__builtin_mul_overflow(x, y, &product)) {
    return lk_dim_constant(terms, product);
  }
  return symmetric(terms, TERM_PRODUCT, a, b);
}

int32_t lk_dim_broadcast(lk_symbolic_dims *terms, int32_t a, int32_t b) {
  if (a == b) return a;
  const int64_t x = lk_dim_value(terms, a), y = lk_dim_value(terms, b);
  if (x == 1) return b;
  if (y == 1) return a;
  /* Against a constant other than 1, the other side is 1 or the same: anything else fails to run.
   * */
  if (x >= 0) return a;
  if (y >= 0) return b;
  return symmetric(terms, TERM_BROADCAST, a, b);
}
