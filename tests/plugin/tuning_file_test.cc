// Files of measured times: what is read and refused, what is appended by several at once, and what
// is left when it fails.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/harness/folder.h"
#include "tests/harness/wait.h"
#include "tests/ops/engine/tuning_util.h"

extern "C" {
#include "plugin/tuning_file.h"
}

namespace {

using lk::line_of;
using lk::Times;
using ::testing::HasSubstr;

const std::string head = "# latchkey tuning 1\n";

std::string content(const std::string &path) {
  std::ostringstream all;
  all << std::ifstream(path).rdbuf();
  return all.str();
}

bool exists(const std::string &path) {
  return access(path.c_str(), F_OK) == 0;
}

off_t size_of(const std::string &path) {
  struct stat info = {};
  EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
  return info.st_size;
}

// A process of its own: it has another table, and limits.
template <typename Body> pid_t start_child(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(120);
    body();
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  EXPECT_GT(child, 0);
  return child;
}
void expect_end(pid_t child) {
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

class TuningFile : public ::testing::Test {
protected:
  std::string in(const std::string &name) const { return folder.path() + "/" + name; }
  static lk_status append(const Times &of, const std::string &path, uint64_t *works = nullptr) {
    return lk_tuning_file_append(of.tuning, path.c_str(), works, LK_ERR);
  }
  static lk_status read(const Times &into, const std::string &path) {
    return lk_tuning_file_read(into.tuning, lk_allocator_default(), path.c_str(), LK_ERR);
  }
  void expect_refused(const std::string &path, const char *why) const {
    const Times some;
    LK_ASSERT_OK(some.note(1, 1, 2));
    LK_EXPECT_STATUS(LK_IO, append(some, path));
    EXPECT_EQ(LK_MESSAGE, "failed to write measured times to '" + path + "': " + why);
    EXPECT_EQ(some.write(), line_of(1, "1 2") + "\n") << "it is not saved";
  }
  lk::Folder folder;
  Times times;
};

TEST_F(TuningFile, IsMadeAndAppendedTo) {
  uint64_t works = 99;
  LK_ASSERT_OK(times.note(1, 1, 2));
  LK_ASSERT_OK(times.note(2, 3, 4));
  LK_ASSERT_OK(append(times, in("a"), &works));
  EXPECT_EQ(works, 2u);
  const std::string first = head + line_of(1, "1 2") + "\n" + line_of(2, "3 4") + "\n";
  EXPECT_EQ(content(in("a")), first);
  LK_ASSERT_OK(times.note(2, 5, 6));
  LK_ASSERT_OK(append(times, in("a"), &works));
  EXPECT_EQ(works, 1u);
  EXPECT_EQ(content(in("a")), first + line_of(2, "5 6") + "\n");
  const Times another;
  LK_ASSERT_OK(read(another, in("a")));
  EXPECT_EQ(another.works(), 2u);
  EXPECT_EQ(another.skipped(), 0u);
  EXPECT_TRUE(another.find(2) == (lk_tuned{8, 10, 2}));
}

TEST_F(TuningFile, IsNotTouchedWhereNothingWasNoted) {
  uint64_t works = 99;
  LK_ASSERT_OK(times.read(line_of(1, "1 2")));
  LK_ASSERT_OK(append(times, in("a"), &works));
  EXPECT_EQ(works, 0u);
  EXPECT_FALSE(exists(in("a")));
  LK_ASSERT_OK(append(times, "/no such folder/a"));
}

TEST_F(TuningFile, ThatEndsWithinALineIsContinuedInANewOne) {
  const std::string half = line_of(7, "1 2").substr(0, 40);
  for (const std::string &before : {head + half, head + "\n", head + "x"}) {
    const std::string path = folder.write("a", before);
    const Times one, another;
    LK_ASSERT_OK(one.note(1, 1, 2));
    LK_ASSERT_OK(append(one, path));
    EXPECT_EQ(content(path),
              before + (before.back() == '\n' ? "" : "\n") + line_of(1, "1 2") + "\n");
    LK_ASSERT_OK(read(another, path));
    EXPECT_EQ(another.works(), 1u);
    EXPECT_EQ(another.skipped(), before == head + "\n" ? 0u : 1u);
  }
}

TEST_F(TuningFile, ThatIsEmptyGetsItsFirstLine) {
  const std::string path = folder.write("a", "");
  LK_ASSERT_OK(read(times, path));
  LK_ASSERT_OK(times.note(1, 1, 2));
  LK_ASSERT_OK(append(times, path));
  EXPECT_EQ(content(path), head + line_of(1, "1 2") + "\n");
}

TEST_F(TuningFile, ThatIsNotThereIsNotFound) {
  LK_EXPECT_STATUS(LK_NOT_FOUND, read(times, in("none")));
  EXPECT_EQ(LK_MESSAGE,
            "failed to read the tuning file '" + in("none") + "': No such file or directory");
  LK_EXPECT_STATUS(LK_IO, read(times, folder.write("a", "x") + "/b"));
  expect_refused(in("none/a"), "No such file or directory");
  expect_refused("", "No such file or directory");
}

TEST_F(TuningFile, IsARegularFile) {
  ASSERT_EQ(mkfifo(in("fifo").c_str(), 0600), 0);
  ASSERT_EQ(symlink("/dev/null", in("link").c_str()), 0);
  for (const std::string &path :
       {in("fifo"), in("link"), std::string("/dev/null"), std::string("/dev/full")}) {
    LK_EXPECT_STATUS(LK_IO, read(times, path));
    EXPECT_EQ(LK_MESSAGE,
              "failed to read the tuning file '" + path + "': it is not a regular file");
    expect_refused(path, "it is not a regular file");
  }
  LK_EXPECT_STATUS(LK_IO, read(times, folder.path()));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("': it is a directory, not a file"));
  expect_refused(folder.path(), "it is not a regular file");
  expect_refused(folder.path() + "/", "Is a directory");
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  expect_refused("/dev/fd/" + std::to_string(ends[1]), "it is not a regular file");
  for (const int end : ends) close(end);
}

TEST_F(TuningFile, ThatIsOpenUnderANumberIsAppendedTo) {
  const int file = open(in("a").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  LK_ASSERT_OK(times.note(1, 1, 2));
  LK_ASSERT_OK(append(times, "/proc/self/fd/" + std::to_string(file)));
  EXPECT_EQ(content(in("a")), head + line_of(1, "1 2") + "\n");
  close(file);
}

TEST_F(TuningFile, LinksAreFollowedAndStay) {
  ASSERT_EQ(symlink("there", in("link").c_str()), 0);
  LK_ASSERT_OK(times.note(1, 1, 2));
  LK_ASSERT_OK(append(times, in("link")));
  EXPECT_EQ(content(in("there")), head + line_of(1, "1 2") + "\n");
  struct stat info = {};
  ASSERT_EQ(lstat(in("link").c_str(), &info), 0);
  EXPECT_TRUE(S_ISLNK(info.st_mode));
}

// A model's path in its place, for one.
TEST_F(TuningFile, IsNoOtherFile) {
  LK_ASSERT_OK(times.note(1, 1, 2));
  for (const std::string &other :
       {line_of(7, "1 2"), std::string("\n"), std::string("x"), head.substr(0, 10), "\n" + head}) {
    const std::string path = folder.write("a", other);
    LK_EXPECT_STATUS(LK_MALFORMED, append(times, path));
    EXPECT_THAT(LK_MESSAGE, HasSubstr("so it is another file"));
    EXPECT_EQ(content(path), other);
    LK_EXPECT_STATUS(LK_MALFORMED, read(times, path));
    EXPECT_THAT(LK_MESSAGE, HasSubstr(path));
  }
  EXPECT_EQ(times.works(), 1u);
  EXPECT_EQ(times.write(), line_of(1, "1 2") + "\n") << "it is not saved";
  LK_ASSERT_OK(read(times, folder.write("a", ""))) << "it has no lines";
}

TEST_F(TuningFile, IsNotReadWhenItIsTooLarge) {
  const std::string path = folder.write("a", head + line_of(1, "1 2") + "\n");
  const auto most = off_t(LK_TUNING_FILE_MOST);
  ASSERT_EQ(truncate(path.c_str(), most + 1), 0); // a hole
  LK_EXPECT_STATUS(LK_IO, read(times, path));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("it has 67108865 bytes, at most 67108864 are allowed"));
  EXPECT_EQ(times.works(), 0u);
  ASSERT_EQ(truncate(path.c_str(), most), 0);
  LK_ASSERT_OK(read(times, path));
  EXPECT_EQ(times.works(), 1u);
}

TEST_F(TuningFile, DoesNotBecomeTooLarge) {
  const std::string path = folder.write("a", head + "x");
  const std::string line = "\n" + line_of(1, "1 2") + "\n";
  const auto most = off_t(LK_TUNING_FILE_MOST) - off_t(line.size());
  ASSERT_EQ(truncate(path.c_str(), most + 1), 0);
  expect_refused(path,
                 "it would be larger than 64 MiB, which is not read any more; begin a new one");
  EXPECT_EQ(size_of(path), most + 1);
  ASSERT_EQ(truncate(path.c_str(), most), 0);
  LK_ASSERT_OK(times.note(1, 1, 2));
  LK_ASSERT_OK(append(times, path));
  EXPECT_EQ(size_of(path), off_t(LK_TUNING_FILE_MOST));
}

// The disk is full within the lines: half of a write goes through, the next one fails.
TEST_F(TuningFile, HasWhatItHadWhenItCannotBeWritten) {
  for (int i = 1; i <= 100; i++) LK_ASSERT_OK(times.note(i, i, i));
  folder.write("old", head + line_of(200, "1 2") + "\n");
  expect_end(start_child([&] {
    const rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
    signal(SIGXFSZ, SIG_IGN);
    for (const char *name : {"old", "new"}) {
      const bool is_new = strcmp(name, "new") == 0;
      const std::string before = is_new ? "" : content(in(name));
      for (const rlim_t most : {5, 25, 1000, 3000}) {
        const rlimit limit = {before.size() + most, RLIM_INFINITY};
        ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
        LK_EXPECT_STATUS(LK_IO, append(times, in(name)));
        EXPECT_EQ(LK_MESSAGE,
                  "failed to write measured times to '" + in(name) + "': File too large");
        EXPECT_EQ(content(in(name)), before);
      }
      ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
    }
    uint64_t works = 0;
    LK_EXPECT_OK(append(times, in("new"), &works));
    EXPECT_EQ(works, 100u);
  }));
  const Times another;
  LK_ASSERT_OK(read(another, in("new")));
  EXPECT_EQ(another.works(), 100u);
  EXPECT_EQ(another.skipped(), 0u);
  for (int i = 1; i <= 100; i++) EXPECT_TRUE(another.find(i) == times.find(i)) << i;
}

// Another process may be about to append to the file that could not be written.
TEST_F(TuningFile, AFailureDoesNotTakeTheFileFromAnother) {
  const int file = open(in("a").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  LK_ASSERT_OK(times.note(1, 1, 2));
  expect_end(start_child([&] {
    const rlimit limit = {5, RLIM_INFINITY};
    signal(SIGXFSZ, SIG_IGN);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    LK_EXPECT_STATUS(LK_IO, append(times, in("a")));
  }));
  struct stat opened = {}, named = {};
  ASSERT_EQ(fstat(file, &opened), 0);
  ASSERT_EQ(stat(in("a").c_str(), &named), 0);
  EXPECT_EQ(opened.st_ino, named.st_ino);
  close(file);
}

TEST_F(TuningFile, ProcessesThatAppendAtOnceLoseNoLine) {
  enum { PROCESSES = 4, SAVES = 50 };
  std::vector<pid_t> children;
  for (int p = 0; p < PROCESSES; p++) {
    children.push_back(start_child([&, p] {
      for (int i = 0; i < SAVES; i++) {
        LK_EXPECT_OK(times.note(1, 1, 2));
        LK_EXPECT_OK(times.note(100 + p, 3, 4));
        LK_EXPECT_OK(append(times, in("a")));
      }
    }));
  }
  for (const pid_t child : children) expect_end(child);
  LK_ASSERT_OK(read(times, in("a")));
  EXPECT_EQ(times.skipped(), 0u);
  EXPECT_TRUE(times.find(1) ==
              (lk_tuned{PROCESSES * SAVES, PROCESSES * SAVES * 2, PROCESSES * SAVES}));
  for (int p = 0; p < PROCESSES; p++) {
    EXPECT_TRUE(times.find(100 + p) == (lk_tuned{SAVES * 3, SAVES * 4, SAVES})) << p;
  }
  const std::string all = content(in("a"));
  EXPECT_EQ(all.substr(0, head.size()), head);
  EXPECT_EQ(all.find('#', 1), std::string::npos) << "a second head";
}

// It waits until the other one's line is whole. A child of a fork that has come meanwhile has the
// file open, too: it does not keep the lock.
TEST_F(TuningFile, IsNotAppendedToWhileAnotherHasItsLock) {
  const std::string line = head + line_of(2, "3 4") + "\n";
  const int file = open(in("a").c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  ASSERT_EQ(flock(file, LOCK_EX), 0);
  ASSERT_EQ(write(file, line.data(), 20), 20);
  LK_ASSERT_OK(times.note(1, 1, 2));
  std::thread saver([&] { LK_EXPECT_OK(append(times, in("a"))); });
  lk::wait_until_others_sleep();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = start_child([&] {
    char end = 0;
    close(file);
    close(ends[1]);
    EXPECT_EQ(::read(ends[0], &end, 1), 0); // until the parent closes it
  });
  ASSERT_EQ(write(file, line.data() + 20, line.size() - 20), ssize_t(line.size() - 20));
  ASSERT_EQ(flock(file, LOCK_UN), 0);
  saver.join();
  EXPECT_EQ(content(in("a")), line + line_of(1, "1 2") + "\n");
  EXPECT_EQ(flock(file, LOCK_EX | LOCK_NB), 0) << "it has kept the lock";
  for (const int each : {file, ends[0], ends[1]}) close(each);
  expect_end(child);
}

TEST_F(TuningFile, ThreadsThatSaveAtOnceWriteNothingTwice) {
  const int notes = lk::repeats(500);
  std::atomic<uint64_t> lines{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < notes; i++) {
        uint64_t works = 0;
        LK_EXPECT_OK(times.note(1 + (i * (t + 1)) % 5, 1, 2));
        if (i % 5 != 0) continue;
        LK_EXPECT_OK(append(times, in("a"), &works));
        lines += works;
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  uint64_t works = 0;
  LK_ASSERT_OK(append(times, in("a"), &works));
  lines += works;
  const Times another;
  LK_ASSERT_OK(read(another, in("a")));
  EXPECT_EQ(another.skipped(), 0u);
  for (int work = 1; work <= 5; work++) EXPECT_TRUE(another.find(work) == times.find(work)) << work;
  const std::string all = content(in("a"));
  EXPECT_EQ(uint64_t(std::count(all.begin(), all.end(), '\n')), lines + 1);
}

TEST_F(TuningFile, EachAllocationThatFailsIsTold) {
  const std::string old = folder.write("old", head + line_of(2, "3 4") + "\n");
  lk::fail_every_allocation([&](lk::FailingAllocator &failing) {
    lk::OwnedIntern intern;
    lk::OwnedTuning tuning;
    const lk_tuned noted = {1, 2, 1};
    lk_status status = lk_intern_create(failing.get(), intern.out(), LK_ERR);
    if (status == LK_OK) status = lk_tuning_create(failing.get(), intern, tuning.out(), LK_ERR);
    if (status == LK_OK) {
      status = lk_tuning_file_read(tuning, failing.get(), old.c_str(), LK_ERR);
    }
    if (status == LK_OK) {
      lk_key *key = nullptr;
      status = lk_key_parse(intern, failing.get(), lk::work_text(1).c_str(), &key, LK_ERR);
      if (status == LK_OK) status = lk_tuning_note(tuning, key, &noted, LK_ERR);
      lk_key_destroy(failing.get(), key);
    }
    if (status != LK_OK) return status;
    status = lk_tuning_file_append(tuning, in("new").c_str(), nullptr, LK_ERR);
    EXPECT_EQ(status == LK_OK, exists(in("new")));
    return status;
  });
  EXPECT_EQ(content(in("new")), head + line_of(1, "1 2") + "\n");
}

} // namespace
