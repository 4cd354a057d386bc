// What ONNX Runtime's optimizers make of several operators: com.microsoft.
#pragma once

#include "tests/ops/infer/draw.h"

namespace lk::infer {

// As memory has the dimensions of matrices whose last two are rows and columns.
inline Shape in_order(Shape shape, bool swaps, bool batch_inside) {
  if (shape.size() < 2) return shape;
  if (swaps) std::swap(shape.end()[-1], shape.end()[-2]);
  if (batch_inside) std::rotate(shape.begin(), shape.end() - 2, shape.end() - 1);
  return shape;
}

inline void fused_matmul(Draw &d) {
  Shape a = d.shape(1, 4), b = d.beside(a);
  if (b.empty()) b.push_back(d.dim());
  b[b.size() >= 2 ? b.size() - 2 : 0] = a.back();
  const char *const names[2][2] = {{"transA", "transBatchA"}, {"transB", "transBatchB"}};
  for (int i = 0; i < 2; i++) {
    const bool swaps = d.one_of(2), batch_inside = d.one_of(3);
    d.tensor(in_order(i == 0 ? a : b, swaps, batch_inside));
    d.node.ints[names[i][0]] = {swaps};
    if (d.node.op == "FusedMatMul") d.node.ints[names[i][1]] = {batch_inside};
  }
}

inline void fused_conv(Draw &d) {
  convolution(d, false);
  d.node.texts["activation"] = d.one_of(2) ? "Relu" : "Sigmoid";
  const Shape x = d.node.inputs[0].shape, w = d.node.inputs[1].shape;
  if (d.one_of(2)) return;
  d.absent();
  if (d.one_of(2) || d.node.ints.size() > 1) return;
  Shape z = {x[0], w[0]};
  for (size_t i = 2; i < x.size(); i++) {
    const int64_t size = x[i].number - w[i].number + 1;
    z.push_back(w[i].number == 1 && d.one_of(2) ? x[i] : Draw::number(std::max<int64_t>(size, 0)));
  }
  d.tensor(z);
}

inline void embedded(Draw &d, bool is_quantized) {
  const Dim batch = d.dim(), rows = d.dim(), width = d.dim();
  const uint32_t dtype = is_quantized ? LK_U8 : LK_F32;
  const bool has_segments = d.one_of(2);
  d.node.n_outputs = uint32_t(d.between(1, is_quantized ? 2 : 3));
  d.tensor({batch, rows}, LK_I32);
  if (has_segments) {
    d.tensor({batch, rows}, LK_I32);
  } else {
    d.absent();
  }
  for (int i = 0; i < 3; i++) {
    d.tensor({d.one_of(6) ? d.dim() : Draw::number(9), d.one_of(20) ? d.dim() : width}, dtype);
  }
  for (int i = 0; i < 2; i++) d.tensor({width}, dtype);
  if (d.one_of(2)) {
    d.tensor({batch, d.one_of(9) ? d.dim() : rows}, LK_I32);
  } else {
    d.absent();
  }
  for (int i = 0; is_quantized && i < 10; i++) {
    d.tensor(d.one_of(2) ? Shape{} : Shape{Draw::number(1)}, i < 5 ? LK_F32 : LK_U8);
  }
  if (is_quantized || d.one_of(2)) return;
  d.tensor({d.one_of(2) ? batch : Draw::number(1), rows}, LK_I32);
}

inline void matmul_n_bits(Draw &d) {
  const int64_t n = d.between(1, 9), blocks = d.between(1, 3), bits = d.one_of(2) ? 4 : 8;
  const int64_t k = d.between(16 * blocks - 15, 16 * blocks);
  const auto number = [&d](int64_t of) { return d.one_of(20) ? d.dim() : Draw::number(of); };
  Shape a = d.shape(0, 3);
  a.push_back(number(k));
  d.tensor(a);
  d.tensor({number(n), number(blocks), number(2 * bits)}, LK_U8);
  d.tensor(d.one_of(3) ? Shape{number(n * blocks)} : Shape{number(n), number(blocks)});
  d.node.ints = {{"K", {k}}, {"N", {n}}, {"bits", {bits}}, {"block_size", {16}}};
  if (d.one_of(2)) d.tensor({number(n), number((blocks * bits + 7) / 8)}, LK_U8);
}

inline void quantized_attention(Draw &d) {
  const Dim batch = d.dim(), rows = d.dim(), width = d.dim();
  d.node.ints["num_heads"] = {2};
  d.node.n_outputs = uint32_t(d.between(1, 2));
  d.tensor({batch, rows, width}, LK_U8);
  d.tensor({d.one_of(9) ? d.dim() : width, d.one_of(9) ? d.dim() : Draw::number(18)}, LK_I8);
  d.tensor({Draw::number(18)});
  d.tensor({});
  d.tensor(d.one_of(2) ? Shape{} : Shape{Draw::number(18)});
  d.absent();
  d.tensor({}, LK_U8);
  d.tensor(d.one_of(2) ? Shape{} : Shape{Draw::number(18)}, LK_I8);
  if (d.one_of(2)) return;
  d.tensor({Draw::number(2), batch, Draw::number(2), d.dim(), Draw::number(3)});
}

inline void channels_last(Draw &d, bool weights) {
  convolution(d, false);
  for (size_t i = 0; i < (weights ? 2 : 1); i++) {
    Shape &shape = d.node.inputs[i].shape;
    std::rotate(shape.begin() + 1, shape.begin() + 2, shape.end());
  }
}

inline void group_norm(Draw &d, bool skips) {
  Shape x = d.shape(3, 4);
  const bool is_last = d.one_of(2);
  Dim &channels = is_last ? x.back() : x[1];
  if (!d.one_of(4)) channels = Draw::number(2 * d.between(1, 4));
  d.node.ints = {{"groups", {2}}, {"channels_last", {is_last}}, {"activation", {d.between(0, 1)}}};
  d.tensor(x);
  for (int i = 0; i < 2; i++) d.tensor({channels});
  if (!skips) return;
  d.node.n_outputs = uint32_t(d.between(1, 2));
  d.tensor(d.one_of(2) ? x : Shape{x[0], channels});
  if (d.one_of(2)) d.tensor({channels});
}

inline Rules infer_fused() {
  return {
      {"BiasAdd",
       [](Draw &d) {
         const Shape x = d.shape(1, 4);
         d.tensor(x);
         d.tensor({x.back()});
         d.tensor(d.beside(x));
       }},
      {"BiasSplitGelu",
       [](Draw &d) {
         Shape x = d.shape(1, 4);
         if (d.one_of(2)) x.back() = Draw::number(2 * d.between(0, 4));
         d.tensor(x);
         d.tensor({x.back()});
       }},
      {"EmbedLayerNormalization", [](Draw &d) { embedded(d, false); }},
      {"ExpandDims",
       [](Draw &d) {
         unary(d);
         d.list<int32_t>({int32_t(d.between(-3, 2))}, LK_I32, d.one_of(2));
       }},
      {"FusedConv", fused_conv},
      {"FusedMatMul", fused_matmul},
      {"GatherBlockQuantized",
       [](Draw &d) {
         const int64_t bits = d.one_of(2) ? 4 : 8, blocks = d.between(1, 3);
         const Dim rows = d.dim(), last = Draw::number(2 * bits * blocks);
         d.tensor({rows, d.one_of(9) ? d.dim() : last}, LK_U8);
         d.tensor(d.shape(0, 3), d.one_of(2) ? LK_I32 : LK_I64);
         d.tensor({d.one_of(9) ? d.dim() : rows, Draw::number(blocks)});
         d.node.ints = {{"bits", {bits}}, {"block_size", {16}}};
       }},
      {"GroupNorm", [](Draw &d) { group_norm(d, false); }},
      {"MatMulNBits", matmul_n_bits},
      {"QLinearWhere",
       [](Draw &d) {
         const Shape shape = d.shape(0, 4);
         d.tensor(d.beside(shape), LK_BOOL);
         for (int i = 0; i < 3; i++) {
           if (i < 2) d.tensor(i == 0 ? shape : d.beside(shape), LK_U8);
           d.tensor({});
           d.tensor({}, LK_U8);
         }
       }},
      {"SkipGroupNorm", [](Draw &d) { group_norm(d, true); }},
      {"TransposeMatMul", fused_matmul},
      {"UnfoldTensor",
       [](Draw &d) {
         unary(d);
         d.node.ints = {{"size", {d.between(1, 3)}}, {"step", {d.between(1, 3)}}};
         if (d.one_of(2)) d.node.ints["dim"] = {d.between(-2, 2)};
       }},
      {"NhwcConv", [](Draw &d) { channels_last(d, true); }},
      {"NhwcFusedConv", [](Draw &d) { channels_last(d, false); }},
      {"NhwcMaxPool",
       [](Draw &d) {
         pool(d);
         Input &x = d.node.inputs[0];
         x.dtype = LK_U8;
         std::rotate(x.shape.begin() + 1, x.shape.begin() + 2, x.shape.end());
       }},
      {"QAttention", quantized_attention},
      {"QEmbedLayerNormalization", [](Draw &d) { embedded(d, true); }},
  };
}

} // namespace lk::infer
