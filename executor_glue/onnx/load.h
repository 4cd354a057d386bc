/* ONNX files into the graph IR. */
#pragma once

#include "executor_glue/graph/graph.h"
#include "executor_glue/onnx/lenience.h"

/* The mapped files that the constants of graphs lie in: counted, since any number of graphs may be
 * read from them, on any threads. */
typedef struct lk_onnx_model lk_onnx_model;

/* Maps and reads a model file. The graph's MAPPED constants point into the model, which must
 * outlive the graph. `context`: whose registered operators the nodes may be; NULL: nobody's.
 * `copies`: the files are not mapped, but read into memory once. LK_NOT_FOUND, LK_IO, LK_MALFORMED,
 * LK_UNSUPPORTED, LK_OUT_OF_RANGE. */
lk_status lk_onnx_load_file(const lk_allocator *allocator, const lk_context *context,
                            const char *path, bool copies, lk_onnx_model **out_model,
                            lk_graph **out_graph, lk_error *error);
/* The same from memory, which must outlive the model. */
lk_status lk_onnx_load_memory(const lk_allocator *allocator, const lk_context *context,
                              const void *data, size_t size, lk_onnx_model **out_model,
                              lk_graph **out_graph, lk_error *error);
/* As lk_onnx_load_file, but what is LK_UNSUPPORTED is told and left out, so that the rest can be
 * looked at: opsets, element types, inputs that are no tensors. Constants that are left out
 * are made by nodes LK_GRAPH_UNREAD: the graph is not to be run. `error` must not be NULL. */
lk_status lk_onnx_load_leniently(const lk_allocator *allocator, const lk_context *context,
                                 const char *path, const lk_onnx_lenience *lenience,
                                 lk_onnx_model **out_model, lk_graph **out_graph, lk_error *error);
/* Reads one more graph from what is mapped already, whatever has become of the paths. LK_IO as
 * lk_onnx_model_check. */
lk_status lk_onnx_model_read(const lk_onnx_model *model, const lk_context *context,
                             lk_graph **out_graph, lk_error *error);
/* lk_graph_refuse_unread of a graph of the model, whose sentence then says what was not loaded. */
lk_status lk_onnx_model_refuse_unread(const lk_onnx_model *model, lk_graph *graph, lk_error *error);
/* The same graph, but for the defaults (lk_graph_default) of these names, which are its inputs. */
lk_status lk_onnx_model_read_variant(const lk_onnx_model *model, const lk_context *context,
                                     const char *const *given, size_t n_given, lk_graph **out_graph,
                                     lk_error *error);
const char *lk_onnx_model_path(const lk_onnx_model *model); /* NULL: it is in memory */
/* Whether mapped files can still be read; ask before reading constants where they lie. LK_IO: one
 * was cut, and is named. */
lk_status lk_onnx_model_check(const lk_onnx_model *model, lk_error *error);
/* Tells the system that the mapped pages are not needed now: they leave RSS, and come back from the
 * file when they are read again. */
void lk_onnx_model_drop_pages(lk_onnx_model *model);
void lk_onnx_model_retain(lk_onnx_model *model);
void lk_onnx_model_release(lk_onnx_model *model); /* the last one unmaps; NULL is allowed */

/* Reads one TensorProto (test data: input_N.pb). The data is allocated: free with the allocator.
 * `out_name` may be NULL; else an allocated string. */
lk_status lk_onnx_read_tensor(const lk_allocator *allocator, const char *path, lk_tensor *out,
                              char **out_name, lk_error *error);
