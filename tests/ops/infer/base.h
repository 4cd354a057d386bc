// Operators that are in no other file of this folder.
#pragma once

#include "tests/ops/infer/draw.h"

namespace lk::infer {

inline void gemm(Draw &d) {
  const Dim m = d.dim(), k = d.dim(), n = d.dim();
  const int64_t a = d.between(0, 1), b = d.between(0, 1);
  d.tensor(a != 0 ? Shape{k, m} : Shape{m, k});
  d.tensor(b != 0 ? Shape{n, k} : Shape{k, n});
  if (d.one_of(2)) d.tensor(d.beside({m, n}));
  d.node.ints["transA"] = {a};
  d.node.ints["transB"] = {b};
}

inline Rules infer_base() {
  return {
      {"AveragePool", pool},
      {"BatchNormalization",
       [](Draw &d) {
         const Shape x = d.shape(2, 5);
         d.tensor(x);
         for (int i = 0; i < 4; i++) d.tensor({d.one_of(9) ? d.dim() : x[1]});
       }},
      {"Concat",
       [](Draw &d) {
         const Shape first = d.shape(1, 4);
         const size_t axis = size_t(d.between(0, int64_t(first.size()) - 1));
         for (int64_t n = d.between(1, 4); n > 0; n--) {
           Shape next = first;
           next[axis] = d.dim();
           d.tensor(next);
         }
         d.node.ints["axis"] = {int64_t(axis) - (d.one_of(2) ? int64_t(first.size()) : 0)};
       }},
      {"Constant", [](Draw &d) { d.node.ints["value_ints"] = d.many(3, 0, 9); }},
      {"ConstantOfShape", [](Draw &d) { d.ints(d.many(size_t(d.between(0, 4)), 0, 9)); }},
      {"Conv", [](Draw &d) { convolution(d, false); }},
      {"ConvTranspose", [](Draw &d) { convolution(d, true); }},
      {"Dropout",
       [](Draw &d) {
         unary(d);
         d.node.n_outputs = uint32_t(d.between(1, 2));
         if (d.one_of(2)) return;
         d.absent();
         d.list<uint8_t>({uint8_t(d.one_of(4))}, LK_BOOL, true);
       }},
      {"Flatten",
       [](Draw &d) {
         unary(d);
         d.node.ints["axis"] = {d.between(-4, 4)};
       }},
      {"Gather",
       [](Draw &d) {
         const Shape shape = d.shape(1, 4);
         d.tensor(shape);
         d.tensor(d.shape(0, 2), LK_I64);
         d.node.ints["axis"] = {d.between(-2, 2)};
       }},
      {"FusedGemm", gemm},
      {"Gemm", gemm},
      {"GlobalAveragePool", [](Draw &d) { d.tensor(d.shape(3, 5)); }},
      {"Identity", unary},
      {"LRN",
       [](Draw &d) {
         unary(d);
         d.node.ints["size"] = {3};
       }},
      {"MatMul",
       [](Draw &d) {
         Shape a = d.shape(1, 4), b = d.beside(a);
         if (b.empty()) b.push_back(d.dim());
         b[b.size() >= 2 ? b.size() - 2 : 0] = a.back();
         d.tensor(a);
         d.tensor(b);
       }},
      {"MaxPool",
       [](Draw &d) {
         pool(d);
         d.node.n_outputs = uint32_t(d.between(1, 2));
       }},
      {"Reshape",
       [](Draw &d) {
         const Shape x = d.shape(0, 4);
         std::vector<int64_t> to;
         for (const Dim &dim : x) to.push_back(d.one_of(2) ? 0 : dim.number);
         if (!to.empty() && d.one_of(2)) to[size_t(d.between(0, int64_t(to.size()) - 1))] = -1;
         if (d.one_of(4)) to.push_back(d.between(-1, 2));
         if (d.one_of(3)) to = {-1};
         if (d.one_of(4)) to = {0, -1};
         int64_t elements = 1;
         for (const Dim &dim : x) elements *= dim.number;
         for (int64_t n = 2; n < 5; n++) {
           if (elements % n == 0 && d.one_of(3)) to = {n, -1};
         }
         d.tensor(x);
         d.ints(to);
         d.node.opset = 14;
         d.node.ints["allowzero"] = {d.one_of(5)};
       }},
      {"Resize",
       [](Draw &d) {
         const Shape x = d.shape(1, 4);
         const float scales[] = {0.5F, 1, 1.5F, 2};
         d.tensor(x);
         d.list<float>({}, LK_F32);
         if (d.one_of(2)) {
           std::vector<float> given;
           for (size_t i = 0; i < x.size(); i++) given.push_back(scales[d.between(0, 3)]);
           d.list<float>(given, LK_F32);
         } else {
           d.absent();
           d.ints(d.many(x.size(), 1, 9));
         }
       }},
      {"Shape",
       [](Draw &d) {
         unary(d);
         d.node.opset = 15;
         if (d.one_of(2)) d.node.ints["start"] = {d.between(-3, 3)};
         if (d.one_of(2)) d.node.ints["end"] = {d.between(-3, 3)};
       }},
      {"Slice",
       [](Draw &d) {
         const Shape x = d.shape(1, 4);
         const size_t n = size_t(d.between(1, int64_t(x.size())));
         std::vector<int64_t> axes, ends = d.many(n, -4, 9);
         for (size_t i = 0; i < n; i++) axes.push_back(int64_t(x.size() - 1 - i));
         for (int64_t &end : ends) end = d.one_of(3) ? INT64_MAX : end;
         d.tensor(x);
         d.ints(d.one_of(2) ? std::vector<int64_t>(n) : d.many(n, -4, 9));
         d.ints(ends);
         if (d.one_of(3)) return;
         d.ints(axes);
         if (d.one_of(3)) d.ints(d.many(n, 1, 2));
       }},
      {"Squeeze",
       [](Draw &d) {
         Shape x = d.shape(0, 4);
         x.push_back(Draw::number(1));
         d.tensor(x);
         if (d.one_of(3)) return;
         d.ints({d.one_of(4) ? 0 : -1});
       }},
      {"Transpose",
       [](Draw &d) {
         const Shape x = d.shape(0, 4);
         std::vector<int64_t> perm;
         for (size_t i = 0; i < x.size(); i++) {
           perm.insert(perm.begin() + d.between(0, int64_t(i)), int64_t(i));
         }
         d.tensor(x);
         if (d.one_of(2) && !perm.empty()) d.node.ints["perm"] = perm;
       }},
      {"Unsqueeze",
       [](Draw &d) {
         const Shape x = d.shape(0, 4);
         d.tensor(x);
         d.ints(d.many(size_t(d.between(1, 2)), -2, int64_t(x.size())));
       }},
  };
}

} // namespace lk::infer
