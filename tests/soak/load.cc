#include "tests/soak/load.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

namespace soak {
namespace {

const lk_session_api *sessions_api() {
  return lk_get_session_api(LK_SESSION_API_VERSION);
}

uint64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

// How a request may be stopped, and then must be or may be.
enum class Stop { kNever, kCancelledBefore, kLateBefore, kPerhapsCancelled, kPerhapsLate };

} // namespace

class Worker {
public:
  Worker(Load *load, size_t place, uint64_t seed)
      : load_(*load), place_(place), random_(static_cast<unsigned>(seed ^ seed >> 32)) {}

  void act() {
    const int64_t dice = random_.in(1, 10000);
    if (dice <= 9600) {
      if (const auto session = pick()) request(*session, stop());
    } else if (dice <= 9750) {
      open();
    } else if (dice <= 9900) {
      load_.sessions_.drop(&random_);
    } else if (dice <= 9950) {
      cache();
    } else if (dice <= 9960) {
      load_.cancels_[one_of(load_.places_)] = 1;
    } else if (dice <= 9975) {
      limit();
    } else if (dice <= 9985) {
      other_context();
    } else if (dice <= 9990) {
      fork_once();
    } else {
      lk_error error;
      const auto processors = static_cast<int32_t>(random_.in(1, 4));
      STRESS_CHECK(lk::api()->processors_set(processors, &error) == LK_OK, "processors: %s",
                   error.message);
    }
  }

  // Whatever is read or kept at a first request is there afterwards.
  void warm_up() {
    for (const auto &session : load_.standing_) {
      for (size_t i = 0; i < session->model->model.requests.size(); i++) {
        request(*session, i, Stop::kNever);
      }
    }
  }

private:
  size_t one_of(size_t count) {
    return static_cast<size_t>(random_.in(0, static_cast<int64_t>(count) - 1));
  }

  // The wide model takes as long as a hundred requests of others, and gets fewer.
  std::shared_ptr<Session> pick() {
    for (;;) {
      auto session = random_.maybe() ? load_.sessions_.pick(&random_) : nullptr;
      if (!session) session = random_.of(load_.standing_);
      if (session->model->model.name != "wide" || random_.in(0, 29) == 0) return session;
    }
  }

  Stop stop() {
    switch (random_.in(0, 99)) {
    case 0:
      return Stop::kCancelledBefore;
    case 1:
      return Stop::kLateBefore;
    case 2:
    case 3:
    case 4:
      return Stop::kPerhapsCancelled;
    case 5:
    case 6:
      return Stop::kPerhapsLate;
    default:
      return Stop::kNever;
    }
  }

  void open() {
    if (load_.sessions_.size() >= Load::kMostOpen) {
      load_.sessions_.drop(&random_);
      return;
    }
    std::shared_ptr<Session> session;
    if (random_.in(0, 3) == 0) {
      session = pick()->clone();
    } else {
      Home *home = load_.homes_[one_of(load_.homes_.size())].get();
      session = open_in(home);
    }
    if (session) load_.sessions_.put(std::move(session));
  }

  std::shared_ptr<Session> open_in(Home *home) {
    using From = Session::From;
    const From from = random_.of<From>({From::kFile, From::kCopiedFile, From::kMemory});
    const auto inter = random_.of<int32_t>({0, 0, 2});
    const auto max_runs = random_.of<uint32_t>({0, 0, 1});
    return Session::open(home, random_.of(load_.models_.all()), from, inter, max_runs);
  }

  // A request of the session's model; false: it was stopped, or refused for want of memory.
  bool request(const Session &session, Stop stop) {
    return request(session, one_of(session.model->model.requests.size()), stop);
  }

