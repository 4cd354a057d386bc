/* Primitives: from value keys, through the cache. */
#include "ops/plan/primitive.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/onednn.h"
#include "ops/plan/post_ops.h"
#include "ops/plan/threadpool.h"

static void destroy_primitive(void *value, void *user) {
  lk_primitive *primitive = value;
  if (primitive->primitive != NULL) dnnl_primitive_destroy(primitive->primitive);
  if (primitive->desc != NULL) dnnl_primitive_desc_destroy(primitive->desc);
  lk_free(user, primitive);
}

typedef struct build_arg {
  lk_ops_env *env;
  const lk_key *key;
} build_arg;

/* Fills in the tensor of each role. */
static lk_status read_tensors(lk_primitive_build *build, lk_error *error) {
  LK_RETURN_NOT_OK(lk_build_tensor(build, LK_WORD_SRC, 0, &build->src, error));
  LK_RETURN_NOT_OK(lk_build_tensor(build, LK_WORD_WEIGHTS, 0, &build->weights, error));
  LK_RETURN_NOT_OK(lk_build_tensor(build, LK_WORD_BIAS, 0, &build->bias, error));
  return lk_build_tensor(build, LK_WORD_DST, 0, &build->dst, error);
}

/* Makes descriptor and primitive. The owner of `primitive` destroys them, also after a failure. */
static lk_status create(lk_ops_env *env, const lk_key *key, const lk_primitive_kind_row *kind,
                        lk_primitive *primitive, lk_error *error) {
  lk_status status = LK_OK;
  lk_primitive_build build = {.env = env, .key = key};
  lk_dnnl_create_begin();
  lk_dnnl_set_shares();
  LK_TRY(lk_post_ops_attr(&build, &build.attr, error));
  LK_TRY(read_tensors(&build, error));
  LK_TRY(lk_dnnl_check(error, kind->build(&build, &primitive->desc), kind->describe));
  LK_TRY(lk_dnnl_check(error, dnnl_primitive_create(&primitive->primitive, primitive->desc),
                       kind->create));
cleanup:
  if (build.src != NULL) dnnl_memory_desc_destroy(build.src);
  if (build.weights != NULL) dnnl_memory_desc_destroy(build.weights);
  if (build.bias != NULL) dnnl_memory_desc_destroy(build.bias);
  if (build.dst != NULL) dnnl_memory_desc_destroy(build.dst);
  if (build.attr != NULL) dnnl_primitive_attr_destroy(build.attr);
  lk_dnnl_create_end();
  return status;
}

/* Builds from the key alone: what it takes of `env` is in the key, too. */
static lk_status build_primitive(void *arg, lk_built *out, lk_error *error) {
  const build_arg *from = arg;
  lk_ops_env *env = from->env;
  const lk_primitive_kind_row *kind = &lk_primitive_kinds[lk_key_get_head(from->key)->op];
  lk_status status = LK_OK;
  lk_primitive *primitive = lk_calloc(env->allocator, 1, sizeof *primitive);
  if (primitive == NULL) return lk_fail_memory(error, "a primitive", sizeof *primitive);
  LK_TRY(create(env, from->key, kind, primitive, error));
  primitive->kind = kind->name;
  dnnl_primitive_desc_query(primitive->desc, dnnl_query_impl_info_str, 0,
                            &primitive->implementation);
  /* "ref:any" and "simple:any"-like names: only ref is worth a warning */
  primitive->is_ref = strncmp(primitive->implementation, "ref", 3) == 0;
  const_dnnl_memory_desc_t scratchpad =
      dnnl_primitive_desc_query_md(primitive->desc, dnnl_query_scratchpad_md, 0);
  primitive->scratchpad_bytes = dnnl_memory_desc_get_size(scratchpad);
  if (primitive->is_ref) {
    atomic_fetch_add_explicit(&env->ref_primitives, 1, memory_order_relaxed);
  }
  *out = (lk_built){.value = primitive,
                    .bytes = kind->bytes,
                    .destroy = destroy_primitive,
                    .user = (void *)env->allocator};
  primitive = NULL;
cleanup:
  if (primitive != NULL) destroy_primitive(primitive, (void *)env->allocator);
  return status;
}

static lk_status find(lk_ops_env *env, const lk_key *key, lk_ref **out_ref, lk_error *error) {
  build_arg arg = {env, key};
  return lk_cache_get(env->cache, NULL, key, build_primitive, &arg, out_ref, NULL, error);
}

/* Begins the key of the same primitive with all operands of post-ops in the full shape of DST.
 * Returns false, and begins nothing, where they have that shape already. */
static bool widen(const lk_key *key, const lk_allocator *allocator, lk_key_builder *out_key) {
  lk_tensor_desc full, operand;
  bool is_narrow = false;
  if (!lk_key_find_tensor(key, LK_WORD_DST, 0, &full, NULL)) return false;
  lk_key_begin(out_key, allocator, lk_key_get_head(key));
  for (lk_key_reader reader = lk_key_read(key); lk_key_next(&reader);) {
    const lk_key_tensor *tensor = reader.record;
    if (reader.type != LK_RECORD_TENSOR || tensor->role != LK_WORD_INPUT) {
      lk_key_add_record(out_key, &reader);
      continue;
    }
    operand = lk_tensor_desc_make(tensor->dtype, tensor->rank, reader.payload);
    is_narrow = is_narrow || !lk_shape_equal(&operand, &full);
    full.dtype = tensor->dtype;
    lk_key_add_tensor(out_key, tensor->role, tensor->index, &full, tensor->extra);
  }
  if (!is_narrow) lk_key_builder_destroy(out_key);
  return is_narrow;
}

static bool is_ref(const lk_ref *ref) {
  const lk_primitive *primitive = lk_ref_value(ref);
  return primitive->is_ref;
}

lk_status lk_primitive_get(lk_ops_env *env, const lk_key *key, lk_ref **out_ref, lk_error *error) {
  lk_status status = LK_OK;
  lk_ref *ref = NULL, *other = NULL;
  lk_key_builder full;
  lk_key full_key;
  bool widens = false;
  *out_ref = NULL;
  LK_TRY(find(env, key, &ref, error));
  /* a copy to full shape takes far less than a reference implementation */
  widens = is_ref(ref) && widen(key, env->allocator, &full);
  if (widens) {
    LK_TRY(lk_key_finish(&full, &full_key, error));
    LK_TRY(find(env, &full_key, &other, error));
    if (!is_ref(other)) {
      lk_ref *worse = ref;
      ref = other;
      other = worse;
    }
  }
  *out_ref = ref;
  ref = NULL;
cleanup:
  if (widens) lk_key_builder_destroy(&full);
  if (ref != NULL) lk_ref_release(ref);
  if (other != NULL) lk_ref_release(other);
  return status;
}

int64_t lk_float_bits(float value) {
  uint32_t bits = 0;
  if (value == 0.0F) value = 0.0F; /* -0.0 and 0.0 mean the same primitive */
  memcpy(&bits, &value, sizeof bits);
  return (int64_t)bits;
}
