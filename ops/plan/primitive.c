/* Primitives: from value keys, through the cache. */
#include "ops/plan/primitive.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "ops/plan/creation.h"
#include "ops/plan/layout.h"
#include "ops/plan/post_ops.h"
#include "ops/plan/primitive_builders.h"

/* By lk_primitive_kind, which has gaps. `bytes` is what one is charged in the cache. */
static const struct {
  const char *create;
  lk_primitive_builder build;
  uint64_t bytes;
} kinds[LK_N_WORDS] = {
#define K(symbol, name, bytes) [LK_PRIMITIVE_##symbol] = {"create " #name, lk_build_##name, bytes},
#include "ops/plan/primitive_list.inc"
#undef K
};

void lk_primitive_key(lk_key_builder *builder, const lk_ops_env *env, lk_primitive_kind kind,
                      int32_t threads) {
  lk_key_head head = {.kind = LK_KIND_VALUE,
                      .op = kind,
                      .precision = LK_F32,
                      .math_mode = env->math_mode,
                      .engine = env->engine_id,
                      .isa = env->isa,
                      .library = env->library};
  lk_key_begin(builder, env->allocator, &head);
  lk_key_call call = {.threads = threads, .in_place_input = -1};
  lk_key_add_call(builder, &call);
}

static void destroy_primitive(void *value, void *user) {
  lk_primitive *primitive = value;
  dnnl_primitive_destroy(primitive->primitive);
  dnnl_primitive_desc_destroy(primitive->desc);
  lk_free(user, primitive);
}

typedef struct build_arg {
  lk_ops_env *env;
  const lk_key *key;
} build_arg;

/* The descriptor of the key's primitive: attribute and operands are lent to the builder. */
static lk_status describe(lk_ops_env *env, const lk_key *key, dnnl_primitive_desc_t *out_desc,
                          lk_error *error) {
  lk_status status = LK_OK;
  lk_primitive_build build = {.env = env, .key = key};
  const struct {
    lk_word role;
    dnnl_memory_desc_t *md;
  } operands[] = {{LK_WORD_SRC, &build.src},
                  {LK_WORD_SRC_1, &build.src1},
                  {LK_WORD_WEIGHTS, &build.weights},
                  {LK_WORD_BIAS, &build.bias},
                  {LK_WORD_DST, &build.dst}};
  const size_t n_operands = sizeof operands / sizeof operands[0];
  LK_TRY(lk_post_ops_attr(&build, &build.attr, error));
  for (size_t i = 0; i < n_operands; i++) {
    LK_TRY(lk_build_tensor(&build, operands[i].role, 0, operands[i].md, error));
  }
  LK_TRY(kinds[lk_key_get_head(key)->op].build(&build, out_desc, error));
cleanup:
  for (size_t i = 0; i < n_operands; i++) {
    if (*operands[i].md != NULL) dnnl_memory_desc_destroy(*operands[i].md);
  }
  if (build.attr != NULL) dnnl_primitive_attr_destroy(build.attr);
  return status;
}

/* Builds from the key alone: `env` is what a context is, and all of it that matters is in the key. */
static lk_status build_primitive(void *arg, lk_built *out, lk_error *error) {
  const build_arg *from = arg;
  lk_ops_env *env = from->env;
  const uint32_t kind = lk_key_get_head(from->key)->op; /* as lk_primitive_key was given it */
  lk_status status = LK_OK;
  dnnl_primitive_desc_t desc = NULL;
  lk_primitive *primitive = lk_calloc(env->allocator, 1, sizeof *primitive);
  if (primitive == NULL) return lk_fail_memory(error, "a primitive", sizeof *primitive);
  lk_creation_begin();
  status = describe(env, from->key, &desc, error);
  if (status == LK_OK) {
    status = lk_dnnl_check(error, dnnl_primitive_create(&primitive->primitive, desc),
                           kinds[kind].create);
  }
  lk_creation_end();
  LK_TRY(status);
  primitive->desc = desc;
  desc = NULL;
  dnnl_primitive_desc_query(primitive->desc, dnnl_query_impl_info_str, 0,
                            &primitive->implementation);
  /* "ref:any" and "simple:any"-like names: only ref is a trap worth a warning */
  primitive->is_ref = strncmp(primitive->implementation, "ref", 3) == 0;
  const_dnnl_memory_desc_t scratchpad =
      dnnl_primitive_desc_query_md(primitive->desc, dnnl_query_scratchpad_md, 0);
  primitive->scratchpad_bytes = dnnl_memory_desc_get_size(scratchpad);
  if (primitive->is_ref) {
    atomic_fetch_add_explicit(&env->ref_primitives, 1, memory_order_relaxed);
  }
  *out = (lk_built){.value = primitive,
                    .bytes = kinds[kind].bytes,
                    .destroy = destroy_primitive,
                    .user = (void *)env->allocator};
  primitive = NULL;
cleanup:
  if (desc != NULL) dnnl_primitive_desc_destroy(desc);
  lk_free(env->allocator, primitive);
  return status;
}

lk_status lk_primitive_get(lk_ops_env *env, const lk_key *key, lk_ref **out_ref, lk_error *error) {
  build_arg arg = {env, key};
  return lk_cache_get(env->cache, NULL, key, build_primitive, &arg, out_ref, NULL, error);
}

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

int64_t lk_float_bits(float value) {
  uint32_t bits = 0;
  if (value == 0.0F) value = 0.0F; /* -0.0 and 0.0 mean the same primitive */
  memcpy(&bits, &value, sizeof bits);
  return (int64_t)bits;
}
