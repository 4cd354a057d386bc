/* Which model each request is for. */
#include "executor_glue/cli/bench/mix.h"

#include "executor_glue/cli/common/shape_arg.h"

/* The model that has the place `at` among the weights, which are laid out in a row. */
static uint32_t model_at(const bench_models_arg *models, uint64_t at) {
  uint32_t model = 0;
  for (; at >= models->items[model].weight; model++) at -= models->items[model].weight;
  return model;
}

void bench_mix_draw(const bench_models_arg *models, uint64_t seed, bench_request *out,
                    uint64_t count, uint64_t *n_of) {
  uint64_t state = splitmix(seed);
  for (size_t m = 0; m < models->count; m++) n_of[m] = 0;
  for (uint64_t r = 0; r < count; r++, state += SPLITMIX_STEP) {
    const uint32_t model = model_at(models, splitmix(state) % models->total_weight);
    out[r] = (bench_request){model, (uint32_t)n_of[model]++};
  }
}
