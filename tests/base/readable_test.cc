// Memory of files that are cut while they are mapped.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include "tests/harness/folder.h"
#include "tests/harness/lk_test.h"

extern "C" {
#include "base/readable.h"
}

namespace {

const size_t kPage = size_t(sysconf(_SC_PAGESIZE));

class Readable : public ::testing::Test {
protected:
  void SetUp() override {
    path = folder.write("f", std::string(kPages * kPage, 'x'));
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    bytes =
        static_cast<const char *>(mmap(nullptr, kPages * kPage, PROT_READ, MAP_PRIVATE, file, 0));
    close(file);
    ASSERT_NE(bytes, MAP_FAILED);
  }
  void TearDown() override { munmap(const_cast<char *>(bytes), kPages * kPage); }
  void cut(size_t size) const { ASSERT_EQ(truncate(path.c_str(), off_t(size)), 0); }

  static constexpr size_t kPages = 5;
  lk::Folder folder;
  std::string path;
  const char *bytes = nullptr;
};

TEST_F(Readable, LooksAtTheLastByte) {
  EXPECT_TRUE(lk_is_readable(bytes, kPages * kPage));
  cut(3 * kPage);
  EXPECT_FALSE(lk_is_readable(bytes, kPages * kPage));
  EXPECT_FALSE(lk_is_readable(bytes, 3 * kPage + 1));
  EXPECT_TRUE(lk_is_readable(bytes, 3 * kPage));
  EXPECT_FALSE(lk_is_readable(bytes + 3 * kPage, 1));
  EXPECT_TRUE(lk_is_readable(bytes + 3 * kPage, 0)) << "nothing needs no memory";
  cut(0);
  EXPECT_FALSE(lk_is_readable(bytes, 1));
  cut(kPages * kPage);
  EXPECT_TRUE(lk_is_readable(bytes, kPages * kPage)) << "it has grown again";
}

TEST_F(Readable, IsAllMemoryOfTheProcess) {
  static const int constant = 1;
  const std::vector<char> heap(1000);
  const int local = 2;
  EXPECT_TRUE(lk_is_readable(&constant, sizeof constant));
  EXPECT_TRUE(lk_is_readable(heap.data(), heap.size()));
  EXPECT_TRUE(lk_is_readable(&local, sizeof local));
}

} // namespace
