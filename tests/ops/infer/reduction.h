// Reductions, and what goes along one dimension.
#pragma once

#include "tests/ops/infer/draw.h"

namespace lk::infer {

inline Rules infer_reduction() {
  Rules rules;
  for (const char *op : {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax",
                         "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"}) {
    rules[op] = [](Draw &d) {
      const Shape x = d.shape(0, 4);
      d.tensor(x);
      d.node.opset = d.one_of(2) ? 12 : 18;
      d.node.ints["keepdims"] = {d.between(0, 1)};
      if (d.one_of(4)) d.node.ints["noop_with_empty_axes"] = {1};
      axes_behind(d, int64_t(x.size()), d.node.opset == 18);
    };
  }
  for (const char *op : {"ArgMax", "ArgMin"}) {
    rules[op] = [](Draw &d) {
      const Shape x = d.shape(1, 4);
      d.tensor(x);
      d.node.ints["axis"] = {d.between(-int64_t(x.size()), int64_t(x.size()) - 1)};
      d.node.ints["keepdims"] = {d.between(0, 1)};
    };
  }
  for (const char *op : {"CumProd", "CumSum"}) {
    rules[op] = [](Draw &d) {
      const Shape x = d.shape(1, 4);
      d.tensor(x);
      d.list<int64_t>({d.between(-int64_t(x.size()), int64_t(x.size()) - 1)}, LK_I64, d.one_of(2));
    };
  }
  for (const char *op : {"Hardmax", "LogSoftmax", "Softmax"}) {
    rules[op] = [](Draw &d) {
      unary(d);
      d.node.opset = d.one_of(2) ? 11 : 13;
      d.node.ints["axis"] = {d.between(-3, 3)};
    };
  }
  return rules;
}

} // namespace lk::infer
