// Locks over a fork: the order in which they are taken, and what is called in the parent and in the
// child.
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "tests/harness/lk_test.h"

extern "C" {
#include "base/fork.h"
}

namespace {

std::string *notes;

void before(void *object) {
  *notes += *static_cast<char *>(object);
}
void parent(void *object) {
  *notes += std::string("p") + *static_cast<char *>(object);
}
void child(void *object) {
  *notes += std::string("c") + *static_cast<char *>(object);
}

// What the child's `notes` are when they are `expected` is told by its exit status.
void expect_fork(const std::string &in_parent, const std::string &in_child) {
  notes->clear();
  const pid_t pid = fork();
  if (pid == 0) _exit(*notes == in_child ? 0 : 1);
  EXPECT_EQ(*notes, in_parent);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0) << "the child saw another order than " << in_child;
}

TEST(Fork, LocksAreTakenByLevelAndGivenBackInReverse) {
  std::string text;
  notes = &text;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  char names[] = "12";
  lk_fork_entry leaf = {}, cache = {};
  leaf = {LK_FORK_LEAF, &mutex, before, parent, child, &names[1], nullptr, nullptr};
  cache = {LK_FORK_CACHE, nullptr, before, parent, child, &names[0], nullptr, nullptr};
  lk_fork_enter(&leaf);
  lk_fork_enter(&cache);
  lk_fork_enter(&cache); // again: no effect
  expect_fork("12p2p1", "12c2c1");
  EXPECT_EQ(pthread_mutex_trylock(&mutex), 0) << "it was given back";
  pthread_mutex_unlock(&mutex);

  lk_fork_leave(&cache);
  lk_fork_leave(&cache); // not entered: no effect
  expect_fork("2p2", "2c2");
  lk_fork_leave(&leaf);
  expect_fork("", "");
}

} // namespace
