// Operators whose outputs are as large as the elements say.
#pragma once

#include "tests/ops/conformance/node.h"

namespace lk::conformance {

inline std::vector<Node> conformance_selection() {
  const Dims a = {4, 3}, b = {5, 3};
  const auto truths = [](int64_t n) {
    Value value = x({n});
    value.desc.dtype = LK_BOOL;
    value.bytes.assign(static_cast<size_t>(n), 1);
    value.bytes[0] = 0;
    return value;
  };
  const auto first = [](auto *to) { ints(to, "axis", {0}); };
  const Value least = lk::floats({}, {0.6F});
  const Node non_max = {.op = "NonMaxSuppression",
                        .opset = 11,
                        .inputs = {x({1, 5, 4}), x({1, 2, 5}), lk::ints({3}), least, least},
                        .other = {x({1, 6, 4}), x({1, 2, 6}), lk::ints({3}), least, least},
                        .empty = false};
  return {
      {.op = "Compress",
       .opset = 11,
       .inputs = {x(a), truths(4)},
       .other = {x(b), truths(4)},
       .attrs = first},
      non_max,
      {.op = "NonZero", .opset = 13, .inputs = {x(a)}, .other = {x(b)}},
      {.op = "Unique", .opset = 11, .inputs = {x(a)}, .other = {x(b)}, .attrs = first},
  };
}

} // namespace lk::conformance
