/* Primitives: from value keys, through the cache. */
#include "ops/plan/primitive.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/onednn.h"
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
  return lk_build_tensor(build, LK_WORD_DST, 0, &build->dst, error);
}

static lk_status create_attr(const lk_key *key, dnnl_primitive_attr_t *out_attr, lk_error *error) {
  LK_RETURN_NOT_OK(lk_dnnl_check(error, dnnl_primitive_attr_create(out_attr), "make an attribute"));
  LK_RETURN_NOT_OK(lk_dnnl_check(
      error, dnnl_primitive_attr_set_scratchpad_mode(*out_attr, dnnl_scratchpad_mode_user),
      "set the scratchpad mode"));
  return lk_dnnl_check(error,
                       dnnl_primitive_attr_set_fpmath_mode(
                           *out_attr, (dnnl_fpmath_mode_t)lk_key_get_head(key)->math_mode),
                       "set the math mode");
}

/* Makes descriptor and primitive. The owner of `primitive` destroys them, also after a failure. */
static lk_status create(lk_ops_env *env, const lk_key *key, const lk_primitive_kind_row *kind,
                        lk_primitive *primitive, lk_error *error) {
  lk_status status = LK_OK;
  lk_primitive_build build = {.env = env, .key = key};
  lk_dnnl_create_begin();
  lk_dnnl_set_shares();
  LK_TRY(create_attr(key, &build.attr, error));
  LK_TRY(read_tensors(&build, error));
  LK_TRY(lk_dnnl_check(error, kind->build(&build, &primitive->desc), kind->describe));
  LK_TRY(lk_dnnl_check(error, dnnl_primitive_create(&primitive->primitive, primitive->desc),
                       kind->create));
cleanup:
  if (build.src != NULL) dnnl_memory_desc_destroy(build.src);
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

lk_status lk_primitive_get(lk_ops_env *env, const lk_key *key, lk_ref **out_ref, lk_error *error) {
  build_arg arg = {env, key};
  return lk_cache_get(env->cache, NULL, key, build_primitive, &arg, out_ref, NULL, error);
}

int64_t lk_float_bits(float value) {
  uint32_t bits = 0;
  if (value == 0.0F) value = 0.0F; /* -0.0 and 0.0 mean the same primitive */
  memcpy(&bits, &value, sizeof bits);
  return (int64_t)bits;
}
