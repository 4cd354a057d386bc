/* ONNX files into the graph IR: what is mapped, and who outlives whom. */
#include "executor_glue/onnx/load.h"

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/onnx/graph_builder.h"
#include "executor_glue/onnx/map.h"
#include "executor_glue/onnx/unpack.h"

struct lk_onnx_model {
  const lk_allocator *allocator;
  atomic_uint_least32_t users;
  char *path;            /* NULL: the model is in the caller's memory */
  lk_onnx_map map;       /* zeroed: likewise */
  lk_onnx_source source; /* where it is read from; its external files are NULL: likewise */
};

/* Frees the unpacked message before it links the graph: the message is most of the peak memory. */
static lk_status read_graph(const lk_allocator *allocator, const lk_onnx_source *source,
                            lk_graph **out_graph, lk_error *error) {
  lk_status status = LK_OK;
  ProtobufCMessage *message = NULL;
  lk_graph *graph = NULL;
  *out_graph = NULL;
  LK_TRY(lk_onnx_unpack(allocator, LK_ONNX_MODEL, &onnx__model_proto__descriptor, source->bytes,
                        source->size, &message, error));
  LK_TRY(lk_onnx_graph_build(allocator, source, (const Onnx__ModelProto *)message, &graph, error));
  lk_onnx_unpacked_destroy(allocator, message);
  message = NULL;
  LK_TRY(lk_graph_link(graph, error));
  *out_graph = graph;
  graph = NULL;

cleanup:
  lk_onnx_unpacked_destroy(allocator, message);
  lk_graph_destroy(graph);
  return status;
}

static lk_status model_create(const lk_allocator *allocator, lk_onnx_model **out, lk_error *error) {
  *out = lk_calloc(allocator, 1, sizeof **out);
  if (*out == NULL) return lk_fail_memory(error, "a model", sizeof **out);
  (*out)->allocator = allocator;
  atomic_init(&(*out)->users, 1);
  return LK_OK;
}

lk_status lk_onnx_model_read(const lk_onnx_model *model, lk_graph **out_graph, lk_error *error) {
  const lk_status status = read_graph(model->allocator, &model->source, out_graph, error);
  if (status == LK_OK) return LK_OK;
  if (model->path == NULL) {
    return lk_error_prefix(error, status, "failed to load a model from memory");
  }
  return lk_error_prefix(error, status, "failed to load '%s'", model->path);
}

lk_status lk_onnx_load_file(const lk_allocator *allocator, const char *path,
                            lk_onnx_model **out_model, lk_graph **out_graph, lk_error *error) {
  lk_status status = LK_OK;
  lk_onnx_model *model = NULL;
  *out_model = NULL;
  *out_graph = NULL;
  LK_TRY(model_create(allocator, &model, error));
  model->path = lk_strdup(allocator, path);
  if (model->path == NULL) LK_TRY(lk_fail_memory(error, "the path of a model", strlen(path) + 1));
  LK_TRY(lk_onnx_map_create(path, &model->map, error));
  model->source = (lk_onnx_source){.bytes = model->map.bytes, .size = model->map.size};
  LK_TRY(lk_onnx_external_create(allocator, path, &model->source.external, error));
  LK_TRY(lk_onnx_model_read(model, out_graph, error));
  *out_model = model;
  model = NULL;

cleanup:
  lk_onnx_model_release(model);
  return status;
}

lk_status lk_onnx_load_memory(const lk_allocator *allocator, const void *data, size_t size,
                              lk_onnx_model **out_model, lk_graph **out_graph, lk_error *error) {
  lk_status status = LK_OK;
  lk_onnx_model *model = NULL;
  *out_model = NULL;
  *out_graph = NULL;
  if (data == NULL || size == 0) {
    return lk_fail(error, LK_INVALID_ARGUMENT, "failed to load a model from memory: it is empty");
  }
  LK_TRY(model_create(allocator, &model, error));
  model->source = (lk_onnx_source){.bytes = data, .size = size};
  LK_TRY(lk_onnx_model_read(model, out_graph, error));
  *out_model = model;
  model = NULL;

cleanup:
  lk_onnx_model_release(model);
  return status;
}

const char *lk_onnx_model_path(const lk_onnx_model *model) {
  return model->path;
}

void lk_onnx_model_drop_pages(lk_onnx_model *model) {
  lk_onnx_map_drop_pages(&model->map);
  if (model->source.external != NULL) lk_onnx_external_drop_pages(model->source.external);
}

void lk_onnx_model_retain(lk_onnx_model *model) {
  atomic_fetch_add_explicit(&model->users, 1, memory_order_relaxed);
}

void lk_onnx_model_release(lk_onnx_model *model) {
  if (model == NULL) return;
  if (atomic_fetch_sub_explicit(&model->users, 1, memory_order_acq_rel) != 1) return;
  lk_onnx_external_destroy(model->source.external);
  lk_onnx_map_destroy(&model->map);
  lk_free(model->allocator, model->path);
  lk_free(model->allocator, model);
}

lk_status lk_onnx_read_tensor(const lk_allocator *allocator, const char *path, lk_tensor *out,
                              char **out_name, lk_error *error) {
  lk_status status = LK_OK;
  lk_onnx_map map = {0};
  ProtobufCMessage *message = NULL;
  lk_onnx_external *external = NULL;
  lk_onnx_tensor tensor;
  void *data = NULL;
  char *name = NULL;
  *out = (lk_tensor){0};
  if (out_name != NULL) *out_name = NULL;

  LK_TRY(lk_onnx_map_create(path, &map, error));
  LK_TRY(lk_onnx_external_create(allocator, path, &external, error));
  const lk_onnx_source source = {map.bytes, map.size, external};
  LK_TRY(lk_onnx_unpack(allocator, LK_ONNX_TENSOR, &onnx__tensor_proto__descriptor, map.bytes,
                        map.size, &message, error));
  const Onnx__TensorProto *proto = (const Onnx__TensorProto *)message;
  LK_TRY(lk_onnx_tensor_find(&source, proto, path, &tensor, error));
  data = lk_alloc_aligned(allocator, tensor.n_bytes, LK_DATA_ALIGNMENT);
  if (data == NULL) LK_TRY(lk_fail_memory(error, path, tensor.n_bytes));
  LK_TRY(lk_onnx_tensor_copy(&tensor, data, error));
  if (out_name != NULL) {
    name = lk_strdup(allocator, proto->name != NULL ? proto->name : "");
    if (name == NULL) LK_TRY(lk_fail_memory(error, "a tensor's name", 1));
    *out_name = name;
  }
  *out = (lk_tensor){tensor.desc, data};
  data = NULL;

cleanup:
  lk_free(allocator, data);
  lk_onnx_unpacked_destroy(allocator, message);
  lk_onnx_external_destroy(external);
  lk_onnx_map_destroy(&map);
  return status;
}
