/* Terms of dimensions: a list of them, and an open-addressing index over it. Sums and products are
 * kept in one order, so that they are equal however they were made. */
#include "ops/plan/dims.h"

#include <string.h>

#include "base/alloc.h"

typedef enum term_kind {
  TERM_OPEN,     /* a: serial number */
  TERM_WINDOW,   /* a: dimension, b: margin, c: stride */
  TERM_LINEAR,   /* a: dimension, b: factor, c: addend */
  TERM_DIVIDE,   /* a: dimension, b: divisor */
  TERM_SCALE,    /* a: dimension, b: bits of the scale */
  TERM_LEAST,    /* a: dimension, b: a number from 1 on */
  TERM_NUMBER,   /* b: a number below 0 */
  TERM_ADD,      /* a: dimension, also a sum; b: no sum, a number last */
  TERM_MULTIPLY, /* a: dimension, also a product; b: no product, a number last */
  TERM_BROADCAST /* a <= b: dimensions */
} term_kind;

typedef struct term {
  int64_t kind, a, b, c;
} term;

struct lk_dims {
  const lk_allocator *allocator;
  const lk_host_operators *operators;
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

void lk_dims_set_operators(lk_dims *dims, const lk_host_operators *operators) {
  dims->operators = operators;
}

const lk_host_operators *lk_dims_operators(const lk_dims *dims) {
  return dims->operators;
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

/* NULL: it is a number, or unknown. */
static const term *find_term(const lk_dims *dims, int64_t dim) {
  return dims != NULL && dim < LK_DIM_UNKNOWN ? &dims->items[LK_DIM_UNKNOWN - 1 - dim] : NULL;
}

int64_t lk_dims_signed(lk_dims *dims, int64_t number) {
  return number >= 0 ? number : intern(dims, TERM_NUMBER, 0, number, 0);
}

bool lk_dims_number(const lk_dims *dims, int64_t value, int64_t *out) {
  const term *of = find_term(dims, value);
  if (value < 0 && (of == NULL || of->kind != TERM_NUMBER)) return false;
  *out = of != NULL ? of->b : value;
  return true;
}

bool lk_dims_is_dim(const lk_dims *dims, int64_t value) {
  const term *of = find_term(dims, value);
  return value >= 0 || (of != NULL && of->kind != TERM_NUMBER);
}

/* ---- sums and products ---- */

/* What a sum or a product is made of: a number, and terms in order. */
typedef struct parts {
  term_kind kind;
  int64_t number;
  uint32_t count;
  int64_t items[16];
} parts;

static bool add_number(parts *to, int64_t number) {
  return to->kind == TERM_ADD ? !__builtin_add_overflow(to->number, number, &to->number)
                              : !__builtin_mul_overflow(to->number, number, &to->number);
}

/* False: there are too many, or a value is not known. */
static bool add_parts(const lk_dims *dims, int64_t value, parts *to) {
  int64_t number;
  const term *of = find_term(dims, value);
  for (; of != NULL && of->kind == (int64_t)to->kind; of = find_term(dims, value)) {
    if (!add_parts(dims, of->b, to)) return false;
    value = of->a;
  }
  if (lk_dims_number(dims, value, &number)) return add_number(to, number);
  if (value == LK_DIM_UNKNOWN || to->count == sizeof to->items / sizeof *to->items) return false;
  uint32_t at = to->count++;
  for (; at > 0 && to->items[at - 1] > value; at--) to->items[at] = to->items[at - 1];
  to->items[at] = value;
  return true;
}

static parts no_parts(term_kind kind) {
  return (parts){.kind = kind, .number = kind == TERM_MULTIPLY ? 1 : 0};
}

/* Takes the terms of `of` out of `from`. False: it lacks one. */
static bool take_parts(parts *from, const parts *of) {
  for (uint32_t i = 0; i < of->count; i++) {
    uint32_t at = 0;
    while (at < from->count && from->items[at] != of->items[i]) at++;
    if (at == from->count) return false;
    from->count--;
    for (; at < from->count; at++) from->items[at] = from->items[at + 1];
  }
  return true;
}

/* Unknown: it may be below 0, as no term but a number is. */
static int64_t join(lk_dims *dims, const parts *of) {
  const bool is_zero = of->kind == TERM_MULTIPLY && of->number == 0;
  if (of->count == 0 || is_zero) return lk_dims_signed(dims, of->number);
  if (of->number < 0) return LK_DIM_UNKNOWN;
  int64_t made = of->items[0];
  for (uint32_t i = 1; i < of->count; i++) made = intern(dims, of->kind, made, of->items[i], 0);
  if (of->number == no_parts(of->kind).number) return made;
  return intern(dims, of->kind, made, of->number, 0);
}

static int64_t join_two(lk_dims *dims, term_kind kind, int64_t a, int64_t b) {
  parts both = no_parts(kind);
  if (!add_parts(dims, a, &both) || !add_parts(dims, b, &both)) return LK_DIM_UNKNOWN;
  return join(dims, &both);
}

bool lk_dims_add(lk_dims *dims, int64_t a, int64_t b, int64_t *out) {
  if (a >= 0 && b >= 0) return !__builtin_add_overflow(a, b, out);
  *out = join_two(dims, TERM_ADD, a, b);
  return true;
}

int64_t lk_dims_subtract(lk_dims *dims, int64_t a, int64_t b) {
  parts from = no_parts(TERM_ADD), of = no_parts(TERM_ADD);
  if (!add_parts(dims, a, &from) || !add_parts(dims, b, &of) || !take_parts(&from, &of) ||
      __builtin_sub_overflow(from.number, of.number, &from.number)) {
    return LK_DIM_UNKNOWN;
  }
  return join(dims, &from);
}

bool lk_dims_multiply(lk_dims *dims, int64_t a, int64_t b, int64_t *out) {
  if (a >= 0 && b >= 0) return !__builtin_mul_overflow(a, b, out);
  *out = a == 0 || b == 0 ? 0 : join_two(dims, TERM_MULTIPLY, a, b);
  return true;
}

/* Terms hang together as a model likes: in long chains, and with the same term on many ways. So a
 * search looks at so many terms, and what it has not found by then is not known. */
enum { MOST_LOOKS = 256 };

static const term *look_at(const lk_dims *dims, int64_t dim, uint32_t *looks) {
  return (*looks)++ < MOST_LOOKS ? find_term(dims, dim) : NULL;
}

/* Where `of` is 0, `dim` is. */
static bool ends_with(const lk_dims *dims, int64_t dim, int64_t of, uint32_t *looks) {
  const term *made = look_at(dims, dim, looks);
  if (dim == of) return true;
  return made != NULL && ((made->kind == TERM_LEAST && ends_with(dims, made->a, of, looks)) ||
                          (made->kind == TERM_BROADCAST && (ends_with(dims, made->a, of, looks) ||
                                                            ends_with(dims, made->b, of, looks))));
}

bool lk_dims_has_factors(const lk_dims *dims, int64_t product, int64_t of) {
  parts whole = no_parts(TERM_MULTIPLY), wanted = whole;
  if (!add_parts(dims, product, &whole) || !add_parts(dims, of, &wanted)) return false;
  bool has = true;
  for (uint32_t i = 0; has && i < wanted.count; i++) {
    has = false;
    for (uint32_t k = 0; k < whole.count && !has; k++) {
      uint32_t looks = 0;
      has = ends_with(dims, whole.items[k], wanted.items[i], &looks);
    }
  }
  return has && wanted.number != 0;
}

int64_t lk_dims_quotient(lk_dims *dims, int64_t dim, int64_t divisor) {
  parts from = no_parts(TERM_MULTIPLY), of = from;
  if (!add_parts(dims, dim, &from) || !add_parts(dims, divisor, &of) || of.number <= 0 ||
      !take_parts(&from, &of)) {
    return LK_DIM_UNKNOWN;
  }
  return lk_dims_divide(dims, join(dims, &from), of.number);
}

/* The first b of what is there, if it is so much, against all of b: either none is lacking, or one
 * is there, which is broadcast. */
static bool is_least_of(const lk_dims *dims, int64_t dim, int64_t b) {
  const term *of = find_term(dims, dim);
  return of != NULL && of->kind == TERM_LEAST && of->a == b;
}

/* What was broadcast to b already. */
static bool met(const lk_dims *dims, int64_t dim, int64_t b, uint32_t *looks) {
  const term *of = look_at(dims, dim, looks);
  return of != NULL && of->kind == TERM_BROADCAST &&
         (of->a == b || of->b == b || met(dims, of->a, b, looks) || met(dims, of->b, b, looks));
}

static bool has_met(const lk_dims *dims, int64_t dim, int64_t b) {
  uint32_t looks = 0;
  return met(dims, dim, b, &looks);
}

bool lk_dims_broadcast(lk_dims *dims, int64_t a, int64_t b, int64_t *out) {
  if (lk_dims_differ(a, b) && a != 1 && b != 1) return false;
  if (a == b || b == 1 || is_least_of(dims, b, a) || has_met(dims, a, b)) {
    *out = a;
  } else if (a == 1 || is_least_of(dims, a, b) || has_met(dims, b, a)) {
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
  parts of = no_parts(TERM_MULTIPLY);
  if (dim >= 0) return dim / divisor;
  if (add_parts(dims, dim, &of) && of.number % divisor == 0) {
    of.number /= divisor;
    return join(dims, &of);
  }
  return intern(dims, TERM_DIVIDE, dim, divisor, 0);
}

int64_t lk_dims_least(lk_dims *dims, int64_t a, int64_t b) {
  if (a == b) return a;
  if (a >= 0 && b >= 0) return a < b ? a : b;
  const int64_t open = a < 0 ? a : b, number = a < 0 ? b : a;
  return number >= 1 ? intern(dims, TERM_LEAST, open, number, 0) : LK_DIM_UNKNOWN;
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
