// Operators that move elements.
#pragma once

#include "tests/ops/conformance/node.h"

namespace lk::conformance {

inline std::vector<Node> conformance_moves() {
  using Ints = std::vector<std::pair<const char *, std::vector<int64_t>>>;
  std::vector<Node> all;
  const auto add = [&](const char *op, int32_t opset, std::vector<Value> inputs,
                       std::vector<Value> other, Ints attrs = {}, bool empty = true) {
    const auto set = [attrs](std::vector<lk_attr> *to) {
      for (const auto &[name, values] : attrs) ints(to, name, values);
    };
    all.push_back({op, opset, std::move(inputs), std::move(other), {}, set, empty});
  };
  const Value a = x({2, 3, 4, 4}), b = x({3, 3, 5, 4}), m = x({4, 6}), n = x({5, 6});
  const auto i = [](const Dims &dims, std::vector<int64_t> v) { return tensor<int64_t>(dims, v); };
  const Value pairs = i({2, 2}, {1, 0, 0, -1}), picks = i({2, 1, 2, 2}, {0, 1, 2, 1, 0, -1, 1, 0});
  const Value updates = x({2, 1, 2, 2}), rows = x({2, 4, 4});
  add("CenterCropPad", 18, {a, lk::ints({2, 4, 3, 5})}, {b, lk::ints({3, 2, 5, 6})}, {}, false);
  add("Col2Im", 18, {x({1, 8, 9}), lk::ints({4, 4}), lk::ints({2, 2})},
      {x({2, 4, 12}), lk::ints({5, 4}), lk::ints({2, 2})});
  add("DepthToSpace", 13, {x({2, 8, 3, 2})}, {x({1, 4, 5, 2})}, {{"blocksize", {2}}});
  add("Expand", 13, {x({3, 1}), lk::ints({2, 3, 4})}, {x({1, 1}), lk::ints({5, 2})}, {}, false);
  add("EyeLike", 9, {m}, {n}, {{"k", {1}}});
  add("GatherElements", 13, {a, picks}, {b, picks}, {{"axis", {1}}}, false);
  add("GatherND", 12, {a, pairs}, {b, i({1, 2}, {2, 1})}, {}, false);
  add("MaxUnpool", 11, {x({1, 1, 2, 2}), i({1, 1, 2, 2}, {0, 3, 8, 15})},
      {x({1, 1, 2, 1}), i({1, 1, 2, 1}, {1, 6})}, {{"kernel_shape", {2, 2}}, {"strides", {2, 2}}},
      false);
  add("OneHot", 11, {lk::ints({0, 2, -1}), lk::ints({3}), lk::floats({2}, {0, 1})},
      {lk::ints({1}), lk::ints({4}), lk::floats({2}, {0, 1})}, {}, false);
  add("Pad", 18, {a, lk::ints({0, 1, 2, 0, 0, 0, -1, 3})}, {b, lk::ints({0, 1, 2, 0, 0, 0, 1, 3})});
  add("Range", 11, {lk::ints({1}), lk::ints({8}), lk::ints({3})},
      {lk::ints({1}), lk::ints({9}), lk::ints({2})}, {}, false);
  add("ReverseSequence", 10, {m, lk::ints({1, 4, 0, 2, 3, 3})}, {n, lk::ints({1, 5, 0, 2, 3, 3})});
  for (const char *op : {"Scatter", "ScatterElements"}) {
    add(op, 18, {a, picks, updates}, {b, picks, updates}, {{"axis", {1}}}, false);
  }
  add("ScatterND", 18, {a, pairs, rows}, {b, pairs, x({2, 5, 4})}, {}, false);
  add("Size", 13, {a}, {b}, {}, false);
  add("SpaceToDepth", 13, {x({2, 3, 4, 6})}, {x({1, 2, 2, 4})}, {{"blocksize", {2}}});
  add("Split", 18, {a}, {b}, {{"axis", {2}}, {"num_outputs", {3}}});
  add("TensorScatter", 24, {a, x({2, 3, 2, 4}), lk::ints({1, 2})},
      {b, x({3, 3, 1, 4}), lk::ints({4, 0, 3})}, {}, false);
  add("Tile", 13, {m, lk::ints({2, 3})}, {n, lk::ints({1, 2})});
  add("TopK", 11, {a, lk::ints({2})}, {b, lk::ints({3})}, {{"axis", {1}}});
  add("Trilu", 14, {m, lk::ints({1})}, {n, lk::ints({-2})});
  add("Upsample", 9, {x({1, 2, 3, 4}), lk::floats({4}, {1, 1, 2, 1.5F})},
      {x({1, 2, 2, 4}), lk::floats({4}, {1, 1, 2, 2})});
  return all;
}

} // namespace lk::conformance
