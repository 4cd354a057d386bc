// What the tests of matrix products and convolutions share.
#pragma once

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "tests/harness/close.h"
#include "tests/harness/lk_test.h"

extern "C" {
#include "base/team/team.h"
#include "ops/kernel/isa.h"
}

namespace lk {

// Guarded on both sides: a kernel that writes too much is seen.
class Guarded {
public:
  explicit Guarded(size_t size) : data_(size + 2 * kGuard, kMark) {}
  float *get() { return data_.data() + kGuard; }
  const float *get() const { return data_.data() + kGuard; }
  size_t size() const { return data_.size() - 2 * kGuard; }
  float &operator[](size_t i) { return get()[i]; }
  float operator[](size_t i) const { return get()[i]; }
  void check() const {
    for (size_t i = 0; i < kGuard; i++) {
      ASSERT_EQ(data_[i], kMark);
      ASSERT_EQ(data_[data_.size() - 1 - i], kMark);
    }
  }
  bool has_bits_of(const Guarded &other) const {
    return data_.size() == other.data_.size() &&
           std::memcmp(data_.data(), other.data_.data(), data_.size() * sizeof(float)) == 0;
  }

private:
  static constexpr size_t kGuard = 80; // wider than a tile
  static constexpr float kMark = -12345.0F;
  std::vector<float> data_;
};

inline Guarded random_floats(size_t size, std::mt19937 &random) {
  Guarded made(size);
  std::uniform_real_distribution<float> number(-1, 1);
  for (size_t i = 0; i < size; i++) made[i] = number(random);
  return made;
}

// Those that this machine has.
inline std::vector<lk_isa> instruction_sets() {
  std::vector<lk_isa> sets;
  for (int isa = LK_ISA_BASE; isa <= lk_isa_get(); isa++) sets.push_back(lk_isa(isa));
  return sets;
}

// For sums of `terms` products of numbers up to 1, added one after the other.
inline double tolerance(int64_t terms) {
  return 4e-6 + 1e-7 * double(terms);
}

// With a team of so many threads.
template <typename Work> void with_threads(int threads, const Work &work) {
  const int before = lk_team_begin(threads);
  work();
  lk_team_end(before);
}

} // namespace lk
