/* Calls of oneDNN that fail when a test says so. The engine's sources are compiled with this in
 * front of them for the module liblatchkey_onednn.so of the folder failing/, so that its own calls
 * are these, and those within oneDNN are what they were. A call that is not here is found by
 * failing_test.cc. */
#pragma once

#include <oneapi/dnnl/dnnl.h>
#include <oneapi/dnnl/dnnl_threadpool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { FAILING_THROWS = -1 };

/* What a test has of the module, by its symbol "failing". Any thread. */
typedef struct failing_calls {
  /* The nth call fails from now on (1: the next one; 0: none). `status`: a dnnl_status_t, or
   * FAILING_THROWS: by std::bad_alloc. */
  void (*arm)(unsigned nth, int status);
  /* Of the call that has failed since then; NULL: none has. */
  const char *(*failed)(void);
  /* Objects of oneDNN that the module has made and not destroyed. */
  long (*alive)(void);
  void (*before)(void); /* called before a call fails; or NULL */
} failing_calls;

/* Counts the call `name`, and says whether it fails. */
int failing_takes(const char *name);
dnnl_status_t failing_status(void);
dnnl_status_t failing_made(dnnl_status_t status); /* of a call that makes an object */
dnnl_status_t failing_ended(dnnl_status_t status);

#ifdef __cplusplus
}
#endif

/* In parentheses the function itself. */
#define FAILING(name, ...) (failing_takes(#name) != 0 ? failing_status() : (name)(__VA_ARGS__))
#define FAILING_MAKES(name, ...) failing_made(FAILING(name, __VA_ARGS__))
#define FAILING_TELLS(name, ...) (failing_takes(#name) != 0 ? NULL : (name)(__VA_ARGS__))

// clang-format off
#define dnnl_engine_create(...) FAILING_MAKES(dnnl_engine_create, __VA_ARGS__)
#define dnnl_set_verbose(...) FAILING(dnnl_set_verbose, __VA_ARGS__)
#define dnnl_set_primitive_cache_capacity(...) \
  FAILING(dnnl_set_primitive_cache_capacity, __VA_ARGS__)
#define dnnl_threadpool_interop_set_max_concurrency(...) \
  FAILING(dnnl_threadpool_interop_set_max_concurrency, __VA_ARGS__)
#define dnnl_threadpool_interop_stream_create(...) \
  FAILING_MAKES(dnnl_threadpool_interop_stream_create, __VA_ARGS__)
#define dnnl_memory_desc_create_with_strides(...) \
  FAILING_MAKES(dnnl_memory_desc_create_with_strides, __VA_ARGS__)
#define dnnl_memory_desc_create_with_tag(...) \
  FAILING_MAKES(dnnl_memory_desc_create_with_tag, __VA_ARGS__)
#define dnnl_memory_desc_create_submemory(...) \
  FAILING_MAKES(dnnl_memory_desc_create_submemory, __VA_ARGS__)
#define dnnl_memory_desc_query(...) FAILING(dnnl_memory_desc_query, __VA_ARGS__)
#define dnnl_memory_desc_get_blob(...) FAILING(dnnl_memory_desc_get_blob, __VA_ARGS__)
#define dnnl_primitive_attr_create(...) FAILING_MAKES(dnnl_primitive_attr_create, __VA_ARGS__)
#define dnnl_primitive_attr_set_scratchpad_mode(...) \
  FAILING(dnnl_primitive_attr_set_scratchpad_mode, __VA_ARGS__)
#define dnnl_primitive_attr_set_fpmath_mode(...) \
  FAILING(dnnl_primitive_attr_set_fpmath_mode, __VA_ARGS__)
#define dnnl_primitive_attr_set_post_ops(...) FAILING(dnnl_primitive_attr_set_post_ops, __VA_ARGS__)
#define dnnl_primitive_attr_set_zero_points_mask(...) \
  FAILING(dnnl_primitive_attr_set_zero_points_mask, __VA_ARGS__)
#define dnnl_primitive_attr_set_scales_mask(...) \
  FAILING(dnnl_primitive_attr_set_scales_mask, __VA_ARGS__)
#define dnnl_post_ops_create(...) FAILING_MAKES(dnnl_post_ops_create, __VA_ARGS__)
#define dnnl_post_ops_append_eltwise(...) FAILING(dnnl_post_ops_append_eltwise, __VA_ARGS__)
#define dnnl_post_ops_append_binary(...) FAILING(dnnl_post_ops_append_binary, __VA_ARGS__)
#define dnnl_convolution_forward_primitive_desc_create(...) \
  FAILING_MAKES(dnnl_convolution_forward_primitive_desc_create, __VA_ARGS__)
#define dnnl_deconvolution_forward_primitive_desc_create(...) \
  FAILING_MAKES(dnnl_deconvolution_forward_primitive_desc_create, __VA_ARGS__)
#define dnnl_matmul_primitive_desc_create(...) \
  FAILING_MAKES(dnnl_matmul_primitive_desc_create, __VA_ARGS__)
#define dnnl_softmax_forward_primitive_desc_create(...) \
  FAILING_MAKES(dnnl_softmax_forward_primitive_desc_create, __VA_ARGS__)
#define dnnl_pooling_forward_primitive_desc_create(...) \
  FAILING_MAKES(dnnl_pooling_forward_primitive_desc_create, __VA_ARGS__)
