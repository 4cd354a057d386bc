// Operators that take elements between others.
#pragma once

#include "tests/ops/infer/draw.h"

namespace lk::infer {

inline Rules infer_sampling() {
  return {
      {"AffineGrid",
       [](Draw &d) {
         const int64_t rank = d.between(2, 3);
         const auto size = d.many(size_t(rank) + 2, 0, 5);
         d.tensor({d.one_of(2) ? d.dim() : Draw::number(size[0]),
                   d.one_of(4) ? d.dim() : Draw::number(rank),
                   d.one_of(4) ? d.dim() : Draw::number(rank + 1)});
         d.ints(size);
         d.node.opset = 20;
       }},
      {"DeformConv",
       [](Draw &d) {
         const Dim batch = d.dim(), height = d.dim(), width = d.dim();
         const int64_t group = d.between(1, 2);
         const int64_t kernel = d.one_of(2) ? 1 : 3;
         const Dim taps = Draw::number(kernel);
         d.tensor({batch, d.one_of(4) ? d.dim() : Draw::number(2 * group), height, width});
         d.tensor({Draw::number(group * d.between(1, 3)), Draw::number(2), taps, taps});
         d.tensor({d.one_of(9) ? d.dim() : batch, Draw::number(2 * kernel * kernel),
                   d.one_of(9) ? d.dim() : height, width});
         d.node.ints["pads"] = std::vector<int64_t>(4, kernel / 2);
         d.node.ints["group"] = {group};
         d.node.opset = 19;
       }},
      {"GridSample",
       [](Draw &d) {
         const Shape x = d.shape(3, 5);
         Shape grid = {d.one_of(9) ? d.dim() : x[0]};
         while (grid.size() + 1 < x.size()) grid.push_back(d.dim());
         grid.push_back(d.one_of(9) ? d.dim() : Draw::number(int64_t(x.size()) - 2));
         d.tensor(x);
         d.tensor(grid);
         d.node.opset = 20;
       }},
      {"MaxRoiPool",
       [](Draw &d) {
         d.tensor(d.shape(4, d.one_of(9) ? 5 : 4));
         d.tensor({d.dim(), d.one_of(9) ? d.dim() : Draw::number(5)});
         d.node.ints["pooled_shape"] = d.many(2, 1, 3);
       }},
      {"RoiAlign",
       [](Draw &d) {
         const Dim regions = d.dim();
         d.tensor(d.shape(4, d.one_of(9) ? 5 : 4));
         d.tensor({regions, d.one_of(9) ? d.dim() : Draw::number(4)});
         d.tensor({d.one_of(9) ? d.dim() : regions}, LK_I64);
         d.node.ints["output_width"] = {d.between(1, 3)};
         d.node.opset = 16;
       }},
  };
}

} // namespace lk::infer
