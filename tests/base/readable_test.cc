// Memory of files that are cut while they are mapped.
#include <unistd.h>

#include <vector>

#include "tests/harness/mapped_file.h"

extern "C" {
#include "base/readable.h"
}

namespace {

TEST(Readable, LooksAtTheLastByte) {
  const size_t page = size_t(sysconf(_SC_PAGESIZE)), size = 5 * page;
  const lk::MappedFile file(std::string(size, 'x'));
  EXPECT_TRUE(lk_is_readable(file.data, size));
  file.cut(3 * page);
  EXPECT_FALSE(lk_is_readable(file.data, size));
  EXPECT_FALSE(lk_is_readable(file.data, 3 * page + 1));
  EXPECT_TRUE(lk_is_readable(file.data, 3 * page));
  EXPECT_FALSE(lk_is_readable(file.data + 3 * page, 1));
  EXPECT_TRUE(lk_is_readable(file.data + 3 * page, 0)) << "nothing needs no memory";
  file.cut(0);
  EXPECT_FALSE(lk_is_readable(file.data, 1));
  file.cut(size);
  EXPECT_TRUE(lk_is_readable(file.data, size)) << "it has grown again";
}

TEST(Readable, IsAllMemoryOfTheProcess) {
  static const int constant = 1;
  const std::vector<char> heap(1000);
  const int local = 2;
  EXPECT_TRUE(lk_is_readable(&constant, sizeof constant));
  EXPECT_TRUE(lk_is_readable(heap.data(), heap.size()));
  EXPECT_TRUE(lk_is_readable(&local, sizeof local));
}

} // namespace
