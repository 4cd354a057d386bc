/* The command line of `latchkey bench`. */
#pragma once

#include "executor_glue/cli/bench/models_arg.h"
#include "executor_glue/cli/common/cli.h"
#include "executor_glue/cli/common/compare.h"

enum { BENCH_MOST_VALUES = 12 /* of an option that takes a list: a table's columns */ };

/* The values of an option that may have several, in the order given. */
typedef struct bench_list {
  uint64_t values[BENCH_MOST_VALUES];
  uint32_t count;
} bench_list;

/* The engines that are compared, in the order given. */
typedef struct bench_engines {
  char *text;                           /* what `names` point into */
  const char *names[BENCH_MOST_VALUES]; /* the only one may be NULL: not given */
  uint32_t count;
} bench_engines;

typedef struct bench_args {
  cli_args common;
  bench_models_arg models;
  bool profile;
  bool clones; /* each caller has sessions of its own */
  bool check;  /* outputs are compared with those of each request alone */
  bench_engines engines;
  tolerance within;                    /* of outputs that are compared */
  bench_list threads, callers;         /* threads 0: not given */
  bench_list batches;                  /* 0: not given */
  uint64_t warmup_requests, warmup_ns; /* one is 0, or both */
  uint64_t duration_ns;                /* 0: two passes */
  double rate;                         /* requests per second; 0: as fast as they are answered */
  const char *latencies;               /* file, or NULL; borrowed from argv */
} bench_args;

extern const struct argp bench_argp; /* fills in a bench_args */

/* The defaults of what lists have no value for. */
void bench_args_create(bench_args *args);
void bench_args_destroy(bench_args *args);
/* How many settings there are to measure: more than one is a sweep. */
uint32_t bench_args_settings(const bench_args *args);
/* Whether FILE ends in this suffix. */
bool bench_file_is(const char *path, const char *suffix);
