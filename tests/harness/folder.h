// A folder of a test's own.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace lk {

// A folder that is removed with what is in it.
class Folder {
public:
  Folder() {
    char name[] = "/tmp/lk_test_XXXXXX";
    path_ = mkdtemp(name);
  }
  Folder(const Folder &) = delete;
  ~Folder() { (void)!system(("rm -rf '" + path_ + "'").c_str()); }
  const std::string &path() const { return path_; }
  std::string write(const std::string &name, const std::string &bytes) const {
    const std::string path = path_ + "/" + name;
    FILE *file = fopen(path.c_str(), "wb");
    EXPECT_NE(file, nullptr) << path;
    if (file != nullptr) {
      EXPECT_EQ(fwrite(bytes.data(), 1, bytes.size(), file), bytes.size());
      fclose(file);
    }
    return path;
  }

private:
  std::string path_;
};

} // namespace lk
