// Memory for benchmarks. From 4 MiB on it asks for huge pages, as numpy does for its arrays, in
// which the peers get their inputs: engines are compared on the same kind of memory.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

// Where numpy puts it: 16 bytes behind the beginning of a page where it is large.
struct AsOfNumpy {
  static void *allocate(std::size_t bytes) { return std::malloc(bytes); }
};
// At the beginning of a line of the cache, for kernels beside each other.
struct AtLines {
  static constexpr std::size_t LINE = 64;
  static void *allocate(std::size_t bytes) {
    return std::aligned_alloc(LINE, (bytes + LINE - 1) / LINE * LINE);
  }
};

template <typename T, typename Place> struct HugePages {
  using value_type = T;
  template <typename U> struct rebind { using other = HugePages<U, Place>; };
  static constexpr std::size_t HUGE_FROM = 4 << 20, PAGE = 4096;

  HugePages() = default;
  template <typename U> HugePages(const HugePages<U, Place> &) {}

  T *allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    void *data = Place::allocate(bytes);
    if (data == nullptr) throw std::bad_alloc();
    const std::size_t before = PAGE - reinterpret_cast<std::uintptr_t>(data) % PAGE;
    if (bytes >= HUGE_FROM) { // refused: ordinary pages
      madvise(static_cast<char *>(data) + before, bytes - before, MADV_HUGEPAGE);
    }
    return static_cast<T *>(data);
  }
  void deallocate(T *data, std::size_t) { std::free(data); }

  friend bool operator==(const HugePages &, const HugePages &) { return true; }
  friend bool operator!=(const HugePages &, const HugePages &) { return false; }
};

using Values = std::vector<float, HugePages<float, AsOfNumpy>>; // of a worker beside peers
using Lines = std::vector<float, HugePages<float, AtLines>>;    // of kernels beside kernels
