// A file of a test's own that is mapped for reading, and may be cut meanwhile.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "tests/harness/folder.h"
#include "tests/harness/lk_test.h"

namespace lk {

class MappedFile {
public:
  explicit MappedFile(std::string bytes) : content(std::move(bytes)) {
    restore();
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    data =
        static_cast<const char *>(mmap(nullptr, content.size(), PROT_READ, MAP_PRIVATE, file, 0));
    close(file);
    EXPECT_NE(data, MAP_FAILED);
  }
  MappedFile(const MappedFile &) = delete;
  ~MappedFile() { munmap(const_cast<char *>(data), content.size()); }
  void cut(size_t size = 0) const { EXPECT_EQ(truncate(path.c_str(), off_t(size)), 0); }
  void restore() { path = folder.write("f", content); }

  const char *data = nullptr;

private:
  Folder folder;
  std::string path, content;
};

} // namespace lk
