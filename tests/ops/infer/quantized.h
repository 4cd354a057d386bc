// Whole numbers for real ones.
#pragma once

#include "tests/ops/infer/draw.h"

namespace lk::infer {

// X, and a scale of the whole, or along an axis.
inline void quantized(Draw &d, uint32_t dtype) {
  const Shape x = d.shape(1, 4);
  const int64_t axis = d.between(0, int64_t(x.size()) - 1);
  d.tensor(x);
  d.node.inputs.back().dtype = dtype;
  d.tensor(d.one_of(3) ? Shape{} : Shape{d.one_of(9) ? d.dim() : x[size_t(axis)]});
  d.node.ints["axis"] = {axis};
}

// A scale (f32) or zero point (u8) of the whole, or now and then of `count`.
inline void quantizer(Draw &d, uint32_t dtype, const Dim &count = Draw::number(1)) {
  d.tensor(d.one_of(2) ? Shape{} : Shape{d.one_of(2) ? count : Draw::number(1)}, dtype);
}

// Two matrices, each with what `behind` draws.
inline void matrices(Draw &d, uint32_t dtype, const std::function<void(const Dim &)> &behind) {
  Shape a = d.shape(1, 4), b = d.beside(a);
  if (b.empty()) b.push_back(d.dim());
  b[b.size() >= 2 ? b.size() - 2 : 0] = a.back();
  d.tensor(a, dtype);
  behind(Draw::number(1));
  d.tensor(b, LK_U8);
  behind(b.size() == 2 ? b.back() : Draw::number(1));
}

inline void as_bytes(Draw &d) {
  for (Input &input : d.node.inputs) input.dtype = LK_U8;
}

// What lies behind a quantized tensor, and a quantized output.
inline void quantizers(Draw &d, int count) {
  for (int i = 0; i < count; i++) {
    quantizer(d, LK_F32);
    quantizer(d, LK_U8);
  }
}
inline void qlinear_unary(Draw &d) {
  unary(d);
  as_bytes(d);
  quantizers(d, 2);
}
inline void qlinear_binary(Draw &d) {
  const Shape shape = d.shape(0, 4), other = d.beside(shape);
  d.tensor(shape, LK_U8);
  quantizers(d, 1);
  d.tensor(other, LK_U8);
  quantizers(d, 2);
}

inline Rules infer_quantized() {
  const auto nothing = [](const Dim &) {};
  return {
      {"ConvInteger",
       [](Draw &d) {
         convolution(d, false);
         as_bytes(d);
         if (d.one_of(2)) quantizer(d, LK_U8);
       }},
      {"DynamicQuantizeLinear",
       [](Draw &d) {
         d.tensor(d.shape(0, 4));
         d.node.n_outputs = 3;
       }},
      {"DynamicQuantizeMatMul",
       [nothing](Draw &d) {
         matrices(d, LK_F32, nothing);
         quantizer(d, LK_F32);
         quantizer(d, LK_U8);
       }},
      {"MatMulInteger",
       [nothing](Draw &d) {
         matrices(d, LK_I8, nothing);
         if (d.one_of(2)) quantizer(d, LK_I8);
       }},
      {"MatMulIntegerToFloat",
       [nothing](Draw &d) {
         matrices(d, LK_U8, nothing);
         quantizer(d, LK_F32);
         quantizer(d, LK_F32);
       }},
      {"QGemm",
       [](Draw &d) {
         const Dim m = d.dim(), k = d.dim(), n = d.dim();
         const int64_t a = d.between(0, 1), b = d.between(0, 1);
         d.tensor(a != 0 ? Shape{k, m} : Shape{m, k}, LK_U8);
         quantizer(d, LK_F32);
         quantizer(d, LK_U8);
         d.tensor(b != 0 ? Shape{n, k} : Shape{k, n}, LK_U8);
         quantizer(d, LK_F32, n);
         quantizer(d, LK_U8, n);
         if (d.one_of(2)) d.tensor(d.beside({m, n}), LK_I32);
         d.node.ints["transA"] = {a};
         d.node.ints["transB"] = {b};
       }},
      {"QLinearAdd", qlinear_binary},
      {"QLinearAveragePool",
       [](Draw &d) {
         pool(d);
         as_bytes(d);
         quantizers(d, 2);
       }},
      {"QLinearConcat",
       [](Draw &d) {
         const Shape first = d.shape(1, 4);
         const size_t axis = size_t(d.between(0, int64_t(first.size()) - 1));
         quantizers(d, 1);
         for (int64_t n = d.between(1, 4); n > 0; n--) {
           Shape next = first;
           next[axis] = d.dim();
           d.tensor(next, LK_U8);
           quantizers(d, 1);
         }
         d.node.ints["axis"] = {int64_t(axis)};
       }},
      {"QLinearConv",
       [](Draw &d) {
         convolution(d, false);
         as_bytes(d);
         const Input w = d.node.inputs[1];
         d.node.inputs.pop_back();
         for (int i = 0; i < 3; i++) {
           if (i == 1) d.node.inputs.push_back(w);
           quantizer(d, LK_F32, i == 1 ? w.shape[0] : Draw::number(1));
           quantizer(d, LK_U8, i == 1 ? w.shape[0] : Draw::number(1));
         }
         if (d.one_of(2)) d.tensor({d.one_of(9) ? d.dim() : w.shape[0]}, LK_I32);
       }},
      {"QLinearGlobalAveragePool",
       [](Draw &d) {
         d.tensor(d.shape(3, 5), LK_U8);
         quantizers(d, 2);
       }},
      {"QLinearLeakyRelu", qlinear_unary},
      {"QLinearMatMul",
       [](Draw &d) {
         const auto behind = [&d](const Dim &count) {
           quantizer(d, LK_F32, count);
           quantizer(d, LK_U8, count);
         };
         matrices(d, LK_U8, behind);
         behind(Draw::number(1));
       }},
      {"DequantizeLinear", [](Draw &d) { quantized(d, LK_I8); }},
      {"QLinearMul", qlinear_binary},
      {"QLinearSigmoid", qlinear_unary},
      {"QLinearSoftmax",
       [](Draw &d) {
         d.tensor(d.shape(1, 4), LK_U8);
         quantizers(d, 2);
         d.node.ints["axis"] = {d.between(-2, 3)};
         d.node.ints["opset"] = {d.one_of(2) ? 13 : 11};
       }},
      {"QuantizeLinear", [](Draw &d) { quantized(d, LK_F32); }},
  };
}

} // namespace lk::infer
