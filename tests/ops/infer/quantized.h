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

inline Rules infer_quantized() {
  return {
      {"DequantizeLinear", [](Draw &d) { quantized(d, LK_I8); }},
      {"QuantizeLinear", [](Draw &d) { quantized(d, LK_F32); }},
  };
}

} // namespace lk::infer
