// Files that are written whole or not at all: what is at their path, which rights they get, and
// what is left when it fails. Devices, FIFOs and links are the test's own.
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "tests/harness/folder.h"
#include "tests/harness/lk_test.h"

extern "C" {
#include "base/alloc.h"
#include "base/whole_file.h"
}

namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

std::string read(const std::string &path) {
  std::ostringstream all;
  all << std::ifstream(path).rdbuf();
  return all.str();
}

mode_t mode_of(const std::string &path) {
  struct stat info = {};
  EXPECT_EQ(lstat(path.c_str(), &info), 0) << path;
  return info.st_mode;
}

// Processes of their own may leave root's rights, or set limits.
template <typename Body> void in_child(Body body) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    body();
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

class WholeFile : public ::testing::Test {
protected:
  lk_status write(const std::string &path, const std::string &text = "new") {
    return lk_whole_file_write(allocator.get(), "a text", path.c_str(), text.data(), text.size(),
                               LK_ERR);
  }
  std::string in(const std::string &name) const { return folder.path() + "/" + name; }
  size_t files() const {
    return size_t(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()));
  }
  lk::Folder folder;
  lk::FailingAllocator allocator;
};

TEST_F(WholeFile, IsNewOrReplacesOne) {
  for (const char *text : {"first", "second"}) {
    LK_ASSERT_OK(write(in("a"), text));
    EXPECT_EQ(read(in("a")), text);
    EXPECT_EQ(files(), 1u);
  }
}

TEST_F(WholeFile, HasTheRightsOfAnyNewFileOrOfTheOldOne) {
  for (const mode_t mask : {0022, 0077, 0002}) {
    const mode_t before = umask(mask);
    LK_EXPECT_OK(write(in("a" + std::to_string(mask))));
    EXPECT_EQ(umask(before), mask) << "the mask of the process is another one";
    EXPECT_EQ(mode_of(in("a" + std::to_string(mask))) & 07777, 0666u & ~mask);
  }
  for (const mode_t mode : {0600, 0640, 0755, 0400}) {
    std::ofstream(in("old")) << "old";
    ASSERT_EQ(chmod(in("old").c_str(), mode), 0);
    LK_EXPECT_OK(write(in("old")));
    EXPECT_EQ(mode_of(in("old")) & 07777, mode);
    ASSERT_EQ(unlink(in("old").c_str()), 0);
  }
}

TEST_F(WholeFile, KeepsTheOwner) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  std::ofstream(in("theirs")) << "old";
  ASSERT_EQ(chown(in("theirs").c_str(), 1234, 2345), 0);
  LK_ASSERT_OK(write(in("theirs")));
  struct stat info = {};
  ASSERT_EQ(stat(in("theirs").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 1234u);
  EXPECT_EQ(info.st_gid, 2345u);
}

TEST_F(WholeFile, NobodyReadsWhatReplacesASecretBeforeItHasItsMode) {
  std::ofstream(in("secret")) << "old";
  ASSERT_EQ(chmod(in("secret").c_str(), 0600), 0);
  lk_whole_file file;
  LK_ASSERT_OK(lk_whole_file_begin(allocator.get(), "a text", in("secret").c_str(), &file, LK_ERR));
  for (const auto &each : fs::directory_iterator(folder.path())) {
    EXPECT_EQ(mode_of(each.path()) & 0777, 0600u) << each.path();
  }
  lk_whole_file_discard(&file);
}

TEST_F(WholeFile, LinksAreFollowedAndStay) {
  ASSERT_EQ(mkdir(in("there").c_str(), 0700), 0);
  std::ofstream(in("there/file")) << "old";
  ASSERT_EQ(symlink("there/file", in("relative").c_str()), 0);
  ASSERT_EQ(symlink(in("relative").c_str(), in("absolute").c_str()), 0);
  ASSERT_EQ(symlink("there", in("way").c_str()), 0);
  ASSERT_EQ(symlink("there/new", in("dangling").c_str()), 0);
  for (const char *name : {"relative", "absolute", "way/file"}) {
    LK_ASSERT_OK(write(in(name), name));
    EXPECT_EQ(read(in("there/file")), name);
  }
  LK_ASSERT_OK(write(in("dangling")));
  EXPECT_EQ(read(in("there/new")), "new");
  for (const char *name : {"relative", "absolute", "way", "dangling"}) {
    EXPECT_TRUE(S_ISLNK(mode_of(in(name)))) << name;
  }
  EXPECT_TRUE(S_ISREG(mode_of(in("there/file"))));
}