  bool request(const Session &session, size_t index, Stop stop) {
    const PreparedModel &model = *session.model;
    const stress::Values &expected = model.native[index];
    std::vector<lk_named_tensor> inputs, outputs;
    for (const auto &input : model.model.requests[index]) {
      inputs.push_back({input.first.c_str(),
                        {input.second.desc, const_cast<uint8_t *>(input.second.bytes.data())}});
    }
    const bool own_memory = random_.maybe();
    std::vector<std::vector<uint8_t>> memory;
    for (const std::string &name : model.model.outputs) {
      lk_named_tensor output{name.c_str(), {}};
      if (own_memory) {
        memory.emplace_back(expected.at(name).bytes.size() + 64, uint8_t{0x77});
        output.tensor = {expected.at(name).desc, memory.back().data()};
      }
      outputs.push_back(output);
    }
    const int32_t yes = 1;
    std::atomic<int32_t> &flag = load_.cancels_[place_];
    lk_run_options options{};
    options.struct_size = sizeof options;
    if (stop == Stop::kCancelledBefore) options.cancel = &yes;
    if (stop == Stop::kLateBefore) options.deadline_ns = 1;
    if (stop == Stop::kPerhapsLate) {
      options.deadline_ns = now_ns() + static_cast<uint64_t>(random_.in(0, 100000));
    }
    if (stop == Stop::kPerhapsCancelled) {
      static_assert(sizeof flag == sizeof(int32_t), "the library reads it as a number");
      flag = 0;
      options.cancel = reinterpret_cast<const volatile int32_t *>(&flag);
    }
    lk_error error;
    const Home::Call call(*session.home);
    const lk_status status =
        sessions_api()->run(session.handle, inputs.data(), uint32_t(inputs.size()), outputs.data(),
                            uint32_t(outputs.size()), &options, &error);
    const bool answered =
        is_answer(session, index, stop, status, call.may_be_refused(), error.message);
    if (answered) {
      check(model, index, outputs);
      load_.counts_.requests++;
    }
    if (!own_memory) {
      sessions_api()->outputs_release(session.handle, outputs.data(), uint32_t(outputs.size()));
    }
    return answered;
  }

  bool is_answer(const Session &session, size_t index, Stop stop, lk_status status,
                 bool may_be_refused, const char *message) {
    const auto fail = [&] {
      stress::violation(stress::text("request %zu of '%s' returned %s: %s", index,
                                     session.model->model.name.c_str(),
                                     lk::api()->status_text(status), message));
    };
    switch (status) {
    case LK_OK:
      if (stop == Stop::kCancelledBefore || stop == Stop::kLateBefore) fail();
      return true;
    case LK_CANCELLED:
      if (stop != Stop::kCancelledBefore && stop != Stop::kPerhapsCancelled) fail();
      load_.counts_.stopped++;
      return false;
    case LK_DEADLINE:
      if (stop != Stop::kLateBefore && stop != Stop::kPerhapsLate) fail();
      load_.counts_.stopped++;
      return false;
    case LK_OUT_OF_MEMORY:
      if (!may_be_refused) fail();
      load_.counts_.refused++;
      return false;
    default:
      fail();
      return false;
    }
  }

  static void check(const PreparedModel &model, size_t index,
                    const std::vector<lk_named_tensor> &outputs) {
    for (const lk_named_tensor &output : outputs) {
      const std::string wrong = stress::difference(model.native[index].at(output.name),
                                                   output.tensor.desc, output.tensor.data);
      STRESS_CHECK(wrong.empty(), "output '%s' of request %zu of '%s' %s", output.name, index,
                   model.model.name.c_str(), wrong.c_str());
    }
  }

  void cache() {
    Home &home = *load_.homes_[one_of(load_.homes_.size())];
    lk_error error;
    switch (random_.in(0, 3)) {
    case 0:
      STRESS_CHECK(lk::api()->cache_clear(home.context(), nullptr, &error) == LK_OK, "clear: %s",
                   error.message);
      break;
    case 1: {
      const auto session = pick();
      STRESS_CHECK(lk::api()->cache_set_capacity(
                       session->home->context(), sessions_api()->executor(session->handle),
                       random_.of<uint64_t>({0, 5, LK_UNLIMITED}), LK_UNLIMITED, &error) == LK_OK,
                   "limiting an executor: %s", error.message);
      break;
    }
    default:
      home.limit_cache(random_.of<uint64_t>({0, 5, 100, LK_UNLIMITED, LK_UNLIMITED}),
                       random_.of<uint64_t>({0, 100000, 1 << 20, LK_UNLIMITED, LK_UNLIMITED}),
                       random_.of<uint64_t>({0, 1000, LK_UNLIMITED}));
    }
  }

  // Memory that does not suffice, or hardly: this thread goes on meanwhile, and others too.
  void limit() {
    Home *home = load_.homes_[one_of(load_.homes_.size())].get();
    const auto more = random_.of<int64_t>({-(1 << 20), -10000, 0, 3000, 30000});
    home->limited(more, [&] {
      for (int64_t n = random_.in(1, 6); n > 0; n--) {
        if (random_.in(0, 3) == 0) {
          open_in(home);
        } else {
          request(*pick(), Stop::kNever);
        }
      }
    });
  }

