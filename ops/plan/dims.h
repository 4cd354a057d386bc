/* Dimensions of tensors before they are known, so that one set of shape rules serves every time at
 * which shapes are asked for.
 *
 * A dimension is an int64_t: from 0 on a number, LK_DIM_UNKNOWN, or below that a term of a table. A
 * term is an open number, or what a rule makes of terms: a sum, what a window makes of a dimension,
 * and so on. Terms are interned, so equal ones are equal numbers, and those are equal in every run.
 * Two terms that differ may still come out equal. Without a table (NULL) what is not a number is
 * unknown. */
#pragma once

#include <latchkey/latchkey.h>
#include <stdbool.h>

lk_dims *lk_dims_create(const lk_allocator *allocator); /* NULL: no memory */
void lk_dims_destroy(lk_dims *dims);                    /* NULL is allowed */
const lk_allocator *lk_dims_allocator(const lk_dims *dims);
/* True once a term could not be made for want of memory; it was unknown instead. */
bool lk_dims_failed(const lk_dims *dims);

/* The operators of a host's own that nodes with these dimensions may be; NULL: none. */
typedef struct lk_host_operators lk_host_operators;
void lk_dims_set_operators(lk_dims *dims, const lk_host_operators *operators);
const lk_host_operators *lk_dims_operators(const lk_dims *dims);

/* A term that is equal to nothing but itself. */
int64_t lk_dims_open(lk_dims *dims);

/* Both are numbers, and not the same. */
static inline bool lk_dims_differ(int64_t a, int64_t b) {
  return a >= 0 && b >= 0 && a != b;
}
/* Of two dimensions that must be equal for the node to run: the one that says more. */
static inline int64_t lk_dims_either(int64_t a, int64_t b) {
  return a >= 0 || b == LK_DIM_UNKNOWN ? a : b >= 0 || a == LK_DIM_UNKNOWN ? b : a;
}

/* Arithmetic. False: the numbers overflow. */
bool lk_dims_add(lk_dims *dims, int64_t a, int64_t b, int64_t *out);
bool lk_dims_multiply(lk_dims *dims, int64_t a, int64_t b, int64_t *out);
/* False: the numbers are neither equal nor 1. */
bool lk_dims_broadcast(lk_dims *dims, int64_t a, int64_t b, int64_t *out);

/* dim / divisor, where nothing is left over. */
int64_t lk_dims_divide(lk_dims *dims, int64_t dim, int64_t divisor);
/* The same by any dimension, which is not 0; LK_DIM_UNKNOWN: it does not cancel out. */
int64_t lk_dims_quotient(lk_dims *dims, int64_t dim, int64_t divisor);
/* Where `of` is 0, `product` is. */
bool lk_dims_has_factors(const lk_dims *dims, int64_t product, int64_t of);
/* The lesser one; LK_DIM_UNKNOWN: it is neither known nor a term. */
int64_t lk_dims_least(lk_dims *dims, int64_t a, int64_t b);

/* What a graph computes of dimensions are values: the same numbers and terms, LK_DIM_UNKNOWN, and
 * numbers below 0 as terms of their own. No other term is below 0. */
int64_t lk_dims_signed(lk_dims *dims, int64_t number);
/* Whether a value is a number, and which. */
bool lk_dims_number(const lk_dims *dims, int64_t value, int64_t *out);
/* Whether a value can be the dimension of a tensor: it is known, and not below 0. */
bool lk_dims_is_dim(const lk_dims *dims, int64_t value);
/* Of values; LK_DIM_UNKNOWN: no term says it. */
int64_t lk_dims_subtract(lk_dims *dims, int64_t a, int64_t b);

/* Of a dimension that is no number: floor((dim + margin) / stride) + 1 */
int64_t lk_dims_window(lk_dims *dims, int64_t dim, int64_t margin, int64_t stride);
int64_t lk_dims_linear(lk_dims *dims, int64_t dim, int64_t factor, int64_t addend);
int64_t lk_dims_scale(lk_dims *dims, int64_t dim, float scale); /* as Resize rounds it */
