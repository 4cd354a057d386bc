/* ONNX files into the graph IR: what is mapped, and who outlives whom. */
#include "executor_glue/onnx/load.h"

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/onnx/graph_builder.h"
#include "executor_glue/onnx/map.h"
#include "executor_glue/onnx/signature.h"
#include "executor_glue/onnx/unpack.h"

struct lk_onnx_model {
  const lk_allocator *allocator;
  atomic_uint_least32_t users;
  char *path;            /* NULL: the model is in the caller's memory */
  lk_onnx_map map;       /* zeroed: likewise */
  lk_onnx_source source; /* where it is read from; its external files are NULL: likewise */
};

/* The caller's memory outlives the sessions of the model, and so the runs that read it. */
static const lk_owner caller_of_memory = {.struct_size = sizeof caller_of_memory};

/* For what has turned out not to hold a model: says what it is instead, where that is known. */
static lk_status name_other_kind(const lk_onnx_source *source, lk_status status, lk_error *error) {
  const lk_onnx_signature *found = lk_onnx_signature_find(source->bytes, source->size);
  if (found == NULL) return status;
  return lk_fail(error, status, "it is %s, not an ONNX file; %s", found->what, found->advice);
}

/* ---- models ---------------------------------------------------------------------------------- */

/* Puts what was not loaded before a sentence of why. Returns `status`. */
static lk_status name_model(const lk_onnx_model *model, lk_status status, lk_error *error) {
  if (model->path != NULL) {
    return lk_error_prefix(error, status, "failed to load '%s'", model->path);
  }
  return lk_error_prefix(error, status, "failed to load a model from memory");
}

/* Frees the unpacked message before it links the graph: the message is most of the peak memory. */
lk_status lk_onnx_model_read_variant(const lk_onnx_model *model, const lk_context *context,
                                     const char *const *given, size_t n_given, lk_graph **out_graph,
                                     lk_error *error) {
  lk_onnx_source source = model->source;
  lk_status status = LK_OK;
  const lk_allocator *allocator = model->allocator;
  lk_onnx_unpacked unpacked = {0};
  bool has_graph = false;
  lk_graph *graph = NULL;
  *out_graph = NULL;
  LK_TRY(lk_onnx_model_check(model, error));
  LK_TRY(lk_onnx_unpack(allocator, &source, LK_ONNX_MODEL, &onnx__model_proto__descriptor,
                        &unpacked, error));
  const Onnx__ModelProto *proto = (const Onnx__ModelProto *)unpacked.message;
  has_graph = proto->graph != NULL;
  source.context = context;
  source.given = given;
  source.n_given = n_given;
  LK_TRY(lk_onnx_graph_build(allocator, &source, proto, &graph, error));
  lk_onnx_unpacked_destroy(&unpacked);
  LK_TRY(lk_graph_link(graph, error));
  *out_graph = graph;
  graph = NULL;

cleanup:
  if (status == LK_MALFORMED && !has_graph) {
    status = name_other_kind(&model->source, status, error);
  }
  lk_onnx_unpacked_destroy(&unpacked);
  lk_graph_destroy(graph);
  return status != LK_OK ? name_model(model, status, error) : LK_OK;
}

lk_status lk_onnx_model_refuse_unread(const lk_onnx_model *model, lk_graph *graph,
                                      lk_error *error) {
  const lk_status status = lk_graph_refuse_unread(graph, error);
  return status != LK_OK ? name_model(model, status, error) : LK_OK;
}

lk_status lk_onnx_model_read(const lk_onnx_model *model, const lk_context *context,
                             lk_graph **out_graph, lk_error *error) {
  return lk_onnx_model_read_variant(model, context, NULL, 0, out_graph, error);
}

/* Where a model is read from, and how. */
typedef struct wanted {
  const lk_context *context;
  const char *path; /* NULL: `data` */
  bool copies;
  const void *data;
  size_t size;
  const lk_onnx_lenience *lenience;
} wanted;

