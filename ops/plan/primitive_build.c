/* What a builder of primitives sees: a value key, read as oneDNN's types. */
#include "ops/plan/primitive_build.h"

#include <string.h>

#include "ops/plan/layout.h"

lk_status lk_build_tensor(const lk_primitive_build *build, lk_word role, uint32_t index,
                          dnnl_memory_desc_t *out_md, lk_error *error) {
  *out_md = NULL;
  lk_tensor_desc desc;
  if (!lk_key_find_tensor(build->key, role, index, &desc, NULL)) return LK_OK;
  return lk_layouts_memory_desc(build->env->layouts, &desc, out_md, error);
}

int64_t lk_build_number(const lk_primitive_build *build, lk_word name, int64_t fallback) {
  uint32_t count = 0;
  const int64_t *values = lk_key_find_attr(build->key, name, &count);
  return values != NULL && count > 0 ? values[0] : fallback;
}

float lk_build_float(const lk_primitive_build *build, lk_word name, float fallback) {
  uint32_t count = 0;
  const int64_t *values = lk_key_find_attr(build->key, name, &count);
  if (values == NULL || count == 0) return fallback;
  uint32_t bits = (uint32_t)values[0];
  float value = 0;
  memcpy(&value, &bits, sizeof value);
  return value;
}

dnnl_alg_kind_t lk_build_algorithm(const lk_primitive_build *build) {
  return (dnnl_alg_kind_t)lk_build_number(build, LK_WORD_ALGORITHM, dnnl_alg_kind_undef);
}

static void read_dims(const lk_primitive_build *build, lk_word name, dnnl_dims_t out) {
  uint32_t count = 0;
  const int64_t *values = lk_key_find_attr(build->key, name, &count);
  if (count > DNNL_MAX_NDIMS) count = DNNL_MAX_NDIMS;
  for (uint32_t i = 0; i < count; i++) out[i] = values[i];
}

lk_build_window lk_build_get_window(const lk_primitive_build *build) {
  lk_build_window window;
  memset(&window, 0, sizeof window);
  read_dims(build, LK_WORD_KERNEL, window.kernel);
  read_dims(build, LK_WORD_STRIDES, window.strides);
  read_dims(build, LK_WORD_DILATIONS, window.dilations);
  read_dims(build, LK_WORD_PADS_BEGIN, window.begin);
  read_dims(build, LK_WORD_PADS_END, window.end);
  return window;
}
