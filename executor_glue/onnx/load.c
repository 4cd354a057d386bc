/* ONNX files into the graph IR: what is mapped, and who outlives whom. */
#include "executor_glue/onnx/load.h"

#include <string.h>

#include "executor_glue/onnx/graph_builder.h"
#include "executor_glue/onnx/map.h"
#include "executor_glue/onnx/unpack.h"
#include "plugin/base/alloc.h"
#include "plugin/base/status.h"

struct lk_onnx_model {
  const lk_allocator *allocator;
  lk_onnx_map map;            /* zeroed: the model is in the caller's memory */
  lk_onnx_external *external; /* NULL: likewise */
};

/* The unpacked message ends before the graph is linked: it is the larger part of the peak. */
static lk_status read_graph(const lk_allocator *allocator, const lk_onnx_source *source,
                            lk_graph **out_graph, lk_error *error) {
  ProtobufCMessage *message = NULL;
  lk_graph *graph = NULL;
  *out_graph = NULL;
  lk_status status = lk_onnx_unpack(allocator, LK_ONNX_MODEL, &onnx__model_proto__descriptor,
                                    source->bytes, source->size, &message, error);
  if (status != LK_OK) return status;
  status = lk_onnx_graph_build(allocator, source, (const Onnx__ModelProto *)message, &graph, error);
  lk_onnx_unpacked_free(allocator, message);
  if (status == LK_OK) status = lk_graph_link(graph, error);
  if (status != LK_OK) {
    lk_graph_destroy(graph);
    return status;
  }
  *out_graph = graph;
  return LK_OK;
}

static lk_status model_create(const lk_allocator *allocator, lk_onnx_model **out, lk_error *error) {
  *out = lk_calloc(allocator, 1, sizeof **out);
  if (*out == NULL) return lk_fail_memory(error, "a model", sizeof **out);
  (*out)->allocator = allocator;
  return LK_OK;
}

lk_status lk_onnx_load_file(const lk_allocator *allocator, const char *path,
                            lk_onnx_model **out_model, lk_graph **out_graph, lk_error *error) {
  lk_status status = LK_OK;
  lk_onnx_model *model = NULL;
  *out_model = NULL;
  *out_graph = NULL;
  LK_TRY(model_create(allocator, &model, error));
  LK_TRY(lk_onnx_map_open(path, &model->map, error));
  LK_TRY(lk_onnx_external_create(allocator, path, &model->external, error));
  const lk_onnx_source source = {model->map.bytes, model->map.size, model->external};
  status = read_graph(allocator, &source, out_graph, error);
  if (status != LK_OK) {
    status = lk_error_prefix(error, status, "failed to load '%s'", path);
    goto cleanup;
  }
  *out_model = model;
  model = NULL;

cleanup:
  lk_onnx_model_destroy(model);
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
  const lk_onnx_source source = {data, size, NULL};
  status = read_graph(allocator, &source, out_graph, error);
  if (status != LK_OK) {
    status = lk_error_prefix(error, status, "failed to load a model from memory");
    goto cleanup;
  }
  *out_model = model;
  model = NULL;

cleanup:
  lk_onnx_model_destroy(model);
  return status;
}

void lk_onnx_model_relax(lk_onnx_model *model) {
  lk_onnx_map_relax(&model->map);
  if (model->external != NULL) lk_onnx_external_relax(model->external);
}

void lk_onnx_model_destroy(lk_onnx_model *model) {
  if (model == NULL) return;
  lk_onnx_external_destroy(model->external);
  lk_onnx_map_close(&model->map);
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

  LK_TRY(lk_onnx_map_open(path, &map, error));
  LK_TRY(lk_onnx_external_create(allocator, path, &external, error));
  const lk_onnx_source source = {map.bytes, map.size, external};
  LK_TRY(lk_onnx_unpack(allocator, LK_ONNX_TENSOR, &onnx__tensor_proto__descriptor, map.bytes,
                        map.size, &message, error));
  const Onnx__TensorProto *proto = (const Onnx__TensorProto *)message;
  LK_TRY(lk_onnx_tensor_find(&source, proto, path, &tensor, error));
  data = lk_alloc_aligned(allocator, tensor.n_bytes, LK_DATA_ALIGNMENT);
  if (data == NULL) {
    status = lk_fail_memory(error, path, tensor.n_bytes);
    goto cleanup;
  }
  LK_TRY(lk_onnx_tensor_copy(&tensor, data, error));
  if (out_name != NULL) {
    name = lk_strdup(allocator, proto->name != NULL ? proto->name : "");
    if (name == NULL) {
      status = lk_fail_memory(error, "a tensor's name", 1);
      goto cleanup;
    }
    *out_name = name;
  }
  *out = (lk_tensor){tensor.desc, data};
  data = NULL;

cleanup:
  lk_free(allocator, data);
  lk_onnx_unpacked_free(allocator, message);
  lk_onnx_external_destroy(external);
  lk_onnx_map_close(&map);
  return status;
}
