// Products of matrices and convolutions on tiles that serve every size, and oneDNN's primitives of
// one size beside them, on the same operands.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

#include "benchmarks/beside.h"

extern "C" {
#include "ops/kernel/conv/conv.h"
#include "ops/kernel/conv/conv_transposed.h"
#include "ops/kernel/conv/depthwise_weights.h"
#include "ops/kernel/product/matmul.h"
}

namespace beside {

// A primitive of these operands. Takes over the descriptor.
inline std::unique_ptr<Primitive> make_primitive(dnnl_primitive_desc_t desc,
                                                 const_dnnl_memory_desc_t plain_weights,
                                                 const Buffer &src, const Buffer &weights,
                                                 const Buffer *bias, const Buffer &dst) {
  const auto descriptor = [&](dnnl_query_t what, int index) {
    return dnnl_primitive_desc_query_md(desc, what, index);
  };
  auto primitive = std::make_unique<Primitive>(desc);
  primitive->add(DNNL_ARG_SRC, descriptor(dnnl_query_src_md, 0), src);
  primitive->add(DNNL_ARG_DST, descriptor(dnnl_query_dst_md, 0), dst);
  if (bias != nullptr) {
    primitive->add(DNNL_ARG_BIAS, descriptor(dnnl_query_weights_md, 1), *bias);
  }
  primitive->add_reordered(DNNL_ARG_WEIGHTS, descriptor(dnnl_query_weights_md, 0), plain_weights,
                           weights);
  return primitive;
}

// A kernel of ours: bytes of parameters and packed weights.
struct Kernel {
  std::vector<std::max_align_t> params;
  lk_kernel_fn kernel;
  std::unique_ptr<Buffer> packed;
  void run(void *const *pointers) const { check(kernel(params.data(), pointers, nullptr)); }
};

template <typename Params, typename Pack>
Kernel pack(Params params, int64_t size, lk_kernel_fn kernel, const Buffer &weights, Pack pack) {
  Kernel made;
  made.params.resize(sizeof params / sizeof(std::max_align_t) + 1);
  std::memcpy(made.params.data(), &params, sizeof params);
  made.kernel = kernel;
  made.packed = std::make_unique<Buffer>(size);
  pack(&params, weights.get(), made.packed->get());
  return made;
}

// ---- convolutions, with a bias and Relu ----

// The parameters of any kind of convolution.
template <typename Conv> Conv with_relu(const lk_conv_shape &shape) {
  Conv conv = {};
  conv.shape = shape;
  conv.isa = lk_isa_get();
  if constexpr (std::is_same_v<Conv, lk_conv>) {
    conv.product.high = INFINITY;
  } else {
    conv.high = INFINITY;
  }
  conv.has_bias = true;
  return conv;
}

// With `adds`, to what is in the output.
inline Kernel plan_conv(const lk_conv_shape &shape, const Buffer &weights, bool adds) {
  auto conv = with_relu<lk_conv>(shape);
  conv.has_residual = adds;
  lk_conv_plan(&conv);
  return pack(conv, lk_conv_packed_size(&conv), lk_conv_kernel, weights, lk_conv_pack);
}

inline Kernel plan_transposed(const lk_conv_shape &shape, const Buffer &weights) {
  auto conv = with_relu<lk_conv_transposed>(shape);
  lk_conv_transposed_plan(&conv);
  return pack(conv, lk_conv_transposed_packed_size(&conv), lk_conv_transposed_kernel, weights,
              lk_conv_transposed_pack);
}

inline Kernel plan_depthwise(const lk_conv_shape &shape, bool is_transposed,
                             const Buffer &weights) {
  auto conv = with_relu<lk_depthwise>(shape);
  conv.is_transposed = is_transposed;
  lk_depthwise_plan(&conv, conv.isa);
  return pack(conv, lk_depthwise_packed_size(&conv), lk_depthwise_kernel, weights,
              lk_depthwise_pack);
}

enum class Kind { ORDINARY, TRANSPOSED };

inline Kernel plan(Kind kind, const lk_conv_shape &shape, const Buffer &weights,
                   bool adds = false) {
  const bool is_transposed = kind == Kind::TRANSPOSED;
  if (lk_depthwise_takes(&shape, lk_isa_get()))
    return plan_depthwise(shape, is_transposed, weights);
  return is_transposed ? plan_transposed(shape, weights) : plan_conv(shape, weights, adds);
}

// Plain weights are in ONNX's order: a transposed convolution has inputs first.
inline dnnl_format_tag_t plain_tag(Kind kind, const lk_conv_shape &shape) {
  if (kind == Kind::TRANSPOSED) return shape.groups > 1 ? dnnl_giohw : dnnl_iohw;
  return shape.groups > 1 ? dnnl_goihw : dnnl_oihw;
}

inline std::unique_ptr<Primitive> conv_primitive(Kind kind, const lk_conv_shape &shape,
                                                 const Buffer &x, const Buffer &w, const Buffer &b,
                                                 const Buffer &out, bool adds = false) {
  const int64_t channels = shape.groups * shape.out_channels;
  std::vector<dnnl_dim_t> weights = {shape.out_channels, shape.in_channels, shape.kernel[1],
                                     shape.kernel[2]};
  if (shape.groups > 1) weights.insert(weights.begin(), shape.groups);
  dnnl_memory_desc_t descs[] = {
      describe({1, shape.groups * shape.in_channels, shape.in[1], shape.in[2]}, dnnl_nhwc),
      describe(weights, dnnl_format_tag_any), describe(weights, plain_tag(kind, shape)),
      describe({channels}, dnnl_a), describe({1, channels, shape.out[1], shape.out[2]}, dnnl_nhwc)};
  const dnnl_dims_t strides = {shape.stride[1], shape.stride[2]}, ones = {0, 0},
                    pads = {shape.pad[1], shape.pad[2]};
  dnnl_primitive_attr_t attr = nullptr;
  dnnl_post_ops_t post_ops = nullptr;
  dnnl_primitive_desc_t desc = nullptr;
  check(dnnl_primitive_attr_create(&attr));
  check(dnnl_post_ops_create(&post_ops));
  if (adds) check(dnnl_post_ops_append_sum(post_ops, 1, 0, dnnl_data_type_undef));
  check(dnnl_post_ops_append_eltwise(post_ops, dnnl_eltwise_relu, 0, 0));
  check(dnnl_primitive_attr_set_post_ops(attr, post_ops));
  const bool is_transposed = kind == Kind::TRANSPOSED;
  check((is_transposed ? dnnl_deconvolution_forward_primitive_desc_create
                       : dnnl_convolution_forward_primitive_desc_create)(
      &desc, engine, dnnl_forward_inference,
      is_transposed ? dnnl_deconvolution_direct : dnnl_convolution_direct, descs[0], descs[1],
      descs[3], descs[4], strides, ones, pads, pads, attr));
  auto primitive = make_primitive(desc, descs[2], x, w, &b, out);
  check(dnnl_post_ops_destroy(post_ops));
  check(dnnl_primitive_attr_destroy(attr));
  for (dnnl_memory_desc_t each : descs) check(dnnl_memory_desc_destroy(each));
  return primitive;
}

struct ConvSize {
  int64_t in, out, kernel_h, kernel_w, stride, pad, height, width;
};

inline lk_conv_shape shape_of(const ConvSize &size) {
  lk_conv_shape shape = {};
  shape.batch = shape.groups = 1;
  shape.in_channels = size.in;
  shape.out_channels = size.out;
  const int64_t in[] = {1, size.height, size.width}, kernel[] = {1, size.kernel_h, size.kernel_w};
  for (int d = 0; d < LK_CONV_DIMS; d++) {
    shape.in[d] = in[d];
    shape.kernel[d] = kernel[d];
    shape.stride[d] = d > 0 ? int32_t(size.stride) : 1;
    shape.dilation[d] = 1;
    shape.pad[d] = kernel[d] > 1 ? int32_t(size.pad) : 0;
    shape.out[d] = (in[d] + 2 * shape.pad[d] - kernel[d]) / shape.stride[d] + 1;
  }
  return shape;
}

// ---- products of matrices ----

struct MatmulSize {
  int64_t rows, k, columns;
};

inline Kernel plan_matmul(const MatmulSize &size, const Buffer &weights) {
  lk_matmul matmul = {};
  matmul.isa = lk_isa_get();
  matmul.rows = size.rows;
  matmul.columns = matmul.b_k = matmul.c_row = size.columns;
  matmul.k = matmul.a_row = size.k;
  matmul.a_k = matmul.b_column = 1;
  matmul.b_is_packed = true;
  matmul.low = -INFINITY;
  matmul.high = INFINITY;
  lk_matmul_plan(&matmul);
  return pack(matmul, lk_matmul_packed_size(&matmul), lk_matmul_kernel, weights, lk_matmul_pack);
}

inline std::unique_ptr<Primitive> matmul_primitive(const MatmulSize &size, const Buffer &a,
                                                   const Buffer &b, const Buffer &out) {
  dnnl_memory_desc_t descs[] = {
      describe({size.rows, size.k}, dnnl_ab), describe({size.k, size.columns}, dnnl_format_tag_any),
      describe({size.k, size.columns}, dnnl_ab), describe({size.rows, size.columns}, dnnl_ab)};
  dnnl_primitive_desc_t desc = nullptr;
  check(dnnl_matmul_primitive_desc_create(&desc, engine, descs[0], descs[1], nullptr, descs[3],
                                          nullptr));
  auto primitive = make_primitive(desc, descs[2], a, b, nullptr, out);
  for (dnnl_memory_desc_t each : descs) check(dnnl_memory_desc_destroy(each));
  return primitive;
}

} // namespace beside
