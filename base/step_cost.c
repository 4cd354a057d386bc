#include "base/step_cost.h"

/* Medians of one core with AVX-512, over the steps of the light models, the OCR models and
 * generated graphs, the best of 40 to 150 runs each: convolutions of 0.1 ms and more (0.0042 to
 * 0.0046; smaller ones up to 0.007), what moves data (0.012 to 0.02, from its cache), the smallest
 * steps. And what a team costs to begin and end, which divides those graphs best. Only their ratios
 * matter. */
#define NS_PER_FLOP 0.005
#define NS_PER_BYTE 0.015
#define NS_PER_STEP 1000.0
#define NS_PER_TEAM 700.0

double lk_step_cost(double flops, double bytes) {
  const double compute = NS_PER_FLOP * flops, memory = NS_PER_BYTE * bytes;
  return NS_PER_STEP + (compute > memory ? compute : memory);
}

double lk_step_cost_shared(double cost, int32_t threads) {
  const double shared = NS_PER_STEP + NS_PER_TEAM + (cost - NS_PER_STEP) / threads;
  return shared < cost ? shared : cost;
}
