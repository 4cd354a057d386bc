// Memory that ends before a page which nobody may read or write, and stacks behind such pages.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

namespace lk {

// Reads and writes behind its end are found in every build, and those of instructions that no
// sanitizer sees. It is aligned to what divides `bytes` and a page. Every byte is 0xcd.
class Fenced {
public:
  explicit Fenced(size_t bytes) {
    const size_t page = size_t(sysconf(_SC_PAGESIZE));
    const size_t pages = (bytes + page - 1) / page * page;
    size_ = pages + page;
    base_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(base_, MAP_FAILED);
    EXPECT_EQ(mprotect(static_cast<char *>(base_) + pages, page, PROT_NONE), 0);
    data_ = static_cast<char *>(base_) + pages - bytes;
    std::memset(data_, 0xcd, bytes);
  }
  ~Fenced() {
    if (base_ != nullptr) munmap(base_, size_);
  }
  Fenced(Fenced &&other) noexcept : base_(other.base_), data_(other.data_), size_(other.size_) {
    other.base_ = nullptr;
  }
  Fenced &operator=(Fenced &&) = delete;
  void *data() const { return data_; }

private:
  void *base_, *data_;
  size_t size_;
};

// Calls `work` on a thread of its own whose stack is small. Nobody may read or write so many bytes
// before that stack: what reads far before an array of its own is found, whatever else is mapped.
template <typename Work> void on_fenced_stack(size_t before, Work work) {
  constexpr size_t STACK = size_t{1} << 18;
  void *const base = mmap(nullptr, before + STACK, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(base, MAP_FAILED);
  ASSERT_EQ(mprotect(base, before, PROT_NONE), 0);
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  EXPECT_EQ(pthread_attr_setstack(&attributes, static_cast<char *>(base) + before, STACK), 0);
  pthread_t thread;
  const auto run = [](void *arg) -> void * {
    (*static_cast<Work *>(arg))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &work), 0);
  EXPECT_EQ(pthread_join(thread, nullptr), 0);
  EXPECT_EQ(pthread_attr_destroy(&attributes), 0);
  EXPECT_EQ(munmap(base, before + STACK), 0);
}

} // namespace lk
