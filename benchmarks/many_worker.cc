// A process that holds several models open in one context. It runs them in turns, or one of them
// from many threads, which stay between commands because a thread may have its own cache.
//
// many_worker THREADS MODEL SHAPE [MODEL SHAPE]..., THREADS of an operator. Then one command
// on each line of stdin, one line of JSON for each on stdout. M is the number of a model.
//   time M N [BYTES]     reads BYTES of other memory and runs it, N times: {"ns": [...]}
//   turns N              runs all models in turn, N times: {"ns": [[...], ...]}, one list for each
//   threads M T N WHOSE  T threads run it T * N times. WHOSE outputs: `library` or `caller`:
//                        {"wrong": outputs that are not what one thread made}
//   bytes M              its constants and activations: {"bytes": ...}
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <thread>

#include "benchmarks/session_run.h"

extern "C" {
#include "base/team/team.h"
}

namespace {

// Threads that all call one function at the same time, as often as they are told.
class Crew {
public:
  Crew() = default;
  ~Crew() {
    {
      const std::lock_guard<std::mutex> guard(lock_);
      ends_ = true;
    }
    news_.notify_all();
    for (std::thread &thread : threads_) thread.join();
  }
  Crew(const Crew &) = delete;
  Crew &operator=(const Crew &) = delete;

  // `work(0)` to `work(count - 1)`, each number on a thread that is always the same.
  void Run(size_t count, const std::function<void(size_t)> &work) {
    std::unique_lock<std::mutex> guard(lock_);
    while (threads_.size() < count) {
      threads_.emplace_back(
          [this, number = threads_.size(), seen = round_] { Serve(number, seen); });
    }
    work_ = &work;
    called_ = count;
    left_ = count;
    ++round_;
    news_.notify_all();
    done_.wait(guard, [this] { return left_ == 0; });
  }

private:
  void Serve(size_t number, uint64_t seen) {
    std::unique_lock<std::mutex> guard(lock_);
    for (;;) {
      news_.wait(guard, [&] { return ends_ || round_ != seen; });
      if (ends_) return;
      seen = round_;
      if (number >= called_) continue;
      const std::function<void(size_t)> &work = *work_;
      guard.unlock();
      work(number);
      guard.lock();
      if (--left_ == 0) done_.notify_all();
    }
  }

  std::mutex lock_;
  std::condition_variable news_, done_;
  std::vector<std::thread> threads_;
  const std::function<void(size_t)> *work_ = nullptr;
  size_t called_ = 0, left_ = 0;
  uint64_t round_ = 0;
  bool ends_ = false;
};

class Model {
public:
  Model(lk_context *context, const char *path, const std::string &shape)
      : session_(OpenSession(context, path, 0)), dims_(ParseShape(shape)) {
    Draw(dims_, values_);
    NewRun().Run([this](const lk_tensor &output) {
      size_t count = 1;
      for (uint32_t i = 0; i < output.desc.rank; ++i) {
        count *= static_cast<size_t>(output.desc.dims[i]);
      }
      const auto *data = static_cast<const float *>(output.data);
      expected_.assign(data, data + count);
      place_ = output.desc;
    });
  }
  ~Model() { sessions->close(session_); }
  Model(const Model &) = delete;
  Model &operator=(const Model &) = delete;

  SessionRun NewRun() const { return {session_, dims_, values_.data()}; }

  // Of the runs that this thread takes from the `left` ones, how many were not as the first of all.
  size_t Wrong(std::atomic<int64_t> &left, int64_t at_once, bool is_callers) const {
    SessionRun run = NewRun();
    std::vector<float> place(is_callers ? expected_.size() : 0);
    if (is_callers) run.WriteTo(place_, place.data());
    size_t wrong = 0;
    for (;;) {
      const int64_t found = left.fetch_sub(at_once, std::memory_order_relaxed);
      if (found <= 0) return wrong;
      for (int64_t i = std::min(found, at_once); i > 0; --i) {
        run.Run([&](const lk_tensor &output) {
          wrong +=
              std::memcmp(output.data, expected_.data(), expected_.size() * sizeof(float)) != 0;
        });
      }
    }
  }

  uint64_t Bytes() const {
    const lk_session_stats stats = StatsOf(session_);
    return stats.weights_bytes + stats.arena_bytes;
  }

private:
  lk_session *session_;
  std::vector<int64_t> dims_;
  Values values_;
  std::vector<float> expected_; // the first output of a run on one thread
  lk_tensor_desc place_ = {};
};

// Memory of nobody's, that the threads of the operators read to have in their caches what another
// model would have there.
class Other {
public:
  explicit Other(int threads) : threads_(threads) {}