  // A context that comes and goes beside the others, with less memory than it needs at times.
  void other_context() {
    lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
    options.cache_mode = random_.of<uint32_t>({LK_CACHE_OFF, LK_CACHE_THREAD, LK_CACHE_SHARED});
    options.threads = static_cast<int32_t>(random_.in(1, 2));
    Home home(options, &load_.counts_);
    if (const auto session = open_in(&home)) {
      home.limited(random_.of<int64_t>({-10000, 20000, 1 << 30}), [&] {
        for (int64_t n = random_.in(1, 5); n > 0; n--) request(*session, stop());
      });
      STRESS_CHECK(request(*session, Stop::kNever), "a context does not work on after a limit");
    }
    load_.counts_.contexts++;
  }

  // The child has this thread only. It uses no lock of the soak's: another thread may have had it.
  void fork_once() {
    const auto session = pick();
    const int64_t runs = random_.in(0, 4);
    const bool opens = random_.maybe();
    const pid_t child = fork();
    STRESS_CHECK(child >= 0, "failed to fork");
    if (child == 0) {
      alarm(60); // one that waits for ever must end
      for (int64_t n = runs; n > 0; n--) request(*session, Stop::kNever);
      if (opens && runs > 0) {
        if (const auto own = open_in(session->home)) request(*own, Stop::kNever);
      }
      _exit(0);
    }
    int status = 0;
    STRESS_CHECK(waitpid(child, &status, 0) == child, "failed to wait for a child");
    STRESS_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0,
                 "a child of fork that ran %lld requests of '%s' ended with %s %d",
                 static_cast<long long>(runs), session->model->model.name.c_str(),
                 WIFSIGNALED(status) ? "signal" : "exit code",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    load_.counts_.forks++;
  }

  Load &load_;
  const size_t place_;
  Random random_;
};

Load::Load(const Models *models, uint64_t seed, unsigned threads)
    : models_(*models), seed_(seed), places_(threads) {
  const uint32_t modes[] = {LK_CACHE_SHARED, LK_CACHE_THREAD};
  for (size_t i = 0; i < homes_.size(); i++) {
    lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
    options.cache_mode = modes[i];
    options.threads = 2;
    homes_[i] = std::make_unique<Home>(options, &counts_);
    for (const Models::Each &each : models_.all()) {
      standing_.push_back(Session::open(homes_[i].get(), each, Session::From::kFile, 0, 0));
    }
  }
}

void Load::work(double seconds) {
  ends_ = false;
  std::vector<std::thread> places(places_);
  for (size_t place = 0; place < places.size(); place++) {
    // At each place, a thread that lives for some hundred requests is followed by another.
    places[place] = std::thread([this, place] {
      while (!ends_) {
        std::thread([this, place] {
          const uint64_t seed = (seed_ + ++lives_) * 0x9e3779b97f4a7c15;
          Worker worker(this, place, seed);
          counts_.threads++;
          for (uint64_t n = 100 + seed % 400; n > 0 && !ends_; n--) worker.act();
        }).join();
      }
    });
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  ends_ = true;
  for (std::thread &each : places) each.join();
}

void Load::settle() {
  sessions_.clear();
  lk_error error;
  for (const auto &session : standing_) {
    STRESS_CHECK(lk::api()->cache_set_capacity(session->home->context(),
                                               sessions_api()->executor(session->handle),
                                               LK_UNLIMITED, LK_UNLIMITED, &error) == LK_OK,
                 "limiting an executor: %s", error.message);
  }
  for (const auto &home : homes_) home->settle();
  // Pages of weights in files are in memory or not as they were read, or packed, the last time. On
  // a thread of its own: the library's threads end with the last thread that runs anything.
  std::thread([this] { Worker(this, 0, seed_).warm_up(); }).join();
  for (const auto &home : homes_) home->settle();
}

Figures Load::figures() const {
  Figures figures;
  figures.requests = counts_.requests;
  figures.refused = counts_.refused;
  figures.stopped = counts_.stopped;
  figures.opened = counts_.opened;
  figures.forks = counts_.forks;
  figures.threads = counts_.threads;
  figures.contexts = counts_.contexts;
  figures.sessions = counts_.opened - counts_.closed;
  for (const auto &home : homes_) {
    const lk_stats stats = home->stats();
    figures.library_bytes += stats.memory_bytes;
    figures.library_things += stats.entries + stats.weights_entries;
  }
  measure(&figures);
  return figures;
}

} // namespace soak
