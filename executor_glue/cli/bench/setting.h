/* A setting that is measured: an engine, a number of threads, of callers, and a batch. */
#pragma once

#include "executor_glue/cli/bench/args.h"

typedef struct bench_setting {
  const char *engine; /* one of several that are compared, borrowed from bench_args; else NULL */
  int32_t threads;    /* 0: the library's default */
  uint32_t callers;
  int64_t batch; /* 0: none is given */
} bench_setting;

/* Setting `index` < bench_args_settings: the engine changes first, then the batch, the callers and
 * the threads. So settings that differ in nothing but the engine follow each other. */
bench_setting bench_setting_at(const bench_args *args, uint32_t index);

/* The options of the library at a setting. */
model_args bench_setting_options(const bench_args *args, const bench_setting *setting);

/* "onednn, 2 threads, 1 caller, batch 4" */
#define BENCH_SETTING_CAPACITY 160
const char *bench_setting_text(const bench_setting *setting, char buffer[BENCH_SETTING_CAPACITY]);
/* Puts it before the sentence that is in `error`, where there are several, and returns `status`. */
lk_status bench_setting_prefix(const bench_args *args, const bench_setting *setting,
                               lk_status status, lk_error *error);
