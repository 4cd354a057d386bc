// Memory of the kind that numpy's arrays have, in which the peers get their inputs: from 4 MiB on
// it asks for huge pages, with which a kernel that mostly moves data is up to a third faster.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

template <typename T> struct AsOfNumpy {
  using value_type = T;
  static constexpr std::size_t HUGE_FROM = 4 << 20, HUGE_PAGE = 2 << 20, LINE = 64;

  AsOfNumpy() = default;
  template <typename U> AsOfNumpy(const AsOfNumpy<U> &) {}

  T *allocate(std::size_t count) {
    const bool is_huge = count * sizeof(T) >= HUGE_FROM;
    const std::size_t step = is_huge ? HUGE_PAGE : LINE;
    const std::size_t bytes = (count * sizeof(T) + step - 1) / step * step;
    void *data = std::aligned_alloc(step, bytes);
    if (data == nullptr) throw std::bad_alloc();
    if (is_huge) madvise(data, bytes, MADV_HUGEPAGE); // refused: ordinary pages
    return static_cast<T *>(data);
  }
  void deallocate(T *data, std::size_t) { std::free(data); }

  friend bool operator==(const AsOfNumpy &, const AsOfNumpy &) { return true; }
  friend bool operator!=(const AsOfNumpy &, const AsOfNumpy &) { return false; }
};

using Values = std::vector<float, AsOfNumpy<float>>;
