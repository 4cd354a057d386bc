/* A setting that is open: sessions of all models in one context, and their requests. */
#pragma once

#include "executor_glue/cli/bench/mix.h"
#include "executor_glue/cli/bench/setting.h"
#include "executor_glue/cli/common/inputs.h"
#include "executor_glue/cli/common/model.h"

typedef struct bench_model {
  const bench_model_arg *arg;
  cli_model session;     /* in the context of the subject */
  uint64_t requests;     /* that it gets in a pass */
  input_series *series;  /* NULL: its weight is 0 */
  lk_named_tensor *rows; /* input_series_rows */
  lk_tensor *expected;   /* [requests][outputs], of bench_alone_run; NULL: nothing is checked */
} bench_model;

typedef struct bench_subject {
  bench_setting setting;
  cli_model root; /* the context */
  bench_model *models;
  uint32_t n_models;
  bench_request *requests; /* [n_requests]: a pass */
  uint64_t n_requests;
} bench_subject;

/* Opens the models. bench_subject_close is needed after a failure too. */
lk_status bench_subject_open(const bench_args *args, const bench_setting *setting,
                             bench_subject *out, lk_error *error);
void bench_subject_close(bench_subject *subject);

/* The inputs of a request, and how many there are. */
const lk_named_tensor *bench_subject_inputs(const bench_subject *subject, uint64_t request,
                                            uint32_t *out_count);
/* No earlier request of the model has the same shapes. */
bool bench_subject_is_new(const bench_subject *subject, uint64_t request);
/* How many different tuples of shapes the requests of all models have, or those of one. */
uint64_t bench_subject_distinct(const bench_subject *subject);
uint64_t bench_model_distinct(const bench_model *model);

/* Puts the name of the model before the sentence that is in `error`, where there are several, and
 * returns `status`. */
lk_status bench_model_prefix(const bench_subject *subject, uint32_t model, lk_status status,
                             lk_error *error);
