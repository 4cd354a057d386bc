/* Packing constants into the layouts that primitives want, through the weights store. */
#include "ops/plan/packing.h"

#include "base/alloc.h"
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

/* What the store needs to write a copy, and to read it back for as long as it lives. */
typedef struct packer {
  const lk_allocator *allocator;
  dnnl_engine_t engine; /* outlives the store */
  dnnl_memory_desc_t plain, packed;
} packer;

static lk_status pack(void *arg, const void *plain, void *to, lk_error *error) {
  const packer *self = arg;
  return lk_reorder_once(self->engine, self->plain, plain, self->packed, to, error);
}

static lk_status unpack(void *arg, const void *packed, void *plain, lk_error *error) {
  const packer *self = arg;
  return lk_reorder_once(self->engine, self->packed, packed, self->plain, plain, error);
}

static void destroy(void *arg) {
  packer *self = arg;
  if (self->plain != NULL) dnnl_memory_desc_destroy(self->plain);
  if (self->packed != NULL) dnnl_memory_desc_destroy(self->packed);
  lk_free(self->allocator, self);
}

lk_status lk_pack_content(lk_ops_env *env, lk_content *content, const lk_tensor_desc *from,
                          const lk_tensor_desc *to, lk_packed **out_packed, lk_error *error) {
  *out_packed = NULL;
  lk_status status = LK_OK;
  packer *self = lk_calloc(env->allocator, 1, sizeof *self);
  if (self == NULL) return lk_fail_memory(error, "a packer", sizeof *self);
  self->allocator = env->allocator;
  self->engine = env->engine;
  LK_TRY(lk_layouts_memory_desc(env->layouts, from, &self->plain, error));
  LK_TRY(lk_layouts_memory_desc(env->layouts, to, &self->packed, error));
  const size_t bytes = dnnl_memory_desc_get_size(self->packed);
  const uint64_t layout = (uint64_t)from->layout << 32 | to->layout;
  const lk_packer callbacks = {pack, unpack, destroy, self};
  self = NULL; /* taken over */
  status = lk_content_pack(content, layout, bytes, &callbacks, out_packed, error);
cleanup:
  if (self != NULL) destroy(self);
  return status;
}
