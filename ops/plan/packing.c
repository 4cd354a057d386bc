/* Packing constants into the layouts that primitives want, through the weights store. */
#include "ops/plan/packing.h"

#include "base/status.h"
#include "ops/plan/layout.h"
#include "ops/plan/onednn.h"
#include "ops/plan/threadpool.h"

static lk_status create_reorder(dnnl_engine_t engine, const_dnnl_memory_desc_t from_md,
                                const_dnnl_memory_desc_t to_md, dnnl_primitive_desc_t *out_desc,
                                dnnl_primitive_t *out_reorder, dnnl_stream_t *out_stream,
                                lk_error *error) {
  lk_status status = LK_OK;
  lk_dnnl_create_begin();
  lk_dnnl_set_shares();
  LK_TRY(lk_dnnl_check(
      error, dnnl_reorder_primitive_desc_create(out_desc, from_md, engine, to_md, engine, NULL),
      "describe a reorder"));
  LK_TRY(lk_dnnl_check(error, dnnl_primitive_create(out_reorder, *out_desc), "create a reorder"));
  LK_TRY(lk_dnnl_check(error, lk_stream_create(engine, out_stream), "create a stream"));
cleanup:
  lk_dnnl_create_end();
  return status;
}

lk_status lk_reorder_once(dnnl_engine_t engine, const_dnnl_memory_desc_t from_md, const void *from,
                          const_dnnl_memory_desc_t to_md, void *to, lk_error *error) {
  lk_status status = LK_OK;
  dnnl_primitive_desc_t desc = NULL;
  dnnl_primitive_t reorder = NULL;
  dnnl_memory_t source = NULL, target = NULL;
  dnnl_stream_t stream = NULL;
  LK_TRY(create_reorder(engine, from_md, to_md, &desc, &reorder, &stream, error));
  /* oneDNN takes every pointer as writable; a source is only read */
  LK_TRY(lk_dnnl_check(error, dnnl_memory_create(&source, from_md, engine, (void *)(uintptr_t)from),
                       "create a memory handle"));
  LK_TRY(lk_dnnl_check(error, dnnl_memory_create(&target, to_md, engine, to),
                       "create a memory handle"));
  const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, source}, {DNNL_ARG_TO, target}};
  LK_TRY(lk_dnnl_check(error, dnnl_primitive_execute(reorder, stream, 2, args), "reorder"));
  LK_TRY(lk_dnnl_check(error, dnnl_stream_wait(stream), "wait for a reorder"));
cleanup:
  if (stream != NULL) dnnl_stream_destroy(stream);
  if (target != NULL) dnnl_memory_destroy(target);
  if (source != NULL) dnnl_memory_destroy(source);
  if (reorder != NULL) dnnl_primitive_destroy(reorder);
  if (desc != NULL) dnnl_primitive_desc_destroy(desc);
  return status;
}

/* What the store keeps with a copy. The context's, which it points to, outlives the store. */
typedef struct reordering {
  lk_ops_env *env;
  lk_tensor_desc plain, packed;
} reordering;

/* Copies between the two, in one direction or the other. */
static lk_status reorder(const reordering *self, const lk_tensor_desc *from_desc, const void *from,
                         const lk_tensor_desc *to_desc, void *to, lk_error *error) {
  lk_status status = LK_OK;
  dnnl_memory_desc_t from_md = NULL, to_md = NULL;
  LK_TRY(lk_layouts_memory_desc(self->env->layouts, from_desc, &from_md, error));
  LK_TRY(lk_layouts_memory_desc(self->env->layouts, to_desc, &to_md, error));
  LK_TRY(lk_reorder_once(self->env->engine, from_md, from, to_md, to, error));
cleanup:
  if (from_md != NULL) dnnl_memory_desc_destroy(from_md);
  if (to_md != NULL) dnnl_memory_desc_destroy(to_md);
  return status;
}

static lk_status pack(const void *params, const void *plain, void *to, lk_error *error) {
  const reordering *self = params;
  return reorder(self, &self->plain, plain, &self->packed, to, error);
}

static lk_status unpack(const void *params, const void *packed, void *plain, lk_error *error) {
  const reordering *self = params;
  return reorder(self, &self->packed, packed, &self->plain, plain, error);
}

lk_status lk_pack_content(lk_ops_env *env, lk_content *content, const lk_tensor_desc *from,
                          const lk_tensor_desc *to, lk_packed **out_packed, lk_error *error) {
  *out_packed = NULL;
  uint64_t bytes = 0;
  LK_RETURN_NOT_OK(lk_layouts_bytes(env->layouts, to, &bytes, error));
  const reordering params = {env, *from, *to};
  const lk_packer packer = {pack, unpack, &params, sizeof params};
  /* an interned layout stands for dimensions and type, too; the others do not */
  lk_weights_layout layout = {{LK_PACKED_REORDER, from->layout, to->layout, from->dtype}};
  for (uint32_t i = 0; i < from->rank; i++) layout.numbers[4 + i] = from->dims[i];
  return lk_content_pack(content, &layout, bytes, &packer, out_packed, error);
}
