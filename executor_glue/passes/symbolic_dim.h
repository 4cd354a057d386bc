/* Dimensions as interned terms: two dimensions with the same number are equal in every run.
 *
 * A term is a constant, an open number (a symbol of its own), or a function of terms: what a window
 * of convolution or pooling makes of a dimension, and so on. Functions are normalized (identities
 * dropped, constants evaluated) and interned, so that equal expressions have equal numbers. */
#ifndef LK_PASSES_SYMBOLIC_DIM_H
#define LK_PASSES_SYMBOLIC_DIM_H

#include <latchkey/base.h>
#include <stdbool.h>

typedef struct lk_symbolic_dims lk_symbolic_dims;

lk_symbolic_dims *lk_symbolic_dims_create(const lk_allocator *allocator); /* NULL: no memory */
void lk_symbolic_dims_destroy(lk_symbolic_dims *terms);                   /* NULL is allowed */
/* True once a term could not be made for want of memory; what was returned since is useless. */
bool lk_symbolic_dims_failed(const lk_symbolic_dims *terms);

int32_t lk_dim_constant(lk_symbolic_dims *terms, int64_t n); /* n < 0: an open term */
int32_t lk_dim_open(lk_symbolic_dims *terms);                /* equal to nothing but itself */
/* floor((dim + padding - kernel) / stride) + 1; kernel counts its dilation. */
int32_t lk_dim_window(lk_symbolic_dims *terms, int32_t dim, int64_t kernel, int64_t padding,
                      int64_t stride);
int32_t lk_dim_affine(lk_symbolic_dims *terms, int32_t dim, int64_t factor, int64_t addend);
int32_t lk_dim_scale(lk_symbolic_dims *terms, int32_t dim, float scale); /* Resize */
int32_t lk_dim_sum(lk_symbolic_dims *terms, int32_t a, int32_t b);
int32_t lk_dim_product(lk_symbolic_dims *terms, int32_t a, int32_t b);
int32_t lk_dim_broadcast(lk_symbolic_dims *terms, int32_t a, int32_t b);

/* The number, or -1 where it is not constant. */
int64_t lk_dim_value(const lk_symbolic_dims *terms, int32_t dim);

#endif