#define dnnl_lrn_forward_primitive_desc_create(...) \
  FAILING_MAKES(dnnl_lrn_forward_primitive_desc_create, __VA_ARGS__)
#define dnnl_layer_normalization_forward_primitive_desc_create(...) \
  FAILING_MAKES(dnnl_layer_normalization_forward_primitive_desc_create, __VA_ARGS__)
#define dnnl_group_normalization_forward_primitive_desc_create(...) \
  FAILING_MAKES(dnnl_group_normalization_forward_primitive_desc_create, __VA_ARGS__)
#define dnnl_batch_normalization_forward_primitive_desc_create(...) \
  FAILING_MAKES(dnnl_batch_normalization_forward_primitive_desc_create, __VA_ARGS__)
#define dnnl_eltwise_forward_primitive_desc_create(...) \
  FAILING_MAKES(dnnl_eltwise_forward_primitive_desc_create, __VA_ARGS__)
#define dnnl_binary_primitive_desc_create(...) \
  FAILING_MAKES(dnnl_binary_primitive_desc_create, __VA_ARGS__)
#define dnnl_prelu_forward_primitive_desc_create(...) \
  FAILING_MAKES(dnnl_prelu_forward_primitive_desc_create, __VA_ARGS__)
#define dnnl_reduction_primitive_desc_create(...) \
  FAILING_MAKES(dnnl_reduction_primitive_desc_create, __VA_ARGS__)
#define dnnl_resampling_forward_primitive_desc_create(...) \
  FAILING_MAKES(dnnl_resampling_forward_primitive_desc_create, __VA_ARGS__)
#define dnnl_vanilla_rnn_forward_primitive_desc_create(...) \
  FAILING_MAKES(dnnl_vanilla_rnn_forward_primitive_desc_create, __VA_ARGS__)
#define dnnl_lbr_gru_forward_primitive_desc_create(...) \
  FAILING_MAKES(dnnl_lbr_gru_forward_primitive_desc_create, __VA_ARGS__)
#define dnnl_lstm_forward_primitive_desc_create(...) \
  FAILING_MAKES(dnnl_lstm_forward_primitive_desc_create, __VA_ARGS__)
#define dnnl_concat_primitive_desc_create(...) \
  FAILING_MAKES(dnnl_concat_primitive_desc_create, __VA_ARGS__)
#define dnnl_reorder_primitive_desc_create(...) \
  FAILING_MAKES(dnnl_reorder_primitive_desc_create, __VA_ARGS__)
#define dnnl_primitive_desc_query(...) FAILING(dnnl_primitive_desc_query, __VA_ARGS__)
#define dnnl_primitive_desc_query_md(...) FAILING_TELLS(dnnl_primitive_desc_query_md, __VA_ARGS__)
#define dnnl_primitive_create(...) FAILING_MAKES(dnnl_primitive_create, __VA_ARGS__)
#define dnnl_memory_create(...) FAILING_MAKES(dnnl_memory_create, __VA_ARGS__)
#define dnnl_memory_set_data_handle(...) FAILING(dnnl_memory_set_data_handle, __VA_ARGS__)
#define dnnl_primitive_execute(...) FAILING(dnnl_primitive_execute, __VA_ARGS__)

/* These are counted, and do not fail: nobody could do anything then. */
#define dnnl_engine_destroy(...) failing_ended((dnnl_engine_destroy)(__VA_ARGS__))
#define dnnl_stream_destroy(...) failing_ended((dnnl_stream_destroy)(__VA_ARGS__))
#define dnnl_memory_desc_destroy(...) failing_ended((dnnl_memory_desc_destroy)(__VA_ARGS__))
#define dnnl_primitive_attr_destroy(...) failing_ended((dnnl_primitive_attr_destroy)(__VA_ARGS__))
#define dnnl_post_ops_destroy(...) failing_ended((dnnl_post_ops_destroy)(__VA_ARGS__))
#define dnnl_primitive_desc_destroy(...) failing_ended((dnnl_primitive_desc_destroy)(__VA_ARGS__))
#define dnnl_primitive_destroy(...) failing_ended((dnnl_primitive_destroy)(__VA_ARGS__))
#define dnnl_memory_destroy(...) failing_ended((dnnl_memory_destroy)(__VA_ARGS__))

/* Of a description that is there these cannot fail, and what the processor has is asked by way of
 * the environment alone. */
#define dnnl_memory_desc_get_size(...) (dnnl_memory_desc_get_size)(__VA_ARGS__)
#define dnnl_memory_desc_equal(...) (dnnl_memory_desc_equal)(__VA_ARGS__)
#define dnnl_version(...) (dnnl_version)(__VA_ARGS__)
#define dnnl_threadpool_interop_get_max_concurrency(...) \
  (dnnl_threadpool_interop_get_max_concurrency)(__VA_ARGS__)
#define dnnl_get_effective_cpu_isa(...) (dnnl_get_effective_cpu_isa)(__VA_ARGS__)
#define dnnl_get_cpu_isa_hints(...) (dnnl_get_cpu_isa_hints)(__VA_ARGS__)
#define dnnl_set_max_cpu_isa(...) (dnnl_set_max_cpu_isa)(__VA_ARGS__)
// clang-format on
