/* The models on the command line of `latchkey bench`: names, files and weights. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <latchkey/base.h>

/* [NAME=]FILE.onnx, and its share of the requests. */
typedef struct bench_model_arg {
  char *name;
  const char *path; /* borrowed from argv */
  uint64_t weight;  /* 0: it gets no request */
} bench_model_arg;

typedef struct bench_models_arg {
  bench_model_arg *items;
  size_t count, capacity;
  const char *mix;       /* what --mix says, or NULL; borrowed from argv */
  uint64_t total_weight; /* more than 0, once all is read */
  char *title;           /* the file of the only one, or the names of all: "det, rec" */
} bench_models_arg;

/* Adds [NAME=]FILE, with weight 1. */
lk_status bench_models_add(bench_models_arg *models, const char *text, lk_error *error);
/* After the last one: reads `mix`, and makes the title. */
lk_status bench_models_end(bench_models_arg *models, lk_error *error);
void bench_models_clear(bench_models_arg *models);
