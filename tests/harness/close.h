// How tests compare numbers: each element within atol + rtol * |right|, for that element alone.
// A bound that grows with the largest of a tensor hides wrong small elements beside it.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "tests/harness/op_value.h"

namespace lk {

// The default is for f32 and sums of some dozens of products of numbers about 1: rounding loses
// 6e-8 of such a sum at each step. A test that needs more says why where it asks for more.
struct Within {
  double rtol = 1e-5;
  double atol = 1e-6;
  double of(double right) const { return atol + rtol * std::fabs(right); }
};
inline constexpr Within EXACTLY = {0, 0};

// For sums of `terms` products of numbers up to 1, which may cancel: on the way they are about the
// root of `terms`, and each of `terms` steps rounds that, up or down.
inline Within of_sums(int64_t terms) {
  return {1e-5, 1e-6 + 2e-8 * static_cast<double>(terms)};
}

// A NaN is right where a NaN is expected and nowhere else, an infinity where that one is.
inline bool is_close(double right, double found, const Within &within = {}) {
  if (std::isnan(right) || std::isnan(found)) return std::isnan(right) && std::isnan(found);
  if (std::isinf(right) || std::isinf(found)) return right == found;
  return std::fabs(found - right) <= within.of(right);
}

// "[1, 0, 7]", the index of an element by its number.
inline std::string index_text(const Dims &dims, int64_t number) {
  std::string text;
  for (size_t i = dims.size(); i-- > 0;) {
    text = std::to_string(number % dims[i]) + (text.empty() ? "" : ", ") + text;
    number /= dims[i];
  }
  return "[" + text + "]";
}

template <typename Right, typename Found>
::testing::AssertionResult all_close(const Dims &dims, const std::vector<Right> &right,
                                     const std::vector<Found> &found, const Within &within = {}) {
  const size_t count = static_cast<size_t>(count_of(dims));
  if (right.size() != count || found.size() != count) {
    return ::testing::AssertionFailure()
           << found.size() << " elements, expected " << right.size() << ", of " << count;
  }
  size_t first = count, bad = 0;
  for (size_t i = count; i-- > 0;) {
    if (is_close(double(right[i]), double(found[i]), within)) continue;
    first = i;
    bad++;
  }
  if (bad == 0) return ::testing::AssertionSuccess();
  const double x = double(right[first]);
  return ::testing::AssertionFailure()
         << "element " << index_text(dims, int64_t(first)) << " is " << double(found[first])
         << ", expected " << x << " within " << within.of(x) << "; " << bad << " of " << count
         << " are wrong";
}

template <typename Right, typename Found>
::testing::AssertionResult all_close(const std::vector<Right> &right,
                                     const std::vector<Found> &found, const Within &within = {}) {
  return all_close(Dims{int64_t(right.size())}, right, found, within);
}

// IEEE 754 leaves the bits of a NaN open, and instruction sets differ in them.
inline bool is_nan_of_16_bits(uint32_t dtype, uint64_t bits) {
  if (dtype == LK_F16) return (bits & 0x7fff) > 0x7c00;
  return dtype == LK_BF16 && (bits & 0x7fff) > 0x7f80;
}

// Everything but f32 and f64: bit by bit, but that any NaN equals any other.
inline ::testing::AssertionResult all_equal(const Value &right, const Value &found) {
  const size_t size = dtype_bytes(right.desc.dtype), count = right.bytes.size() / size;
  const auto bits_of = [size](const Value &value, size_t i) {
    uint64_t bits = 0; // x86-64 is little-endian
    std::memcpy(&bits, &value.bytes[i * size], size);
    return bits;
  };
  size_t first = count, bad = 0;
  for (size_t i = count; i-- > 0;) {
    const uint64_t x = bits_of(right, i), y = bits_of(found, i);
    if (x == y ||
        (is_nan_of_16_bits(right.desc.dtype, x) && is_nan_of_16_bits(right.desc.dtype, y))) {
      continue;
    }
    first = i;
    bad++;
  }
  if (bad == 0) return ::testing::AssertionSuccess();
  const auto hex = [size](uint64_t bits) {
    std::string text;
    for (size_t i = 2 * size; i-- > 0;) text += "0123456789abcdef"[(bits >> 4 * i) & 15];
    return "0x" + text;
  };
  return ::testing::AssertionFailure()
         << "element " << index_text(right.dims(), int64_t(first)) << " is "
         << hex(bits_of(found, first)) << ", expected " << hex(bits_of(right, first)) << "; " << bad
         << " of " << count << " are wrong";
}

// Types and shapes are equal; f32 and f64 are within the bound, other types are equal.
inline ::testing::AssertionResult all_close(const Value &right, const Value &found,
                                            const Within &within = {}) {
  if (right.desc.dtype != found.desc.dtype || right.dims() != found.dims()) {
    return ::testing::AssertionFailure()
           << text_of(found.desc) << ", expected " << text_of(right.desc);
  }
  const Dims dims = right.dims();
  if (right.desc.dtype == LK_F32) {
    return all_close(dims, right.as<float>(), found.as<float>(), within);
  }
  if (right.desc.dtype == LK_F64) {
    return all_close(dims, right.as<double>(), found.as<double>(), within);
  }
  return all_equal(right, found);
}

} // namespace lk