  void Read(size_t bytes) {
    if (words_.size() < bytes / sizeof(uint64_t)) words_.resize(bytes / sizeof(uint64_t), 1);
    count_ = bytes / sizeof(uint64_t);
    lk_team_run([](void *self) { static_cast<Other *>(self)->ReadPart(); }, this, threads_);
  }

private:
  void ReadPart() {
    const size_t part = count_ / static_cast<size_t>(threads_);
    const size_t first = part * static_cast<size_t>(lk_team_rank());
    uint64_t sum = 0;
    for (size_t i = first; i < first + part; i += 8) sum += words_[i]; // 64 bytes: a line
    sum_.fetch_add(sum, std::memory_order_relaxed);                    // not in vain
  }

  int threads_;
  size_t count_ = 0;
  std::vector<uint64_t> words_;
  std::atomic<uint64_t> sum_{0};
};

class Process {
public:
  Process(int threads, const std::vector<std::pair<const char *, std::string>> &models)
      : context_(CreateContext(threads)), other_(threads) {
    for (const auto &[path, shape] : models) {
      models_.push_back(std::make_unique<Model>(context_, path, shape));
    }
  }
  ~Process() {
    models_.clear();
    api->context_destroy(context_);
  }
  Process(const Process &) = delete;
  Process &operator=(const Process &) = delete;

  void Obey(const std::string &line) {
    std::stringstream words(line);
    std::string command;
    words >> command;
    if (command == "time") {
      size_t model = 0, count = 0, bytes = 0;
      words >> model >> count >> bytes;
      Time(model, count, bytes);
    } else if (command == "turns") {
      size_t count = 0;
      words >> count;
      Turns(count);
    } else if (command == "threads") {
      size_t model = 0, n_threads = 0, count = 0;
      std::string whose;
      words >> model >> n_threads >> count >> whose;
      Threads(model, n_threads, count, whose == "caller");
    } else if (command == "bytes") {
      size_t model = 0;
      words >> model;
      std::printf("{\"bytes\": %llu}\n",
                  static_cast<unsigned long long>(models_.at(model)->Bytes()));
    } else {
      std::fprintf(stderr, "many_worker: unknown command: %s\n", line.c_str());
      std::exit(1);
    }
    std::fflush(stdout);
  }

private:
  int64_t RunOnce(SessionRun &run) {
    return run.Run([this](const lk_tensor &output) {
      sum_ = sum_ + *static_cast<const float *>(output.data);
    });
  }

  void Time(size_t model, size_t count, size_t bytes) {
    SessionRun run = models_.at(model)->NewRun();
    std::vector<int64_t> times;
    for (size_t i = 0; i < count; ++i) {
      if (bytes > 0) other_.Read(bytes);
      times.push_back(RunOnce(run));
    }
    std::printf("{\"ns\": ");
    PrintTimes(times);
    std::printf("}\n");
  }

  void Turns(size_t count) {
    std::vector<SessionRun> runs;
    for (const auto &model : models_) runs.push_back(model->NewRun());
    std::vector<std::vector<int64_t>> times(runs.size());
    for (size_t i = 0; i < count; ++i) {
      for (size_t m = 0; m < runs.size(); ++m) times[m].push_back(RunOnce(runs[m]));
    }
    std::printf("{\"ns\": [");
    for (size_t m = 0; m < times.size(); ++m) {
      std::printf("%s", m == 0 ? "" : ", ");
      PrintTimes(times[m]);
    }
    std::printf("]}\n");
  }

  void Threads(size_t model, size_t n_threads, size_t count, bool is_callers) {
    std::atomic<size_t> wrong{0};
    // taken few by few: none is at work alone at the end, and they rarely write to the same line
    std::atomic<int64_t> left{static_cast<int64_t>(n_threads * count)};
    const auto at_once = static_cast<int64_t>(std::max<size_t>(1, count / 256));
    crew_.Run(n_threads,
              [&](size_t) { wrong += models_.at(model)->Wrong(left, at_once, is_callers); });
    std::printf("{\"wrong\": %zu}\n", wrong.load());
  }

  lk_context *context_;
  std::vector<std::unique_ptr<Model>> models_;
  Other other_;
  Crew crew_; // ends first: its threads may have tables of the context's cache
  volatile float sum_ = 0;
};

} // namespace

int main(int argc, char **argv) {
  if (argc < 4 || argc % 2 != 0) {
    std::fprintf(stderr, "usage: many_worker THREADS MODEL SHAPE [MODEL SHAPE]...\n");
    return 2;
  }
  std::vector<std::pair<const char *, std::string>> models;
  for (int i = 2; i < argc; i += 2) models.emplace_back(argv[i], argv[i + 1]);
  Process process(std::atoi(argv[1]), models);
  for (std::string line; std::getline(std::cin, line);) process.Obey(line);
  return 0;
}
