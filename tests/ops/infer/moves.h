// Operators that move elements.
#pragma once

#include "tests/ops/infer/draw.h"

namespace lk::infer {

inline Dims numbers(const Shape &shape) {
  Dims all;
  for (const Dim &dim : shape) all.push_back(dim.number);
  return all;
}

// Data and indices that are a part of it; then updates.
inline void elements(Draw &d, bool updates) {
  const Shape data = d.shape(1, 4);
  Shape indices = data;
  const int64_t axis = d.between(0, int64_t(data.size()) - 1);
  indices[size_t(axis)] = d.dim();
  if (d.one_of(6)) indices[0] = d.dim();
  d.tensor(data);
  d.tensor(indices, LK_I64);
  if (updates) d.tensor(indices);
  d.node.ints["axis"] = {axis};
}

// Data, tuples that point into it behind `batch` dimensions, and the slices that they pick.
inline void tuples(Draw &d, size_t batch, bool updates) {
  const Shape data = d.shape(int64_t(batch) + 1, 4);
  const size_t tuple = size_t(d.between(1, int64_t(data.size() - batch)));
  Shape indices(data.begin(), data.begin() + long(batch));
  for (int64_t n = d.between(0, 2); n > 0; n--) indices.push_back(d.dim());
  Shape slices = indices;
  slices.insert(slices.end(), data.begin() + long(batch + tuple), data.end());
  indices.push_back(Draw::number(int64_t(tuple)));
  d.tensor(data);
  d.tensor(indices, LK_I64);
  if (updates) d.tensor(slices);
}

inline void blocks(Draw &d, int64_t channels, int64_t size) {
  const auto dim = [&](int64_t n) { return d.one_of(2) ? d.dim() : Draw::number(n); };
  d.tensor({d.dim(), dim(channels), dim(size), dim(2 * size)});
  d.node.ints["blocksize"] = {2};
}

inline Rules infer_moves() {
  return {
      {"CenterCropPad",
       [](Draw &d) {
         const Shape x = d.shape(1, 4);
         d.tensor(x);
         d.ints(d.many(x.size(), 0, 9));
         d.node.opset = 18;
       }},
      {"Col2Im",
       [](Draw &d) {
         const int64_t h = d.between(1, 5), w = d.between(1, 5);
         d.tensor({d.dim(), d.one_of(2) ? d.dim() : Draw::number(8),
                   d.one_of(4) ? d.dim() : Draw::number(h * w)});
         d.ints({h + 1, w + 1});
         d.ints({2, 2});
         d.node.opset = 18;
       }},
      {"DepthToSpace", [](Draw &d) { blocks(d, 8, 3); }},
      {"Expand",
       [](Draw &d) {
         const Shape to = d.shape(0, 4);
         d.tensor(d.beside(to));
         d.ints(numbers(to));
       }},
      {"EyeLike",
       [](Draw &d) {
         d.tensor({d.dim(), d.dim()});
         if (d.one_of(2)) d.node.ints["dtype"] = {LK_I64};
       }},
      {"GatherElements", [](Draw &d) { elements(d, false); }},
      {"GatherND",
       [](Draw &d) {
         const int64_t batch = d.between(0, 1);
         tuples(d, size_t(batch), false);
         d.node.ints["batch_dims"] = {batch};
       }},
      {"MaxUnpool",
       [](Draw &d) {
         const Shape x = d.shape(3, 4);
         d.tensor(x);
         d.tensor(x, LK_I64);
         d.node.ints["kernel_shape"] = d.many(x.size() - 2, 2, 3);
         d.node.ints["strides"] = d.many(x.size() - 2, 1, 2);
         if (d.one_of(2)) d.ints(d.many(x.size(), 1, 20));
       }},
      {"OneHot",
       [](Draw &d) {
         const Shape x = d.shape(0, 4);
         d.tensor(x, LK_I64);
         d.list<int64_t>({d.between(0, 9)}, LK_I64, d.one_of(2));
         d.tensor({Draw::number(2)});
         d.node.ints["axis"] = {d.between(-int64_t(x.size()) - 1, int64_t(x.size()))};
       }},
      {"Pad",
       [](Draw &d) {
         const Shape x = d.shape(1, 4);
         const bool some = d.one_of(2);
         d.tensor(x);
         d.ints(d.many(some ? 2 : 2 * x.size(), -1, 3));
         d.node.opset = some ? 18 : 13;
         if (!some) return;
         d.absent();
         d.ints({d.between(-int64_t(x.size()), int64_t(x.size()) - 1)});
       }},
      {"Range",
       [](Draw &d) {
         for (const int64_t n : {d.between(-9, 9), d.between(-9, 9), d.between(1, 3)}) {
           d.list<int64_t>({n}, LK_I64, true);
         }
       }},
      {"ReverseSequence",
       [](Draw &d) {
         const Shape x = d.shape(2, 4);
         const int64_t time = d.between(0, 1);
         d.tensor(x);
         d.tensor({x[size_t(1 - time)]}, LK_I64);
         d.node.ints["time_axis"] = {time};
         d.node.ints["batch_axis"] = {1 - time};
       }},
      {"Scatter", [](Draw &d) { elements(d, true); }},
      {"ScatterElements", [](Draw &d) { elements(d, true); }},
      {"ScatterND", [](Draw &d) { tuples(d, 0, true); }},
      {"Size", unary},
      {"SpaceToDepth", [](Draw &d) { blocks(d, 3, 4); }},
      {"Split",
       [](Draw &d) {
         const Shape x = d.shape(1, 4);
         const int64_t axis = d.between(-int64_t(x.size()), int64_t(x.size()) - 1);
         const int64_t dim = x[size_t((axis + int64_t(x.size())) % int64_t(x.size()))].number;
         d.tensor(x);
         d.node.ints["axis"] = {axis};
         d.node.n_outputs = 2;
         d.node.opset = d.one_of(2) ? 13 : 18;
         const int64_t first = d.between(0, dim);
         if (d.one_of(2)) {
           d.ints({first, dim - first});
         } else if (d.node.opset == 18) {
           d.node.ints["num_outputs"] = {2};
         }
       }},
      {"TensorScatter",
       [](Draw &d) {
         Shape x = d.shape(2, 4);
         const size_t axis = size_t(d.between(1, int64_t(x.size()) - 1));
         d.tensor(x);
         d.node.ints["axis"] = {int64_t(axis)};
         if (d.one_of(2)) x[axis] = Draw::number(d.between(0, 2));
         d.tensor(x);
         if (d.one_of(2)) d.tensor({x[0]}, LK_I64);
       }},
      {"Tile",
       [](Draw &d) {
         const Shape x = d.shape(0, 4);
         d.tensor(x);
         d.ints(d.many(x.size(), 0, 3));
       }},
      {"TopK",
       [](Draw &d) {
         const Shape x = d.shape(1, 4);
         d.tensor(x);
         d.ints({d.between(0, 3)});
         d.node.n_outputs = 2;
         d.node.ints["axis"] = {d.between(-int64_t(x.size()), int64_t(x.size()) - 1)};
       }},
      {"Trilu",
       [](Draw &d) {
         d.tensor(d.shape(2, 4));
         if (d.one_of(2)) d.list<int64_t>({d.between(-3, 3)}, LK_I64, true);
       }},
      {"Upsample",
       [](Draw &d) {
         const Shape x = d.shape(1, 4);
         std::vector<float> scales;
         for (size_t i = 0; i < x.size(); i++) scales.push_back(0.5F * float(d.between(1, 5)));
         d.tensor(x);
         d.list<float>(scales, LK_F32);
       }},
  };
}

} // namespace lk::infer
