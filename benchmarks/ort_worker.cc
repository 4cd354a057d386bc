// A host of ONNX Runtime's C API: many threads in one session, sessions and registrations that come
// and go. It is not in Python, whose lock would hold the threads up.
//
// ort_worker provider|cpu, then one command on each line of stdin, one line of JSON for each on
// stdout:
//   threads T N          T threads run one session N times each, on 20 shapes in turn:
//                        {"wrong": outputs that are not what one thread made}
//   sessions N           opens, runs and closes N sessions:
//                        {"growth": RSS at the end / in the middle}
//   registrations N      the same, and registers the library anew for each
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/executor_glue/ort/memory.h"
#include "tests/executor_glue/ort/models.h"
#include "tests/executor_glue/ort/repeated.h"

namespace {

// One session that all threads run, and what one thread made of each of 20 shapes.
class Shared {
public:
  Shared(ort::Host &host, const ort::Options &options)
      : session_(host, ort::classifier(), options) {
    for (int64_t n : {1, 2}) {
      for (int64_t h : {12, 20}) {
        for (int64_t w : {16, 24, 32, 40, 48}) {
          const ort::Inputs inputs = {{"x", ort::noise({n, 3, h, w}, uint32_t(100 * n + h + w))}};
          runs_.push_back(std::make_unique<ort::Repeated>(session_, inputs, "y"));
          expected_.push_back(session_.run(inputs, {"y"}).outputs.at(0).bytes);
        }
      }
    }
  }

  size_t wrong(size_t n_threads, size_t n_runs) const {
    std::atomic<size_t> wrong{0};
    std::vector<std::thread> threads;
    for (size_t t = 0; t < n_threads; t++) {
      threads.emplace_back([this, t, n_runs, &wrong] {
        for (size_t i = 0; i < n_runs; i++) {
          // Each thread in an order of its own: the steps have no divisor in common with 20.
          static constexpr size_t STEPS[] = {1, 3, 7, 9, 11, 13, 17, 19};
          const size_t which = (i * STEPS[t % std::size(STEPS)] + t) % runs_.size();
          const std::string &right = expected_[which];
          runs_[which]->run([&](const void *data) {
            if (std::memcmp(data, right.data(), right.size()) != 0) wrong++;
          });
        }
      });
    }
    for (std::thread &thread : threads) thread.join();
    return wrong;
  }

private:
  ort::Session session_;
  std::vector<std::unique_ptr<ort::Repeated>> runs_;
  std::vector<std::string> expected_;
};

void run_once(ort::Host &host, const std::string &model, const ort::Options &options, size_t i) {
  const ort::Inputs inputs = {{"x", ort::noise({static_cast<int64_t>(1 + i % 5), 4}, 1)}};
  EXPECT_EQ(ort::Session(host, model, options).run(inputs, {"y"}).error, "");
}

double growth_by_sessions(ort::Host &host, const ort::Options &options, size_t count) {
  const std::string model = ort::perceptron();
  const ort::Session stays(host, model, options); // the context and its cache live on
  return ort::memory_growth(count, [&](size_t i) {
    run_once(host, i % 2 == 0 ? model : ort::perceptron(uint32_t(i)), options, i);
  });
}

double growth_by_registrations(const ort::Options &options, size_t count) {
  const std::string model = ort::perceptron();
  ort::Host host(false);
  return ort::memory_growth(count, [&](size_t i) {
    EXPECT_EQ(host.register_library(), "");
    run_once(host, model, options, i);
    EXPECT_EQ(host.unregister_library(), "");
  });
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: ort_worker provider|cpu\n");
    return 2;
  }
  ::testing::GTEST_FLAG(throw_on_failure) = true; // what the tests expect is needed here
  ort::Options options;
  options.on_provider = std::string(argv[1]) == "provider";
  std::optional<ort::Host> host(std::in_place);
  std::optional<Shared> shared;
  for (std::string line; std::getline(std::cin, line);) {
    std::stringstream words(line);
    std::string command;
    size_t count = 0, runs = 0;
    words >> command >> count >> runs;
    if (command == "threads") {
      if (!shared) shared.emplace(*host, options);
      std::printf("{\"wrong\": %zu}\n", shared->wrong(count, runs));
    } else if (command == "sessions") {
      std::printf("{\"growth\": %.6f}\n", growth_by_sessions(*host, options, count));
    } else if (command == "registrations") {
      shared.reset();
      host.reset(); // the process's environment is one
      std::printf("{\"growth\": %.6f}\n", growth_by_registrations(options, count));
      host.emplace();
    } else {
      std::fprintf(stderr, "ort_worker: unknown command: %s\n", line.c_str());
      return 1;
    }
    std::fflush(stdout);
  }
  return 0;
}
