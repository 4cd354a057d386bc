// A process in which ONNX Runtime runs sessions on threads, and whose seed decides in which order
// it ends. The library is unregistered meanwhile, when no session is left that was opened with it:
// ONNX Runtime allows it only then.
//
//   shutdown_ort_program provider|cpu SEED
//
// No thread is inside of ONNX Runtime when exit() begins. ONNX Runtime destroys its statics under
// such threads, and crashes in a third of all cases even with its own provider alone: `cpu`, which
// does not wait for the threads, shows it. The exit status is as in program.cc.
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "tests/executor_glue/ort/models.h"
#include "tests/executor_glue/ort/session.h"
#include "tests/shutdown/random.h"

using namespace shutdown;

namespace {

struct World {
  unsigned seed = 0;
  bool with_provider = true;
  ort::Options options;
  std::string model;
  std::unique_ptr<ort::Host> host;
  std::shared_ptr<ort::Session> session;
  std::atomic<bool> stop{false}, may_end{false};
  std::atomic<int> inside{0}; // of calls
  std::vector<std::thread> threads;
};
World *const world = new World; // not destroyed: threads use it until the last instant

#if defined(LK_TEST_HAS_ONEDNN)
constexpr const char *kEngines[] = {"native", "auto", "onednn"};
#else
constexpr const char *kEngines[] = {"native", "auto"};
#endif

int wanted_status() {
  return static_cast<int>(world->seed % 50) + 1;
}

std::shared_ptr<ort::Session> open_session() {
  auto session = std::make_shared<ort::Session>(*world->host, world->model, world->options);
  if (!session->error().empty()) fail("a session", session->error().c_str());
  return session;
}

void run(const ort::Session &session, Random &random, int sizes) {
  const int64_t height = 8 + random.below(sizes), width = 8 + random.below(sizes);
  const ort::Outcome outcome =
      session.run({{"x", ort::noise({1, 3, height, width}, world->seed)}}, {"y"});
  if (!outcome.error.empty()) fail("a run", outcome.error.c_str());
  float y[10], sum = 0;
  std::memcpy(y, outcome.outputs.at(0).bytes.data(), sizeof y);
  for (float each : y) sum += each;
  if (std::fabs(sum - 1) > 1e-4f) fail("a run", "its result is not a distribution");
}

// Runs until it is told to stop; then lives until it may end, and with it the library's data for
// it.
void work(unsigned seed) {
  Random random(seed);
  const unsigned kind = random.below(4);
  while (!world->stop) {
    world->inside++;
    std::shared_ptr<ort::Session> session = std::atomic_load(&world->session);
    if (session != nullptr && !world->stop) {
      if (kind == 2) session = open_session();
      run(*session, random, kind == 0 ? 3 : 60);
    }
    session.reset();
    world->inside--;
    if (kind == 3) random.nap(2000);
  }
  while (!world->may_end) usleep(200);
}

void start(unsigned count) {
  world->stop = false;
  for (unsigned i = 0; i < count; i++) {
    world->threads.emplace_back(work, world->seed * 16 + unsigned(world->threads.size()));
  }
}

// Threads live, and are in no call. Sessions may be open.
void pause_threads() {
  world->stop = true;
  while (world->inside > 0) usleep(100);
}

// No session is left, and nobody opens one.
void end_sessions() {
  pause_threads();
  std::atomic_store(&world->session, std::shared_ptr<ort::Session>());
}

void unregister() {
  if (!world->with_provider) return;
  const std::string error = world->host->unregister_library();
  if (!error.empty()) fail("unregistration", error.c_str());
}

void let_threads_end(bool join) {
  world->may_end = true;
  for (std::thread &thread : world->threads) join ? thread.join() : thread.detach();
  world->threads.clear();
}

void leave_all() {
  for (std::thread &thread : world->threads) thread.detach();
  world->threads.clear();
}

int run_and_end() {
  Random random(world->seed);
  world->options.on_provider = world->with_provider;
  world->options.threads = 1 + static_cast<int>(random.below(2));
  if (world->with_provider) {
    world->options.provider = {{"cache", random.chance(50) ? "shared" : "thread"}};
    world->options.provider.push_back(
        {"engine", kEngines[random.below(sizeof kEngines / sizeof *kEngines)]});
  }
  world->model = ort::classifier();
  world->host = std::make_unique<ort::Host>(world->with_provider);
  std::atomic_store(&world->session, open_session());
  start(1 + random.below(4));
  random.nap(20000);
  // Threads see more than one registration.
  for (unsigned rounds = random.below(3); rounds > 0; rounds--) {
    end_sessions();
    unregister();
    if (world->with_provider) {
      const std::string error = world->host->register_library();
      if (!error.empty()) fail("registration", error.c_str());
    }
    std::atomic_store(&world->session, open_session());
    start(1 + random.below(2));
    random.nap(10000);
  }

  const unsigned end = random.below(7);
  if (end < 2 && world->with_provider) pause_threads();
  switch (end) {
  case 0:                                         // with open sessions, registered
    if (random.chance(30)) world->may_end = true; // about now
    leave_all();
    (void)world->host.release();
    break;
  case 1:
    leave_all();
    std::thread([] { exit(wanted_status()); }).detach();
    while (true) usleep(1000);
  case 2:
    leave_all();
    quick_exit(wanted_status());
  case 3: // unregistered, and the environment gone, before the threads end
    end_sessions();
    unregister();
    world->host.reset();
    let_threads_end(random.chance(70));
    break;
  case 4: // unregistered only
    end_sessions();
    unregister();
    let_threads_end(random.chance(50));
    (void)world->host.release();
    break;
  case 5: // by an exit handler, while threads live
    if (atexit([] {
          end_sessions();
          unregister();
          world->host.reset();
          let_threads_end(true);
        }) != 0) {
      fail("atexit", "no room");
    }
    break;
  default: // as it should be
    end_sessions();
    let_threads_end(true);
    world->host.reset();
  }
  return wanted_status();
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3) fail("arguments", "provider|cpu SEED");
  alarm(60);
  world->with_provider = std::string(argv[1]) != "cpu";
  world->seed = static_cast<unsigned>(atoi(argv[2]));
  return run_and_end();
}
