/* A table of what was measured on one thread beside ONNX Runtime 1.31's own kernels, on a processor
 * with AVX-512: `benchmarks/run typical_operators typical_types typical_rows` measures it again. A
 * kernel that gets faster loses its row here. */
#include "executor_glue/ort/sooner.h"

#include <string.h>

#include "executor_glue/ort/trial.h"

typedef bool shapes_fn(const lk_tensor *inputs);

typedef struct rule {
  const char *op_type; /* of ai.onnx */
  uint32_t types;      /* LK_TYPE bits of input 0 */
  shapes_fn *shapes;   /* NULL: any */
} rule;

/* Rows of up to 8 elements by up to 3 columns: what is added up across a vector costs most. */
static bool of_short_rows(const lk_tensor *inputs) {
  const lk_tensor_desc *a = &inputs[0].desc, *b = &inputs[1].desc;
  if (!lk_ort_shape_is_known(a) || !lk_ort_shape_is_known(b) || a->rank < 2 || b->rank == 0)
    return false;
  return a->dims[a->rank - 1] <= 8 && (b->rank == 1 || b->dims[b->rank - 1] <= 3);
}

static bool has_channels_up_to(const lk_tensor_desc *images, int64_t most) {
  return images->rank == 4 && images->dims[1] >= 0 && images->dims[1] <= most;
}

/* To find the places of samples takes longer than to take them. */
static bool of_4_channels(const lk_tensor *inputs) {
  return has_channels_up_to(&inputs[0].desc, 4);
}

/* Too few products for what is written; or half a vector is empty. Weights have the output's
 * channels in dimension 1. */
static bool of_few_channels(const lk_tensor *inputs) {
  const lk_tensor_desc *images = &inputs[0].desc, *weights = &inputs[1].desc;
  if (has_channels_up_to(images, 8) && has_channels_up_to(weights, 2)) return true;
  return has_channels_up_to(weights, 9) && !has_channels_up_to(weights, 4);
}

/* What is done once for a row costs most. */
static bool of_rows_up_to_4(const lk_tensor *inputs) {
  const lk_tensor_desc *x = &inputs[0].desc;
  return lk_ort_shape_is_known(x) && x->rank > 0 && x->dims[x->rank - 1] <= 4;
}

static const rule rules[] = {
    {"ConvTranspose", LK_TYPE(LK_F32), of_few_channels},
    {"LayerNormalization", LK_TYPE(LK_F32), of_rows_up_to_4},
    {"MatMul", LK_TYPE(LK_F32) | LK_TYPE(LK_F64), of_short_rows},
    {"RoiAlign", LK_TYPE(LK_F32), of_4_channels},
};

bool lk_ort_is_sooner(const lk_node *node, const lk_tensor *inputs) {
  if (node->domain[0] != '\0') return false;
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    const rule *of = &rules[i];
    if (strcmp(node->op_type, of->op_type) != 0) continue;
    if ((of->types >> inputs[0].desc.dtype & 1) == 0) continue;
    if (of->shapes == NULL || of->shapes(inputs)) return true;
  }
  return false;
}