TEST_F(WholeFile, LinksInACircleAreASentence) {
  ASSERT_EQ(symlink("b", in("a").c_str()), 0);
  ASSERT_EQ(symlink("a", in("b").c_str()), 0);
  LK_EXPECT_STATUS(LK_IO, write(in("a")));
  EXPECT_EQ(LK_MESSAGE,
            "failed to write a text to '" + in("a") + "': Too many levels of symbolic links");
}

// As Linux does it where fs.protected_symlinks is set.
TEST_F(WholeFile, LinksThatOthersPlantedInAStickyFolderAreNotFollowed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root makes links of others";
  std::ofstream(in("precious")) << "precious";
  ASSERT_EQ(mkdir(in("tmp").c_str(), 0700), 0);
  ASSERT_EQ(chmod(in("tmp").c_str(), 01777), 0);
  ASSERT_EQ(symlink("../precious", in("tmp/theirs").c_str()), 0);
  ASSERT_EQ(lchown(in("tmp/theirs").c_str(), 1234, 1234), 0);
  ASSERT_EQ(symlink("../precious", in("tmp/own").c_str()), 0);
  LK_EXPECT_STATUS(LK_IO, write(in("tmp/theirs")));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("Permission denied"));
  EXPECT_EQ(read(in("precious")), "precious");
  LK_EXPECT_OK(write(in("tmp/own")));
  EXPECT_EQ(read(in("precious")), "new");
}

TEST_F(WholeFile, ADeviceIsWrittenToAndStays) {
  const std::string null = in("null");
  if (mknod(null.c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0) {
    GTEST_SKIP() << "this user makes no devices";
  }
  ASSERT_EQ(symlink("null", in("link").c_str()), 0);
  for (const char *name : {"null", "link"}) {
    LK_ASSERT_OK(write(in(name)));
    EXPECT_TRUE(S_ISCHR(mode_of(null)));
  }
  EXPECT_TRUE(S_ISLNK(mode_of(in("link"))));
  EXPECT_EQ(files(), 2u);
  const std::string full = in("full");
  ASSERT_EQ(mknod(full.c_str(), S_IFCHR | 0666, makedev(1, 7)), 0);
  LK_EXPECT_STATUS(LK_IO, write(full));
  EXPECT_EQ(LK_MESSAGE, "failed to write a text to '" + full + "': No space left on device");
  EXPECT_TRUE(S_ISCHR(mode_of(full)));
}

TEST_F(WholeFile, APipeGetsAllAndStays) {
  const std::string fifo = in("fifo"), text(1 << 20, 'x');
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = read(fifo); });
  LK_EXPECT_OK(write(fifo, text));
  reader.join();
  EXPECT_EQ(got, text);
  EXPECT_TRUE(S_ISFIFO(mode_of(fifo)));
  EXPECT_EQ(files(), 1u);
}

TEST_F(WholeFile, WhatIsOpenUnderANumberIsWrittenToFromWhereItIs) {
  const int fd = open(in("a").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(::write(fd, "before ", 7), 7);
  struct stat at_first = {}, now = {};
  ASSERT_EQ(fstat(fd, &at_first), 0);
  const std::string number = std::to_string(fd);
  ASSERT_EQ(symlink(("/proc/self/fd/" + number).c_str(), in("stdout").c_str()), 0);
  for (const std::string &path :
       {"/proc/self/fd/" + number, "/dev/fd/" + number,
        "/proc/" + std::to_string(getpid()) + "/fd/" + number, in("stdout")}) {
    LK_EXPECT_OK(write(path, "."));
  }
  ASSERT_EQ(::write(fd, " after", 6), 6);
  ASSERT_EQ(stat(in("a").c_str(), &now), 0);
  EXPECT_EQ(now.st_ino, at_first.st_ino);
  EXPECT_EQ(read(in("a")), "before .... after");
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  LK_EXPECT_OK(write("/proc/self/fd/" + std::to_string(ends[1]), "pipe"));
  char got[8] = "";
  EXPECT_EQ(::read(ends[0], got, sizeof got), 4);
  for (const int each : {fd, ends[0], ends[1]}) close(each);
  LK_EXPECT_STATUS(LK_IO, write("/proc/self/fd/" + number));
}

// Names of temporary files that could be guessed would be links to what must not be changed.
TEST_F(WholeFile, NothingThatIsThereIsOpened) {
  std::ofstream(in("precious")) << "precious";
  std::set<std::string> seen;
  for (int i = 0; i < 20; i++) {
    lk_whole_file file;
    LK_ASSERT_OK(lk_whole_file_begin(allocator.get(), "a text", in("a").c_str(), &file, LK_ERR));
    EXPECT_TRUE(seen.insert(file.temporary).second);
    const std::string tail = std::string(file.temporary).substr(strlen(".a."));
    EXPECT_EQ(tail.size(), 16u);
    EXPECT_EQ(tail.find_first_not_of("0123456789abcdef"), std::string::npos);
    lk_whole_file_discard(&file);
  }
  // The old names, and that of the process.
  for (const std::string name : {"a.part", "a.XXXXXX"}) {
    ASSERT_EQ(symlink("precious", in(name).c_str()), 0);
  }
  const std::string of_thread = in("a." + std::to_string(gettid()) + ".part");
  ASSERT_EQ(symlink("precious", of_thread.c_str()), 0);
  LK_ASSERT_OK(write(in("a")));
  EXPECT_EQ(read(in("precious")), "precious");
  EXPECT_TRUE(S_ISREG(mode_of(in("a"))));
}

TEST_F(WholeFile, LeavesNothingWhenItFails) {
  in_child([&] {
    std::ofstream(in("a")) << "old";
    const rlimit limit = {1000, 1000};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0); // a disk that is full
    signal(SIGXFSZ, SIG_IGN);
    for (const char *name : {"a", "b"}) {
      LK_EXPECT_STATUS(LK_IO, write(in(name), std::string(5000, 'x')));
      EXPECT_EQ(LK_MESSAGE, "failed to write a text to '" + in(name) + "': File too large");
    }
    EXPECT_EQ(read(in("a")), "old");
    EXPECT_EQ(files(), 1u);
  });
}

