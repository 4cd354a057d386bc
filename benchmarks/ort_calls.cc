// What does a run of a small model cost from C, beside ONNX Runtime's C API?
//
// Both have a session of the same file in this process, with one thread, and take turns in blocks
// of runs. Outputs are the library's, which each run makes and gives back.
//
// ort_calls MODEL INPUT OUTPUT D0xD1x... BLOCKS: one line of JSON: {"latchkey": [...],
// "onnxruntime": [...]}, the nanoseconds of a run by blocks. calls.py starts it.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "benchmarks/session_run.h"
#include "tests/executor_glue/ort/repeated.h"

namespace {

constexpr int RUNS_IN_BLOCK = 1000;

template <typename Run> int64_t BlockNs(Run run) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < RUNS_IN_BLOCK; ++i) run();
  const auto taken = std::chrono::steady_clock::now() - start;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(taken).count() / RUNS_IN_BLOCK;
}

template <typename Ours, typename Theirs>
void Measure(int blocks, Ours ours, Theirs theirs, std::vector<int64_t> *out) {
  BlockNs(ours);
  BlockNs(theirs);
  for (int block = 0; block < blocks; ++block) {
    if (block % 2 == 0) out[0].push_back(BlockNs(ours));
    out[1].push_back(BlockNs(theirs));
    if (block % 2 != 0) out[0].push_back(BlockNs(ours));
  }
}

std::string Read(const char *path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: ort_calls MODEL INPUT OUTPUT D0xD1x... BLOCKS\n");
    return 2;
  }
  ::testing::GTEST_FLAG(throw_on_failure) = true; // what the tests expect is needed here
  const std::vector<int64_t> dims = ParseShape(argv[4]);
  lk_context *context = CreateContext(1);
  lk_session *session = OpenSession(context, argv[1], 0);
  ort::Options options;
  options.on_provider = false;
  ort::Host host(false);
  const ort::Session theirs(host, Read(argv[1]), options);
  const ort::Tensor noise = ort::noise(dims, 7);
  const ort::Repeated repeated(theirs, {{argv[2], noise}}, argv[3]);
  SessionRun run(session, dims, reinterpret_cast<const float *>(noise.bytes.data()));
  std::vector<int64_t> times[2];
  Measure(
      std::atoi(argv[5]), [&] { run.Run([](const lk_tensor &) {}); }, [&] { repeated.run(); },
      times);
  std::printf("{\"latchkey\": ");
  PrintTimes(times[0]);
  std::printf(", \"onnxruntime\": ");
  PrintTimes(times[1]);
  std::printf("}\n");
  sessions->close(session);
  api->context_destroy(context);
  return 0;
}
