// Operators that take elements between others.
#pragma once

#include "tests/ops/infer/draw.h"

namespace lk::infer {

inline Rules infer_sampling() {
  return {
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
  };
}

} // namespace lk::infer
