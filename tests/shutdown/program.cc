// A process whose threads use the library, and whose seed decides in which order it ends.
//
//   shutdown_program LIBRARY MODEL SEED
//
// The library is opened by dlopen. The exit status is 0 where all threads end, else SEED % 50 + 1;
// 99: a call failed that must not. Only the library destroys what threads share.
//
// The seed draws the engine of each context, too. The module of oneDNN is in use when the process
// ends: where it is chosen, and where a size recurs with the default.
#include <dlfcn.h>
#include <latchkey/session.h>
#include <link.h>
#include <pthread.h>
#include <sys/wait.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/shutdown/random.h"

using namespace shutdown;

namespace {

struct Api {
  const lk_api *base;
  const lk_session_api *session;
};

struct World {
  unsigned seed = 0;
  const char *model = nullptr;
  void *library = nullptr;
  Api api{};
  lk_context *context = nullptr;
  lk_session *session = nullptr;
  std::atomic<bool> stop{false};
  std::atomic<int> alive{0};
  std::vector<std::thread> threads;
};
World *const world = new World; // not destroyed: threads use it until the last instant

int wanted_status() {
  return static_cast<int>(world->seed % 50) + 1;
}

// ---- calls ----

void check(lk_status status, const lk_error &error) {
  if (status != LK_OK) fail("a call", error.message);
}

#if defined(LK_TEST_HAS_ONEDNN)
// NULL: the default, whose module is opened by a thread for which a size recurs.
constexpr const char *kEngines[] = {nullptr, "native", "auto", "onednn", "onednn"};
#else
constexpr const char *kEngines[] = {nullptr, "native", "auto"};
#endif

lk_context *open_context(Random &random) {
  lk_context_options options;
  std::memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.cache_mode = random.chance(50) ? LK_CACHE_SHARED : LK_CACHE_THREAD;
  options.threads = 1 + static_cast<int32_t>(random.below(2));
  options.cache_entries = random.chance(30) ? 8 : LK_UNSET;
  options.cache_bytes = options.weights_bytes = LK_UNSET;
  options.verbose = -1;
  options.engine = kEngines[random.below(sizeof kEngines / sizeof *kEngines)];
  lk_context *context = nullptr;
  lk_error error;
  check(world->api.base->context_create(&options, &context, &error), error);
  return context;
}

lk_session *open_session(lk_context *context) {
  lk_session *session = nullptr;
  lk_error error;
  check(world->api.session->open(context, world->model, nullptr, &session, &error), error);
  return session;
}

// Made before there is a thread: a forked child would wait forever for a thread that was making it.
const std::vector<float> *const pixels = new std::vector<float>(3 * 128 * 128, 0.25f);

// Of a size that others may have run, or that is new; what comes out must be a distribution.
void run(lk_session *session, Random &random, unsigned sizes = 40) {
  lk_named_tensor in, out;
  std::memset(&in, 0, sizeof in);
  std::memset(&out, 0, sizeof out);
  in.name = "x";
  in.tensor.data = const_cast<float *>(pixels->data());
  in.tensor.desc.dtype = LK_F32;
  in.tensor.desc.rank = 4;
  in.tensor.desc.dims[0] = 1;
  in.tensor.desc.dims[1] = 3;
  in.tensor.desc.dims[2] = 8 + random.below(sizes);
  in.tensor.desc.dims[3] = 8 + random.below(sizes);
  out.name = "y";
  lk_error error;
  check(world->api.session->run(session, &in, 1, &out, 1, nullptr, &error), error);
  float sum = 0;
  for (int i = 0; i < 10; i++) sum += static_cast<const float *>(out.tensor.data)[i];
  if (std::fabs(sum - 1) > 1e-4f) fail("a run", "its result is not a distribution");
  world->api.session->outputs_release(session, &out, 1);
}

// Runs one size so often that it recurs, and with it the engine of the context is asked.
void run_until_it_recurs(lk_session *session) {
  Random random(1);
  for (int i = 0; i < 12; i++) run(session, random, 1);
}

bool has_module() {
  const auto is_it = [](dl_phdr_info *info, size_t, void *) {
    return std::strstr(info->dlpi_name, "liblatchkey_onednn.so") != nullptr ? 1 : 0;
  };
  return dl_iterate_phdr(is_it, nullptr) != 0;
}

// Fails where the module is not in the process though it was asked for, or has built nothing though
// it was chosen.
void expect_engine(lk_context *context) {
  const std::string chosen = world->api.base->engine_chosen(context);
  lk_stats stats;
  lk_error error;
  std::memset(&stats, 0, sizeof stats);
  stats.struct_size = sizeof stats;
  check(world->api.base->cache_stats(context, nullptr, &stats, &error), error);
#if defined(LK_TEST_HAS_ONEDNN)
  if (chosen != "native" && !has_module()) fail("an engine", "its module is not loaded");
#endif
  if (chosen == "onednn" && stats.kind[LK_KIND_VALUE].builds == 0) {
    fail("an engine", "it has built nothing");
  }
}

// A value of the host's own, whose build calls `during`.
void get(lk_context *context, unsigned number, const std::function<void()> &during) {
  lk_key_desc desc;
  std::memset(&desc, 0, sizeof desc);
  desc.struct_size = sizeof desc;
  desc.kind = LK_KEY_USER;
  const std::string name = "value" + std::to_string(number);
  desc.name = name.c_str();
  const lk_build_fn build = [](void *arg, const lk_key *, lk_built *out, lk_error *) {
    (*static_cast<const std::function<void()> *>(arg))();
    out->value = new int(7);
    out->bytes = sizeof(int);
    out->destroy = [](void *value, void *) { delete static_cast<int *>(value); };
    return LK_OK;
  };
  lk_key *key = nullptr;
  lk_ref *ref = nullptr;
  int hit = 0;
  lk_error error;
  check(world->api.base->key_create(context, nullptr, &desc, &key, &error), error);
  check(world->api.base->get_or_create(context, nullptr, key, build,
                                       const_cast<std::function<void()> *>(&during), &ref, &hit,
                                       &error),
        error);
  world->api.base->ref_release(ref);
  world->api.base->key_destroy(context, key);
}

void sleep_until_stop() {
  while (!world->stop) usleep(200);
}

// ---- what threads do ----

// Runs once more when its thread ends, before or after the library's own handler.
struct RunsLate {
  lk_session *session = nullptr;
  unsigned seed = 0;
  ~RunsLate() {
    if (session == nullptr) return;
    Random random(seed);
    run(session, random);
  }
};
thread_local RunsLate runs_late;

pthread_key_t late_key() {
  static pthread_key_t key;
  static const int made = pthread_key_create(&key, [](void *session) {
    Random random(3);
    run(static_cast<lk_session *>(session), random);
  });
  if (made != 0) fail("pthread_key_create", strerror(made));
  return key;
}

void work(unsigned seed) {
  Random random(seed);
  lk_context *context = world->context;
  lk_session *session = world->session;
  switch (random.below(9)) {
  case 0: // what was seen before, mostly; the first to recur opens the module of the default
    while (!world->stop) run(session, random, 3);
    break;
  case 1: // builds
    while (!world->stop) run(session, random, 100);
    break;
  case 2: // sessions that come and go
    while (!world->stop) {
      lk_session *own = open_session(context);
      run(own, random);
      world->api.session->close(own);
    }
    break;
  case 3: // a table and nothing to do
    run(session, random);
    sleep_until_stop();
    break;
  case 4: // asleep inside of a call, with others that wait for its build
    get(context, random.below(2), sleep_until_stop);
    break;
  case 5: // threads that end
    while (!world->stop) {
      std::thread([&] { run(session, random, 10); }).join();
    }
    break;
  case 6: // a call at the end of the thread
    run(session, random);
    if (random.chance(50)) {
      runs_late.session = session;
      runs_late.seed = seed;
    } else {
      pthread_setspecific(late_key(), session);
    }
    random.nap(10000);
    break;
  case 7: // limits, statistics
    while (!world->stop) {
      lk_error error;
      lk_stats stats;
      std::memset(&stats, 0, sizeof stats);
      stats.struct_size = sizeof stats;
      check(world->api.base->cache_set_capacity(context, nullptr, 4 + random.below(100), LK_UNSET,
                                                &error),
            error);
      check(world->api.base->cache_stats(context, nullptr, &stats, &error), error);
      run(session, random);
    }
    break;
  default: // a context that another thread ends, or nobody
    lk_context *own = open_context(random);
    lk_session *in_own = open_session(own);
    run(in_own, random);
    if (random.chance(60)) {
      std::thread([&] {
        Random other(seed + 1);
        if (other.chance(50)) run(in_own, other);
        world->api.session->close(in_own);
        world->api.base->context_destroy(own);
      }).join();
    }
    sleep_until_stop();
  }
}

void start(unsigned n_threads) {
  for (unsigned i = 0; i < n_threads; i++) {
    world->alive++;
    world->threads.emplace_back([i] {
      work(world->seed * 16 + i);
      world->alive--;
    });
  }
}

void join_all() {
  world->stop = true;
  for (std::thread &thread : world->threads) thread.join();
  world->threads.clear();
}

void leave_all() {
  for (std::thread &thread : world->threads) thread.detach();
  world->threads.clear();
}

// ---- ends ----

// What the host does in atexit handlers and in destructors of its statics.
enum Late { NOTHING, RUN, OPEN_AND_CLOSE, CLOSE_ALL, JOIN };
Late at_exit = NOTHING, in_destructor = NOTHING;

void act(Late late) {
  Random random(world->seed + 77);
  switch (late) {
  case NOTHING:
    break;
  case RUN:
    for (int i = 0; i < 3; i++) run(world->session, random, 100);
    break;
  case OPEN_AND_CLOSE: {
    lk_context *context = open_context(random);
    lk_session *session = open_session(context);
    run(session, random);
    world->api.session->close(session);
    world->api.base->context_destroy(context);
    break;
  }
  case CLOSE_ALL: // by who has ended all that used it
    join_all();
    world->api.session->close(std::exchange(world->session, nullptr));
    world->api.base->context_destroy(std::exchange(world->context, nullptr));
    break;
  case JOIN:
    join_all();
    break;
  }
}

struct Static {
  ~Static() { act(in_destructor); }
};
Static before_the_library;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMayFork = false; // their own locks do not outlive it
#else
constexpr bool kMayFork = true;
#endif
#if defined(__SANITIZE_THREAD__)
constexpr bool kThreadsMayEndIt = false; // its own thread lives on
#else
constexpr bool kThreadsMayEndIt = true;
#endif

void end_by_fork(Random &random) {
  if (!kMayFork) return;
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(60);
    new (&world->threads) std::vector<std::thread>; // those are the parent's
    run(world->session, random, 100);
    std::thread([&] { run(world->session, random, 100); }).join();
    exit(wanted_status());
  }
  int status = -1;
  if (waitpid(pid, &status, 0) != pid) fail("waitpid", strerror(errno));
  if (!WIFEXITED(status) || WEXITSTATUS(status) != wanted_status()) {
    fail("a child", ("ended with " + std::to_string(status)).c_str());
  }
}

