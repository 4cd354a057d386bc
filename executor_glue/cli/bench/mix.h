/* Which model each request is for. */
#pragma once

#include "executor_glue/cli/bench/models_arg.h"

typedef struct bench_request {
  uint32_t model;
  uint32_t index; /* among the requests of its model */
} bench_request;

/* Draws `count` requests by the weights of the models: the same for one seed. `n_of` [models]: how
 * many each model gets. */
void bench_mix_draw(const bench_models_arg *models, uint64_t seed, bench_request *out,
                    uint64_t count, uint64_t *n_of);
