// Tensors that own their bytes, and how two lists of them are compared.
#pragma once

#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/executor_glue/onnx/proto_writer.h"
#include "tests/harness/close.h"

namespace ort {

struct Tensor {
  uint32_t dtype = 0;
  std::vector<int64_t> dims;
  std::string bytes;

  template <typename T> std::vector<T> data() const {
    std::vector<T> out(bytes.size() / sizeof(T));
    if (!out.empty()) memcpy(out.data(), bytes.data(), bytes.size());
    return out;
  }
};

template <typename T> uint32_t dtype_of() {
  if (std::is_same<T, float>::value) return LK_F32;
  if (std::is_same<T, double>::value) return LK_F64;
  if (std::is_same<T, int32_t>::value) return LK_I32;
  if (std::is_same<T, int64_t>::value) return LK_I64;
  return LK_BOOL;
}
template <typename T> Tensor tensor(std::vector<int64_t> dims, const std::vector<T> &data) {
  return {dtype_of<T>(), std::move(dims), proto::raw(data)};
}
inline Tensor flag(bool value) { // std::vector<bool> has no bytes
  return {LK_BOOL, {}, std::string(1, value ? '\1' : '\0')};
}

// Numbers between -1 and 1 that look random, and are the same everywhere.
inline std::vector<float> numbers(size_t count, uint32_t seed) {
  std::vector<float> out(count);
  uint32_t state = seed * 2654435761u + 12345u;
  for (float &x : out) {
    state = state * 1664525u + 1013904223u;
    x = static_cast<float>(state >> 8) / static_cast<float>(1 << 23) - 1.0f;
  }
  return out;
}
inline Tensor noise(std::vector<int64_t> dims, uint32_t seed) {
  size_t count = 1;
  for (int64_t d : dims) count *= static_cast<size_t>(d);
  return tensor<float>(std::move(dims), numbers(count, seed));
}

// Types and shapes are equal; so are integers, and floats within the bound.
inline void expect_same(const std::vector<Tensor> &got, const std::vector<Tensor> &wanted,
                        const lk::Within &within = {}) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); i++) {
    SCOPED_TRACE("output " + std::to_string(i));
    EXPECT_EQ(got[i].dtype, wanted[i].dtype);
    ASSERT_EQ(got[i].dims, wanted[i].dims);
    if (wanted[i].dtype != LK_F32) {
      EXPECT_EQ(got[i].bytes, wanted[i].bytes);
      continue;
    }
    EXPECT_TRUE(
        lk::all_close(wanted[i].dims, wanted[i].data<float>(), got[i].data<float>(), within));
  }
}

} // namespace ort
