// A node of each row for conformance_test.cc, which takes it through every path of the cache.
#pragma once

#include "tests/ops/reference.h"

namespace lk::conformance {

struct Node {
  const char *op;
  int32_t opset;
  std::vector<Value> inputs = {}, other = {}; // other: inputs of another shape
  std::vector<bool> constants = {};           // missing: at run time
  std::function<void(std::vector<lk_attr> *)> attrs = {};
  bool empty = true;       // a batch of 0 is allowed
  std::string domain = {}; // of one of several operators of this name
};

// Attributes that live as long as the tests.
inline void ints(std::vector<lk_attr> *attrs, const char *name, std::vector<int64_t> values) {
  static std::deque<std::vector<int64_t>> kept;
  kept.push_back(std::move(values));
  attrs->push_back(
      {name, LK_ATTR_INTS, static_cast<uint32_t>(kept.back().size()), kept.back().data()});
}
inline void text(std::vector<lk_attr> *attrs, const char *name, const char *value) {
  attrs->push_back({name, LK_ATTR_STRING, static_cast<uint32_t>(std::strlen(value)), value});
}
inline void kernel_of_2(std::vector<lk_attr> *attrs) {
  ints(attrs, "kernel_shape", {2, 2});
}

inline Value x(const Dims &dims) {
  return lk::random(dims, 7, 0.5F, 2);
}

} // namespace lk::conformance
