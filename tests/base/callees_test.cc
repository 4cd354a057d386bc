// Lists of those who are called: whose events, in which order, and leaving while one is called.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

extern "C" {
#include "base/callees.h"
}

namespace {

#pragma GCC diagnostic ignored "-Wmissing-field-initializers" // the initializer is C's
lk_callees list = LK_CALLEES(list);

void Call(const void *owner, std::function<void(lk_callee *)> what) {
  lk_callees_call(
      &list, owner,
      [](lk_callee *callee, void *arg) {
        (*static_cast<std::function<void(lk_callee *)> *>(arg))(callee);
      },
      &what);
}

std::vector<lk_callee *> Called(const void *owner) {
  std::vector<lk_callee *> found;
  Call(owner, [&](lk_callee *callee) { found.push_back(callee); });
  return found;
}

TEST(Callees, AreThoseOfAnOwnerTheNewestFirst) {
  int one = 0, other = 0;
  lk_callee a{}, b{}, c{};
  lk_callees_enter(&list, &a, &one);
  lk_callees_enter(&list, &b, &other);
  lk_callees_enter(&list, &c, &one);
  EXPECT_EQ(Called(&one), (std::vector{&c, &a}));
  EXPECT_EQ(Called(&other), std::vector{&b});
  EXPECT_EQ(Called(nullptr), (std::vector{&c, &b, &a}));
  EXPECT_EQ(b.number, a.number + 1);
  EXPECT_EQ(lk_callees_leave(&list, &a), &one);
  EXPECT_EQ(lk_callees_leave(&list, &a), nullptr) << "it has left";
  EXPECT_EQ(Called(&one), std::vector{&c});
  EXPECT_EQ(lk_callees_leave(&list, &b), &other);
  EXPECT_EQ(lk_callees_leave(&list, &c), &one);
  EXPECT_TRUE(Called(nullptr).empty());
}

TEST(Callees, OthersLeaveWhileOneIsCalled) {
  int owner = 0;
  lk_callee a{}, b{};
  lk_callees_enter(&list, &b, &owner);
  lk_callees_enter(&list, &a, &owner);
  std::vector<lk_callee *> found;
  Call(&owner, [&](lk_callee *callee) {
    found.push_back(callee);
    if (callee == &a) {
      EXPECT_EQ(lk_callees_leave(&list, &b), &owner);
    }
  });
  EXPECT_EQ(found, std::vector{&a}) << "b has left before its turn";
  EXPECT_EQ(lk_callees_leave(&list, &a), &owner);
}

TEST(Callees, LeaveWhenTheirCallsHaveReturned) {
  int owner = 0;
  lk_callee a{};
  lk_callees_enter(&list, &a, &owner);
  std::atomic<bool> is_called{false}, may_return{false}, has_left{false};
  std::thread caller([&] {
    Call(&owner, [&](lk_callee *) {
      is_called = true;
      while (!may_return) std::this_thread::yield();
      EXPECT_FALSE(has_left);
    });
  });
  while (!is_called) std::this_thread::yield();
  std::thread leaver([&] {
    EXPECT_EQ(lk_callees_leave(&list, &a), &owner);
    has_left = true;
  });
  may_return = true;
  leaver.join();
  caller.join();
  EXPECT_TRUE(has_left);
}

TEST(CalleesFork, AChildDoesNotWaitForCallsOfItsParent) {
  int owner = 0;
  lk_callee a{};
  lk_callees_enter(&list, &a, &owner);
  std::atomic<bool> is_called{false}, may_return{false};
  std::thread caller([&] {
    Call(&owner, [&](lk_callee *) {
      is_called = true;
      while (!may_return) std::this_thread::yield();
    });
  });
  while (!is_called) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) _exit(lk_callees_leave(&list, &a) == &owner ? 0 : 1);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  may_return = true;
  caller.join();
  EXPECT_EQ(lk_callees_leave(&list, &a), &owner);
}

} // namespace