int run_and_end() {
  Random random(world->seed);
  world->context = open_context(random);
  world->session = open_session(world->context);
  if (random.chance(50)) {
    run_until_it_recurs(world->session);
    expect_engine(world->context);
  }
  static Static after_the_library;
  if (random.chance(30)) at_exit = static_cast<Late>(random.below(3));
  if (random.chance(30)) in_destructor = static_cast<Late>(random.below(3));
  if (atexit([] { act(at_exit); }) != 0) fail("atexit", "no room");
  start(1 + random.below(5));
  random.nap(15000);

  const unsigned end = random.below(12);
  switch (end) {
  case 0: // return from main
    leave_all();
    break;
  case 1: // exit on another thread
    leave_all();
    std::thread([] { exit(wanted_status()); }).detach();
    while (true) random.chance(50) ? run(world->session, random) : random.nap(1000);
  case 2: // the same, inside of a call
    leave_all();
    get(world->context, 9, [] { exit(wanted_status()); });
    break;
  case 3:
    leave_all();
    quick_exit(wanted_status());
  case 4: // the last thread ends the process
    if (!kThreadsMayEndIt) {
      leave_all();
      break;
    }
    world->stop = true;
    if (random.chance(50)) leave_all();
    pthread_exit(nullptr);
  case 5: // dlclose
    while (dlclose(world->library) == 0 && random.chance(50)) {
    }
    random.nap(3000);
    if (random.chance(50)) join_all();
    leave_all();
    break;
  case 6: // all in order, and another thread than the one that made the context ends it
    join_all();
    std::thread([] {
      world->api.session->close(world->session);
      world->api.base->context_destroy(world->context);
    }).join();
    at_exit = in_destructor = NOTHING;
    break;
  case 7: { // threads with tables live longer than the context
    world->stop = true;
    static std::atomic<int> ready{0}; // those that are detached may look when this has ended
    static std::atomic<bool> gone{false};
    std::vector<std::thread> last;
    for (unsigned i = 0; i < 3; i++) {
      last.emplace_back([i] {
        Random own(world->seed + i);
        run(world->session, own);
        ready++;
        while (!gone) usleep(100);
      });
    }
    join_all();
    while (ready < 3) usleep(100);
    world->api.session->close(world->session);
    world->api.base->context_destroy(world->context);
    if (random.chance(30)) dlclose(world->library);
    gone = true;
    for (std::thread &thread : last) random.chance(50) ? thread.join() : thread.detach();
    at_exit = in_destructor = NOTHING;
    break;
  }
  case 8: // sessions are closed by an exit handler
    at_exit = CLOSE_ALL;
    in_destructor = NOTHING;
    break;
  case 9: // by statics, one of which ends before the library's own
    at_exit = NOTHING;
    in_destructor = random.chance(50) ? CLOSE_ALL : JOIN;
    break;
  case 10:
    end_by_fork(random);
    leave_all();
    break;
  default: // several threads at once
    leave_all();
    for (int i = 0; i < 3; i++) {
      std::thread([] {
        usleep(1000);
        static std::atomic<bool> taken{false}; // exit is one thread's
        if (!taken.exchange(true)) exit(wanted_status());
        pthread_exit(nullptr);
      }).detach();
    }
    while (true) run(world->session, random);
  }
  return wanted_status();
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 4) fail("arguments", "LIBRARY MODEL SEED");
  alarm(60);
  world->model = argv[2];
  world->seed = static_cast<unsigned>(atoi(argv[3]));
  world->library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (world->library == nullptr) fail("dlopen", dlerror());
  const auto find = [](const char *name) {
    void *found = dlsym(world->library, name);
    if (found == nullptr) fail("dlsym", dlerror());
    return found;
  };
  world->api.base = reinterpret_cast<decltype(&lk_get_api)>(find("lk_get_api"))(LK_API_VERSION);
  world->api.session = reinterpret_cast<decltype(&lk_get_session_api)>(find("lk_get_session_api"))(
      LK_SESSION_API_VERSION);
  return run_and_end();
}
