#include "ops/engine/onednn/reorder.h"

#include "ops/engine/onednn/status.h"

lk_status lk_onednn_reorder_open(lk_onednn_reorder *self, const lk_onednn *engine,
                                 lk_onednn_pool *pool, const_dnnl_primitive_desc_t desc,
                                 const_dnnl_memory_desc_t from, const_dnnl_memory_desc_t to,
                                 lk_error *error) {
  dnnl_engine_t of = engine->engine;
  LK_ONEDNN_RETURN(lk_onednn_check(error, dnnl_primitive_create(&self->primitive, desc),
                                   "create a reorder of weights"));
  LK_ONEDNN_RETURN(lk_onednn_check(error,
                                   dnnl_memory_create(&self->from, from, of, DNNL_MEMORY_NONE),
                                   "make a handle of plain weights"));
  LK_ONEDNN_RETURN(lk_onednn_check(error, dnnl_memory_create(&self->to, to, of, DNNL_MEMORY_NONE),
                                   "make a handle of packed weights"));
  return lk_onednn_check(error, lk_onednn_stream_create(of, pool, &self->stream), "make a stream");
}

lk_status lk_onednn_reorder_run(const lk_onednn_reorder *self, void *from, void *to,
                                lk_error *error) {
  const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, self->from}, {DNNL_ARG_TO, self->to}};
  LK_ONEDNN_RETURN(lk_onednn_check(error, dnnl_memory_set_data_handle(self->from, from),
                                   "set the memory of plain weights"));
  LK_ONEDNN_RETURN(lk_onednn_check(error, dnnl_memory_set_data_handle(self->to, to),
                                   "set the memory of packed weights"));
  return lk_onednn_check(error, lk_onednn_execute(self->primitive, self->stream, 2, args),
                         "reorder weights");
}

void lk_onednn_reorder_end(lk_onednn_reorder *self) {
  if (self->stream != NULL) (void)dnnl_stream_destroy(self->stream);
  if (self->from != NULL) (void)dnnl_memory_destroy(self->from);
  if (self->to != NULL) (void)dnnl_memory_destroy(self->to);
  if (self->primitive != NULL) (void)dnnl_primitive_destroy(self->primitive);
}
