#include "executor_glue/run/step_cost.h"

#include "base/tensor.h"

/* Medians of one core with AVX-512, over the steps of the light models, the OCR models and
 * generated graphs, the best of 40 to 150 runs each: convolutions of 0.1 ms and more (0.0042 to
 * 0.0046; smaller ones up to 0.007), what moves data (0.012 to 0.02, from its cache), the smallest
 * steps. And what a team costs to begin and end, which divides those graphs best. Only their ratios
 * matter. */
#define NS_PER_FLOP 0.005
#define NS_PER_BYTE 0.015
#define NS_PER_STEP 1000.0
#define NS_PER_TEAM 700.0

static double bytes(const lk_tensor_desc *const *tensors, uint32_t count) {
  double sum = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (tensors[i] == NULL) continue;
    sum += (double)lk_elements(tensors[i]) * (double)lk_dtype_size(tensors[i]->dtype);
  }
  return sum;
}

double lk_step_cost(double flops, const lk_tensor_desc *const *inputs, uint32_t n_inputs,
                    const lk_tensor_desc *const *outputs, uint32_t n_outputs) {
  const double compute = NS_PER_FLOP * flops;
  const double memory = NS_PER_BYTE * (bytes(inputs, n_inputs) + bytes(outputs, n_outputs));
  return NS_PER_STEP + (compute > memory ? compute : memory);
}

double lk_step_cost_shared(double cost, int32_t threads) {
  const double shared = NS_PER_STEP + NS_PER_TEAM + (cost - NS_PER_STEP) / threads;
  return shared < cost ? shared : cost;
}
