/* An executor that runs one operator after the other, on tensors that it finds by name. */
#pragma once

#include "operators.h"

enum { WIDTH = 48, HIDDEN = 96, CLASSES = 32, MOST_ROWS = 64, MOST_TENSORS = 5, NAME = 8 };

/* A graph with weights, which takes a tensor for each result:
 *
 *     "h" = x w1;  "a" = activation("h");  "s" = "a" * gate;  "y" = "s" w2;  "p" = softmax("y")
 *
 * or has activation, multiplication and softmax write over what they read:
 *
 *     "h" = x w1;  "h" = activation("h");  "h" = "h" * gate;  "y" = "h" w2;  "y" = softmax("y")
 */
typedef struct executor {
  lk_dnnl cache;
  activation kind;
  int is_in_place;
  weights w1, w2;
} executor;

/* Tensors by name, of one thread. */
typedef struct scope {
  struct {
    char name[NAME];
    int64_t columns;
    float *data; /* [MOST_ROWS][columns] */
  } tensors[MOST_TENSORS];
  int count;
} scope;

lk_status executor_open(const lk_dnnl *cache, activation kind, int is_in_place, float *w1,
                        float *w2, executor *out, lk_error *error);
void executor_close(executor *self);
/* Runs the graph for `x` and `gate`; any number of threads, each with a scope and a stream.
 * `*out_p` is the scope's. Of more rows than MOST_ROWS there is no tensor. */
lk_status executor_run(const executor *self, scope *names, dnnl_stream_t stream, matrix x,
                       matrix gate, matrix *out_p, lk_error *error);
/* The largest difference of `p` to what plain loops compute. */
float executor_difference(const executor *self, matrix x, matrix gate, matrix p);
void scope_close(scope *self);
