/* Operators on oneDNN, one handler for each: it says what it needs, gets the primitive from
 * Latchkey's cache, and runs it. */
#pragma once

#include <latchkey/onednn.h>
#include <stdint.h>

/* A matrix of f32 that its owner has. */
typedef struct matrix {
  int64_t rows, columns;
  float *data;
} matrix;

typedef enum operator_kind { MATMUL, ACTIVATION, MULTIPLY, SOFTMAX, OPERATOR_KINDS } operator_kind;
typedef enum activation { RELU, GELU } activation;

/* How often primitives were asked for and built so far, by all executors. */
typedef struct operator_counts {
  long asked, built;
} operator_counts;
operator_counts counts_of(operator_kind kind);

/* Weights of a matmul as the host has them, and as the library knows them. */
typedef struct weights {
  matrix plain;
  lk_constant *constant;
  dnnl_memory_desc_t desc; /* of `plain` */
} weights;

/* `plain.data` is lent: it stays and is not changed until weights_close. */
lk_status weights_open(const lk_dnnl *cache, matrix plain, weights *out, lk_error *error);
void weights_close(const lk_dnnl *cache, weights *self);

/* y = x w. */
lk_status run_matmul(const lk_dnnl *cache, dnnl_stream_t stream, matrix x, const weights *w,
                     matrix y, lk_error *error);
/* Each of these may write over its (first) input. */
lk_status run_activation(const lk_dnnl *cache, dnnl_stream_t stream, activation kind, matrix x,
                         matrix y, lk_error *error);
lk_status run_multiply(const lk_dnnl *cache, dnnl_stream_t stream, matrix a, matrix b, matrix y,
                       lk_error *error);
lk_status run_softmax(const lk_dnnl *cache, dnnl_stream_t stream, matrix x, matrix y,
                      lk_error *error);
