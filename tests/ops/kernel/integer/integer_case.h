// What tests of kernels on bytes share: the loops of every instruction set that is here, and bytes.
#pragma once

#include <cmath>
#include <random>

#include "tests/harness/lk_test.h"
#include "tests/harness/op_value.h"

extern "C" {
#include "ops/kernel/integer/integer_loops.h"
}

namespace lk::integer_case {

inline std::vector<const lk_integer_loops *> all_loops() {
  std::vector<const lk_integer_loops *> found = {&lk_integer_base};
  if (lk_isa_get() >= LK_ISA_AVX2) found.push_back(&lk_integer_avx2);
  if (lk_isa_get() >= LK_ISA_AVX512) found.push_back(&lk_integer_avx512);
  if (lk_isa_get() >= LK_ISA_AVX512 && lk_isa_has_vnni()) found.push_back(&lk_integer_vnni);
  if (lk_isa_get() >= LK_ISA_AVX512 && lk_isa_has_amx()) found.push_back(&lk_integer_amx);
  return found;
}

using Bytes = std::vector<uint8_t>;

class Random {
public:
  explicit Random(unsigned seed) : random_(seed) {}
  int64_t between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  Bytes bytes(int64_t count) {
    Bytes made(static_cast<size_t>(count));
    const bool extreme = between(0, 3) == 0;
    for (uint8_t &byte : made) {
      byte = uint8_t(extreme ? between(0, 1) * 255 ^ between(0, 1) * 128 : between(0, 255));
    }
    return made;
  }

private:
  std::mt19937 random_;
};

inline Memory copy(const Bytes &bytes) {
  Memory memory(bytes.size());
  if (!bytes.empty()) std::memcpy(memory.data(), bytes.data(), bytes.size());
  return memory;
}

inline int32_t number(uint8_t byte, bool is_signed) {
  return is_signed ? int8_t(byte) : byte;
}

// A number that is no finite one in each tenth place: what scales of a model may be, too.
inline float any_scale(Random &random, float usual) {
  static const float others[] = {NAN, INFINITY, -INFINITY, 1e30F, -1e30F, 1e-40F, 0.0F, -0.001F};
  return random.between(0, 9) == 0 ? others[random.between(0, 7)] : usual;
}

// What a number becomes as a byte: rounded, saturated; NaN is the least one.
inline int32_t as_byte(float real, int32_t zero, bool is_signed) {
  const auto least = float((is_signed ? INT8_MIN : 0) - zero);
  const float held = real > least ? std::fmin(real, least + float(UINT8_MAX)) : least;
  return int32_t(std::nearbyint(held)) + zero;
}

} // namespace lk::integer_case
