// Listeners: each is told what leaves the cache of its context, exactly while it is entered.
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "tests/plugin/named_values.h"

namespace {

using namespace lk;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Counts what it is told; `also` runs within each call.
class Listener {
public:
  explicit Listener(lk_context *context) : context_(context) {
    listener_.event = hear;
    listener_.user = this;
  }
  Listener(const Listener &) = delete;
  ~Listener() { leave(); }
  void enter() { api()->listener_enter(context_, &listener_); }
  void leave() { api()->listener_leave(&listener_); }

  std::function<void(const lk_event_info &)> also;
  std::array<std::atomic<uint64_t>, LK_EVENT_COUNT> told{};
  std::atomic<uint64_t> bytes{0};

private:
  static void hear(void *user, const lk_event_info *info) {
    auto *self = static_cast<Listener *>(user);
    self->told[info->event]++;
    self->bytes += info->bytes;
    if (self->also) self->also(*info);
  }

  lk_context *context_;
  lk_listener listener_ = {};
};

class Listeners : public NamedValues {
protected:
  std::string print(const lk_key *key) {
    char text[1024];
    LK_EXPECT_OK(api()->key_print(context, key, text, sizeof text, nullptr, LK_ERR));
    return text;
  }
  // On a thread of its own: makes an entry, and drops it.
  std::thread start_dropping() {
    return std::thread([this] {
      const NamedKey key(context, "egg");
      get(key);
      drop(key);
    });
  }
  void make_room_for_nothing() {
    LK_ASSERT_OK(api()->cache_set_capacity(context, nullptr, 0, LK_UNSET, LK_ERR));
    LK_ASSERT_OK(api()->cache_set_capacity(context, nullptr, LK_UNLIMITED, LK_UNSET, LK_ERR));
  }
};
INSTANTIATE_TEST_SUITE_P(Modes, Listeners, ::testing::Values(LK_CACHE_THREAD, LK_CACHE_SHARED),
                         cache_mode_name);

TEST_P(Listeners, AreToldWhatLeavesAndNothingElse) {
  Listener listener(context);
  std::vector<std::string> keys;
  listener.also = [&](const lk_event_info &info) {
    EXPECT_EQ(info.struct_size, sizeof info);
    EXPECT_EQ(info.kind, uint32_t(LK_KIND_USER));
    EXPECT_EQ(info.build_ns, 0u);
    keys.push_back(print(info.key));
  };
  const NamedKey egg(context, "egg"), hen(context, "hen");
  get(egg);
  drop(egg); // before it has entered
  listener.enter();
  for (int i = 0; i < 2; i++) get(egg);
  get(hen);
  const uint64_t bytes = lk::stats(context).bytes;
  EXPECT_EQ(listener.told[LK_EVENT_EVICT] + listener.told[LK_EVENT_DROP], 0u);
  drop(egg);
  make_room_for_nothing();
  EXPECT_EQ(listener.told[LK_EVENT_DROP], 1u);
  EXPECT_EQ(listener.told[LK_EVENT_EVICT], 1u);
  EXPECT_EQ(listener.bytes, bytes);
  EXPECT_THAT(keys, ElementsAre(HasSubstr(";out=egg;"), HasSubstr(";out=hen;")));
  listener.leave();
  get(egg);
  drop(egg);
  EXPECT_EQ(keys.size(), 2u);
  uint64_t sum = 0;
  for (const auto &count : listener.told) sum += count;
  EXPECT_EQ(sum, 2u);
}

TEST_P(Listeners, OfOtherContextsAreNotTold) {
  Context other = lk::open(GetParam());
  Listener here(context), there(other);
  here.enter();
  there.enter();
  const NamedKey key(context, "egg");
  get(key);
  drop(key);
  EXPECT_EQ(here.told[LK_EVENT_DROP], 1u);
  EXPECT_EQ(there.told[LK_EVENT_DROP], 0u);
}

TEST_P(Listeners, AreSeveral) {
  Listener listeners[] = {Listener(context), Listener(context), Listener(context)};
  const NamedKey key(context, "egg");
  for (Listener &each : listeners) each.enter();
  listeners[1].leave();
  listeners[1].leave(); // has left
  get(key);
  drop(key);
  EXPECT_EQ(listeners[0].told[LK_EVENT_DROP], 1u);
  EXPECT_EQ(listeners[1].told[LK_EVENT_DROP], 0u);
  EXPECT_EQ(listeners[2].told[LK_EVENT_DROP], 1u);
}

// What a call does may evict in turn, and other listeners may come and go.
TEST_P(Listeners, MayUseTheCacheWithinACall) {
  Listener listener(context), second(context);
  listener.enter();
  const NamedKey egg(context, "egg"), hen(context, "hen");
  get(egg);
  get(hen);
  listener.also = [&](const lk_event_info &info) {
    if (print(info.key).find(";out=egg;") == std::string::npos) return;
    second.enter();
    drop(hen);
    second.leave();
  };
  drop(egg);
  EXPECT_EQ(listener.told[LK_EVENT_DROP], 2u);
  EXPECT_EQ(second.told[LK_EVENT_DROP], 1u) << "of the hen";
}

TEST_P(Listeners, LeaveWhenTheirCallsAreOver) {
  Listener listener(context);
  std::atomic<bool> inside{false}, go{false}, is_over{false}, has_left{false};
  listener.also = [&](const lk_event_info &) {
    inside = true;
    wait_until([&] { return go.load(); });
    is_over = true;
  };
  listener.enter();
  std::thread caller = start_dropping();
  wait_until([&] { return inside.load(); });
  std::atomic<pid_t> leaving{0};
  std::thread leaver([&] {
    leaving = gettid();
    listener.leave();
    EXPECT_TRUE(is_over);
    has_left = true;
  });
  wait_until([&] { return leaving != 0 && lk::is_asleep(leaving); });
  EXPECT_FALSE(has_left);
  go = true;
  leaver.join();
  caller.join();
}

TEST_P(Listeners, ComeAndGoWhileThreadsEvict) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; t++) {
    threads.emplace_back([this, t, &stop] {
      const NamedKey key(context, "key" + std::to_string(t));
      while (!stop) {
        get(key);
        drop(key);
      }
    });
  }
  uint64_t told = 0;
  for (int i = 0; i < 200 || told == 0; i++) {
    Listener listener(context);
    listener.enter();
    std::this_thread::yield();
    listener.leave();
    const uint64_t at_end = listener.told[LK_EVENT_DROP];
    told += at_end;
    std::this_thread::yield();
    ASSERT_EQ(listener.told[LK_EVENT_DROP], at_end) << "told after it has left";
  }
  stop = true;
  for (std::thread &thread : threads) thread.join();
}

// The child does not have the thread that is in a call.
TEST_P(Listeners, LeaveInAChildThatWasMadeDuringACall) {
  Listener listener(context);
  std::atomic<bool> inside{false}, go{false};
  const pid_t parent = getpid();
  listener.also = [&](const lk_event_info &) {
    if (getpid() != parent) return;
    inside = true;
    wait_until([&] { return go.load(); });
  };
  listener.enter();
  std::thread caller = start_dropping();
  wait_until([&] { return inside.load(); });
  const pid_t child = fork();
  if (child == 0) {
    const NamedKey key(context, "hen");
    get(key);
    drop(key);
    listener.leave();
    _exit(listener.told[LK_EVENT_DROP] == 2 && !HasFailure() ? 0 : 1);
  }
  go = true;
  caller.join();
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// A child that is made within a call returns from it.
TEST_P(Listeners, MayForkWithinACall) {
  Listener listener(context);
  pid_t child = -1;
  listener.also = [&](const lk_event_info &) { child = fork(); };
  listener.enter();
  const NamedKey key(context, "egg");
  get(key);
  drop(key);
  listener.leave();
  if (child == 0) _exit(HasFailure() ? 1 : 0);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

} // namespace
