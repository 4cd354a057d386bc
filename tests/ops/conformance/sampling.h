// Operators that take elements between others.
#pragma once

#include "tests/ops/conformance/node.h"

namespace lk::conformance {

inline std::vector<Node> conformance_sampling() {
  const Dims a = {2, 3, 4, 4}, b = {3, 3, 5, 4};
  return {
      {.op = "AffineGrid",
       .opset = 20,
       .inputs = {x({2, 2, 3}), lk::ints({2, 3, 4, 4})},
       .other = {x({1, 3, 4}), lk::ints({1, 3, 2, 3, 2})},
       .empty = false},
      {.op = "DeformConv",
       .opset = 19,
       .inputs = {x(a), x({4, 3, 2, 2}), x({2, 8, 3, 3}), x({4}), x({2, 4, 3, 3})},
       .other = {x(b), x({4, 3, 2, 2}), x({3, 8, 4, 3}), x({4}), x({3, 4, 4, 3})},
       .constants = {0, 1, 0, 1, 0}},
      {.op = "GridSample",
       .opset = 20,
       .inputs = {x(a), x({2, 3, 5, 2})},
       .other = {x(b), x({3, 2, 2, 2})}},
      {.op = "GridSample",
       .opset = 1,
       .inputs = {x(a), x({2, 3, 5, 2})},
       .other = {x(b), x({3, 2, 2, 2})},
       .domain = "com.microsoft"},
      {.op = "MaxRoiPool",
       .opset = 22,
       .inputs = {x(a), tensor<float>({2, 5}, {0, 0, 1, 2, 3, 1, -1, 0, 5, 2})},
       .other = {x(b), tensor<float>({1, 5}, {2, 1, 1, 3, 2})},
       .attrs =
           [](auto *to) {
             ints(to, "pooled_shape", {2, 2});
           },
       .empty = false},
      {.op = "RoiAlign",
       .opset = 16,
       .inputs = {x(a), x({3, 4}), lk::ints({0, 1, 1})},
       .other = {x(b), x({2, 4}), lk::ints({2, 0})},
       .attrs = [](auto *to) { ints(to, "output_height", {2}); },
       .empty = false},
  };
}

} // namespace lk::conformance