static lk_status load(const lk_allocator *allocator, const wanted *from, lk_onnx_model **out_model,
                      lk_graph **out_graph, lk_error *error) {
  lk_status status = LK_OK;
  *out_model = NULL;
  *out_graph = NULL;
  lk_onnx_model *model = lk_calloc(allocator, 1, sizeof *model);
  if (model == NULL) return lk_fail_memory(error, "a model", sizeof *model);
  model->allocator = allocator;
  atomic_init(&model->users, 1);
  model->source =
      (lk_onnx_source){.bytes = from->data, .size = from->size, .owner = &caller_of_memory};
  if (from->path != NULL) {
    const char *path = from->path;
    model->path = lk_strdup(allocator, path);
    if (model->path == NULL) LK_TRY(lk_fail_memory(error, "the path of a model", strlen(path) + 1));
    LK_TRY(lk_onnx_map_create(allocator, path, from->copies, &model->map, error));
    model->source = (lk_onnx_source){
        .bytes = model->map.bytes, .size = model->map.size, .owner = model->map.owner};
    LK_TRY(lk_onnx_external_create(allocator, path, from->copies, &model->source.external, error));
  } else if (from->data == NULL || from->size == 0) {
    LK_TRY(
        lk_fail(error, LK_INVALID_ARGUMENT,
                "failed to load a model from memory: it has 0 bytes, an ONNX model is required"));
  }
  model->source.lenience = from->lenience;
  LK_TRY(lk_onnx_model_read(model, from->context, out_graph, error));
  *out_model = model;
  model = NULL;

cleanup:
  lk_onnx_model_release(model);
  return status;
}

lk_status lk_onnx_load_file(const lk_allocator *allocator, const lk_context *context,
                            const char *path, bool copies, lk_onnx_model **out_model,
                            lk_graph **out_graph, lk_error *error) {
  const wanted from = {.context = context, .path = path, .copies = copies};
  return load(allocator, &from, out_model, out_graph, error);
}

lk_status lk_onnx_load_leniently(const lk_allocator *allocator, const lk_context *context,
                                 const char *path, const lk_onnx_lenience *lenience,
                                 lk_onnx_model **out_model, lk_graph **out_graph, lk_error *error) {
  const wanted from = {.context = context, .path = path, .lenience = lenience};
  return load(allocator, &from, out_model, out_graph, error);
}

lk_status lk_onnx_load_memory(const lk_allocator *allocator, const lk_context *context,
                              const void *data, size_t size, lk_onnx_model **out_model,
                              lk_graph **out_graph, lk_error *error) {
  const wanted from = {.context = context, .data = data, .size = size};
  return load(allocator, &from, out_model, out_graph, error);
}

const char *lk_onnx_model_path(const lk_onnx_model *model) {
  return model->path;
}

lk_status lk_onnx_model_check(const lk_onnx_model *model, lk_error *error) {
  LK_RETURN_NOT_OK(lk_onnx_map_check(&model->map, model->path, error));
  if (model->source.external == NULL) return LK_OK;
  return lk_onnx_external_check(model->source.external, error);
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

/* ---- a tensor -------------------------------------------------------------------------------- */

lk_status lk_onnx_read_tensor(const lk_allocator *allocator, const char *path, lk_tensor *out,
                              char **out_name, lk_error *error) {
  lk_status status = LK_OK;
  lk_onnx_map map = {0};
  lk_onnx_unpacked unpacked = {0};
  lk_onnx_source source = {0};
  lk_onnx_tensor tensor;
  void *data = NULL;
  *out = (lk_tensor){0};
  if (out_name != NULL) *out_name = NULL;

  LK_TRY(lk_onnx_map_create(allocator, path, false, &map, error));
  source = (lk_onnx_source){.bytes = map.bytes, .size = map.size};
  LK_TRY(lk_onnx_external_create(allocator, path, false, &source.external, error));
  LK_TRY(lk_onnx_unpack(allocator, &source, LK_ONNX_TENSOR, &onnx__tensor_proto__descriptor,
                        &unpacked, error));
  const Onnx__TensorProto *proto = (const Onnx__TensorProto *)unpacked.message;
  LK_TRY(lk_onnx_tensor_find(&source, proto, path, &tensor, error));
  data = lk_alloc_aligned(allocator, tensor.n_bytes, LK_DATA_ALIGNMENT);
  if (data == NULL) LK_TRY(lk_fail_memory(error, path, tensor.n_bytes));
  LK_TRY(lk_onnx_tensor_copy(&tensor, data, error));
  if (out_name != NULL) {
    *out_name = lk_strdup(allocator, proto->name != NULL ? proto->name : "");
    if (*out_name == NULL) LK_TRY(lk_fail_memory(error, "a tensor's name", 1));
  }
  *out = (lk_tensor){tensor.desc, data};
  data = NULL;

cleanup:
  lk_free(allocator, data);
  lk_onnx_unpacked_destroy(&unpacked);
  lk_onnx_external_destroy(source.external);
  lk_onnx_map_destroy(&map);
  return status;
}
