// Operators whose outputs are as large as the elements say.
#pragma once

#include "tests/ops/infer/draw.h"

namespace lk::infer {

inline void maybe_axis(Draw &d, const Shape &x) {
  if (d.one_of(2)) d.node.ints["axis"] = {d.between(-int64_t(x.size()), int64_t(x.size()) - 1)};
}

inline Rules infer_selection() {
  return {
      {"Compress",
       [](Draw &d) {
         const Shape x = d.shape(1, 4);
         d.tensor(x);
         d.tensor({d.dim()});
         d.node.inputs.back().dtype = LK_BOOL;
         maybe_axis(d, x);
       }},
      {"NonMaxSuppression",
       [](Draw &d) {
         const Dim batch = d.dim(), boxes = d.dim();
         d.tensor({batch, boxes, Draw::number(4)});
         d.tensor({batch, d.dim(), d.one_of(9) ? d.dim() : boxes});
       }},
      {"NonZero", unary},
      {"Unique",
       [](Draw &d) {
         const Shape x = d.shape(1, 4);
         d.tensor(x);
         maybe_axis(d, x);
         d.node.n_outputs = uint32_t(d.between(1, 4));
       }},
  };
}

} // namespace lk::infer
