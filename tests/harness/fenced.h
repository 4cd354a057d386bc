// Memory that ends before a page which nobody may read or write.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
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

} // namespace lk
