// The names of oneDNN that the benchmarks use, so that all of them are compiled where it is not
// installed: a change of ours that breaks one is seen then. Nothing is linked with this. The
// functions take any arguments: whether those are right is seen where oneDNN is.
#pragma once

#include <cstdint>

using dnnl_engine_t = struct dnnl_engine *;
using dnnl_memory_t = struct dnnl_memory *;
using dnnl_memory_desc_t = struct dnnl_memory_desc *;
using dnnl_post_ops_t = struct dnnl_post_ops *;
using dnnl_primitive_t = struct dnnl_primitive *;
using dnnl_primitive_attr_t = struct dnnl_primitive_attr *;
using dnnl_primitive_desc_t = struct dnnl_primitive_desc *;
using dnnl_stream_t = struct dnnl_stream *;
using const_dnnl_memory_desc_t = const struct dnnl_memory_desc *;
using dnnl_dim_t = int64_t;
using dnnl_dims_t = dnnl_dim_t[12];

struct dnnl_exec_arg_t {
  int arg;
  dnnl_memory_t memory;
};

enum dnnl_status_t { dnnl_success };
enum dnnl_data_type_t {
  dnnl_bf16,
  dnnl_data_type_undef,
  dnnl_f16,
  dnnl_f32,
  dnnl_s32,
  dnnl_s8,
  dnnl_u8
};
enum dnnl_format_tag_t {
  dnnl_a,
  dnnl_ab,
  dnnl_abc,
  dnnl_abcd,
  dnnl_abcde,
  dnnl_acb,
  dnnl_acdb,
  dnnl_acdeb,
  dnnl_format_tag_any,
  dnnl_giohw,
  dnnl_goihw,
  dnnl_iohw,
  dnnl_nhwc,
  dnnl_oihw
};
enum dnnl_query_t {
  dnnl_query_dst_md,
  dnnl_query_impl_info_str,
  dnnl_query_src_md,
  dnnl_query_weights_md
};
enum dnnl_alg_kind_t {
  dnnl_binary_add,
  dnnl_binary_div,
  dnnl_binary_max,
  dnnl_binary_mul,
  dnnl_binary_sub,
  dnnl_convolution_direct,
  dnnl_deconvolution_direct,
  dnnl_eltwise_clip,
  dnnl_eltwise_elu,
  dnnl_eltwise_exp,
  dnnl_eltwise_gelu_erf,
  dnnl_eltwise_gelu_tanh,
  dnnl_eltwise_hardswish,
  dnnl_eltwise_log,
  dnnl_eltwise_logistic,
  dnnl_eltwise_mish,
  dnnl_eltwise_relu,
  dnnl_eltwise_soft_relu,
  dnnl_eltwise_sqrt,
  dnnl_eltwise_swish,
  dnnl_eltwise_tanh,
  dnnl_lrn_across_channels,
  dnnl_pooling_avg_exclude_padding,
  dnnl_pooling_max,
  dnnl_reduction_mean,
  dnnl_resampling_linear,
  dnnl_resampling_nearest,
  dnnl_softmax_accurate
};
enum { dnnl_cpu, dnnl_forward_inference, dnnl_scratchpad_mode_user, dnnl_stream_default_flags };
enum {
  DNNL_ARG_BIAS,
  DNNL_ARG_DST,
  DNNL_ARG_FROM,
  DNNL_ARG_MULTIPLE_SRC,
  DNNL_ARG_SRC,
  DNNL_ARG_SRC_0,
  DNNL_ARG_SRC_1,
  DNNL_ARG_TO,
  DNNL_ARG_WEIGHTS
};
#define DNNL_ARG_ATTR_MULTIPLE_POST_OP(index) (index)
#define DNNL_MEMORY_ALLOCATE nullptr

extern "C" {
dnnl_status_t dnnl_binary_primitive_desc_create(...);
dnnl_status_t dnnl_concat_primitive_desc_create(...);
dnnl_status_t dnnl_convolution_forward_primitive_desc_create(...);
dnnl_status_t dnnl_deconvolution_forward_primitive_desc_create(...);
dnnl_status_t dnnl_eltwise_forward_primitive_desc_create(...);
dnnl_status_t dnnl_engine_create(...);
dnnl_status_t dnnl_engine_destroy(...);
dnnl_status_t dnnl_lrn_forward_primitive_desc_create(...);
dnnl_status_t dnnl_matmul_primitive_desc_create(...);
dnnl_status_t dnnl_memory_create(...);
dnnl_status_t dnnl_memory_desc_create_with_tag(...);
dnnl_status_t dnnl_memory_desc_destroy(...);
dnnl_status_t dnnl_memory_destroy(...);
dnnl_status_t dnnl_pooling_forward_primitive_desc_create(...);
dnnl_status_t dnnl_post_ops_append_binary(...);
dnnl_status_t dnnl_post_ops_append_eltwise(...);
dnnl_status_t dnnl_post_ops_append_sum(...);
dnnl_status_t dnnl_post_ops_create(...);
dnnl_status_t dnnl_post_ops_destroy(...);
dnnl_status_t dnnl_primitive_attr_create(...);
dnnl_status_t dnnl_primitive_attr_destroy(...);
dnnl_status_t dnnl_primitive_attr_set_post_ops(...);
dnnl_status_t dnnl_primitive_attr_set_scratchpad_mode(...);
dnnl_status_t dnnl_primitive_create(...);
dnnl_status_t dnnl_primitive_desc_destroy(...);
dnnl_status_t dnnl_primitive_desc_query(...);
const_dnnl_memory_desc_t dnnl_primitive_desc_query_md(...);
dnnl_status_t dnnl_primitive_destroy(...);
dnnl_status_t dnnl_primitive_execute(...);
dnnl_status_t dnnl_reduction_primitive_desc_create(...);
dnnl_status_t dnnl_reorder_primitive_desc_create(...);
dnnl_status_t dnnl_resampling_forward_primitive_desc_create(...);
dnnl_status_t dnnl_softmax_forward_primitive_desc_create(...);
dnnl_status_t dnnl_stream_create(...);
dnnl_status_t dnnl_stream_destroy(...);
dnnl_status_t dnnl_threadpool_interop_set_max_concurrency(...);
dnnl_status_t dnnl_threadpool_interop_stream_create(...);
}
