#include "executor_glue/run/step_cost.h"

#include <string.h>

#include "base/tensor.h"

/* Medians of one core with AVX-512, over the steps of the light models, the OCR models and generated
 * graphs, the best of 40 to 150 runs each: convolutions of 0.1 ms and more (0.0042 to 0.0046; smaller
 * ones up to 0.007), what moves data (0.012 to 0.02, from its cache), the smallest steps. And what a team
 * costs to begin and end, which divides those graphs best. Only their ratios matter. */
#define NS_PER_FLOP 0.005
#define NS_PER_BYTE 0.015
#define NS_PER_STEP 1000.0
#define NS_PER_TEAM 700.0

static double elements(const lk_tensor_desc *desc) {
  return desc != NULL ? (double)lk_elements(desc) : 0;
}

static double bytes(const lk_tensor_desc *const *tensors, uint32_t count) {
  double sum = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (tensors[i] != NULL) sum += elements(tensors[i]) * (double)lk_dtype_size(tensors[i]->dtype);
  }
  return sum;
}

/* Multiplications and additions of the operators that do more than a few for each element. */
static double flops(const char *op_type, const lk_tensor_desc *const *inputs, uint32_t n_inputs,
                    const lk_tensor_desc *output) {
  if (n_inputs < 2 || inputs[0] == NULL || inputs[1] == NULL || output == NULL) return 0;
  const lk_tensor_desc *a = inputs[0], *b = inputs[1];
  if (a->rank == 0 || b->rank == 0 || b->dims[0] == 0) return 0;
  const double each = elements(b) / (double)b->dims[0]; /* of one kernel */
  if (strcmp(op_type, "Conv") == 0) return 2 * elements(output) * each;
  if (strcmp(op_type, "ConvTranspose") == 0) return 2 * elements(a) * each;
  if (strcmp(op_type, "MatMul") == 0) return 2 * elements(output) * (double)a->dims[a->rank - 1];
  if (strcmp(op_type, "Gemm") == 0 && output->rank > 0 && output->dims[0] > 0) {
    return 2 * elements(output) * elements(a) / (double)output->dims[0];
  }
  return 0;
}

double lk_run_cost(const char *op_type, const lk_tensor_desc *const *inputs, uint32_t n_inputs,
                   const lk_tensor_desc *const *outputs, uint32_t n_outputs) {
  const lk_tensor_desc *output = n_outputs > 0 ? outputs[0] : NULL;
  const double compute = NS_PER_FLOP * flops(op_type, inputs, n_inputs, output);
  const double memory = NS_PER_BYTE * (bytes(inputs, n_inputs) + bytes(outputs, n_outputs));
  return NS_PER_STEP + (compute > memory ? compute : memory);
}

double lk_run_cost_shared(double cost, int32_t threads) {
  const double shared = NS_PER_STEP + NS_PER_TEAM + (cost - NS_PER_STEP) / threads;
  return shared < cost ? shared : cost;
}