// The write that fails may be followed by calls that succeed, or that fail in another way.
TEST_F(WholeFile, SaysWhyWhateverCameBetween) {
  for (const int between : {0, ENOENT}) {
    lk_whole_file file;
    LK_ASSERT_OK(lk_whole_file_begin(allocator.get(), "a text", "/dev/full", &file, LK_ERR));
    for (int i = 0; i < 5000; i++) (void)fputc('x', file.stream);
    errno = between;
    LK_EXPECT_STATUS(LK_IO, lk_whole_file_end(&file, LK_ERR));
    EXPECT_EQ(LK_MESSAGE, "failed to write a text to '/dev/full': No space left on device");
    lk_whole_file_discard(&file);
  }
}

TEST_F(WholeFile, AFolderThatTakesNoFilesIsASentence) {
  ASSERT_EQ(mkdir(in("shut").c_str(), 0500), 0);
  ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
  in_child([&] {
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) return;
    LK_EXPECT_STATUS(LK_IO, write(in("shut/a")));
    EXPECT_EQ(LK_MESSAGE, "failed to write a text to '" + in("shut/a") + "': Permission denied");
  });
  LK_EXPECT_STATUS(LK_IO, write(in("none/a")));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("No such file or directory"));
  LK_EXPECT_STATUS(LK_IO, write("/proc/none"));
  for (const std::string &path : {folder.path(), folder.path() + "/", folder.path() + "/."}) {
    LK_EXPECT_STATUS(LK_IO, write(path));
    EXPECT_EQ(LK_MESSAGE, "failed to write a text to '" + path + "': Is a directory");
  }
  LK_EXPECT_STATUS(LK_IO, write(""));
}

TEST_F(WholeFile, TellsOfEachFailedAllocation) {
  lk::fail_every_allocation([&](lk::FailingAllocator &failing) {
    const lk_status status =
        lk_whole_file_write(failing.get(), "a text", in("a").c_str(), "new", 3, LK_ERR);
    EXPECT_LE(files(), status == LK_OK ? 1u : 0u);
    return status;
  });
}

TEST_F(WholeFile, SeveralAreCommittedAndTakenBack) {
  lk_whole_file first, second;
  LK_ASSERT_OK(lk_whole_file_begin(allocator.get(), "a text", in("a").c_str(), &first, LK_ERR));
  LK_ASSERT_OK(lk_whole_file_begin(allocator.get(), "a text", in("b").c_str(), &second, LK_ERR));
  LK_ASSERT_OK(lk_whole_file_end(&first, LK_ERR));
  LK_ASSERT_OK(lk_whole_file_commit(&first, LK_ERR));
  EXPECT_EQ(access(in("a").c_str(), F_OK), 0);
  lk_whole_file_take_back(&first);
  lk_whole_file_take_back(&second); // not committed: nothing to take back
  lk_whole_file_discard(&first);
  lk_whole_file_discard(&second);
  EXPECT_EQ(files(), 0u);
}

} // namespace
