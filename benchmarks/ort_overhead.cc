// What does a run of one small fused node cost in ONNX Runtime, beside ONNX Runtime's own kernels?
//
// Both have a session of the same model in this process, with one thread, and take turns in blocks
// of runs. The difference is the median of the differences between neighbouring blocks; the
// quartiles say how far these lie apart. A run is ONNX Runtime's Run and the release of the output
// that it made.
//
// ort_overhead [--json] [--quick | --long]
// ort_overhead --profile N: only N runs of the first model on the provider, to see where they spend
// their time: `valgrind --tool=callgrind --toggle-collect=lk_ort_compute`, or `perf record`.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "benchmarks/arguments.h"
#include "tests/executor_glue/ort/models.h"
#include "tests/executor_glue/ort/repeated.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr double TARGET_NS = 350;
constexpr int RUNS_IN_BLOCK = 400;

struct Case {
  const char *name;
  std::string model;
};

// x [1, 16] -> y [1, 16]. Whatever it consists of, the provider makes one node of it.
std::string graph(bool with_mul) {
  proto::Graph g;
  g.in("x", LK_F32, {"1", "16"}).out("y", LK_F32, {"1", "16"});
  if (with_mul) {
    g.init(ort::weights("w", {16}, 1));
    g.node(proto::node("Mul", {"x", "w"}, {"h"}));
  }
  g.node(proto::node("Relu", {with_mul ? "h" : "x"}, {"y"}));
  return ort::bytes_of(g);
}

std::vector<Case> cases() {
  return {{"Relu", graph(false)}, {"Mul, Relu", graph(true)}};
}

double block_ns(const ort::Repeated &runs) {
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < RUNS_IN_BLOCK; i++) runs.run();
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / RUNS_IN_BLOCK;
}

double quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(part * static_cast<double>(values.size() - 1) + 0.5)];
}

struct Figures {
  std::vector<double> ours, theirs, more;
};

Figures measure(ort::Host &host, const std::string &model, int blocks) {
  ort::Options options;
  const ort::Session on_provider(host, model, options);
  options.on_provider = false;
  const ort::Session on_cpu(host, model, options);
  const ort::Inputs inputs = {{"x", ort::noise({1, 16}, 7)}};
  // Else two runs of the CPU provider would be compared.
  EXPECT_EQ(on_provider.report(inputs, {"y"}).number("claims.subgraphs"), 1);
  ort::expect_same(on_provider.run(inputs, {"y"}).outputs, on_cpu.run(inputs, {"y"}).outputs);
  const ort::Repeated ours(on_provider, inputs, "y"), theirs(on_cpu, inputs, "y");
  block_ns(ours);
  block_ns(theirs);
  Figures out;
  for (int block = 0; block < blocks; block++) {
    double a = 0, b = 0;
    if (block % 2 == 0) a = block_ns(ours);
    b = block_ns(theirs);
    if (block % 2 != 0) a = block_ns(ours);
    out.ours.push_back(a);
    out.theirs.push_back(b);
    out.more.push_back(a - b);
  }
  return out;
}

int profile(int runs) {
  ort::Host host;
  const ort::Session session(host, cases()[0].model);
  const ort::Repeated repeated(session, {{"x", ort::noise({1, 16}, 7)}}, "y");
  for (int i = 0; i < runs; i++) repeated.run();
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  ::testing::GTEST_FLAG(throw_on_failure) = true; // what the tests expect is needed here
  if (argc == 3 && std::strcmp(argv[1], "--profile") == 0) return profile(std::atoi(argv[2]));
  const Arguments arguments("ort_overhead", argc, argv, {601, 51, 6001});
  const bool json = arguments.json;
  if (!json) {
    std::printf(
        "What does a run of one small fused node cost in ONNX Runtime, beside ONNX Runtime's "
        "own kernels?\n"
        "  %-24s %10s %14s %12s %22s  target\n",
        "ns for a run, 16 floats", "latchkey", "onnxruntime", "difference", "quartiles");
  }
  ort::Host host;
  const std::vector<Case> all = cases();
  for (const Case &each : all) {
    const Figures f = measure(host, each.model, arguments.rounds);
    const double ours = quantile(f.ours, 0.5), theirs = quantile(f.theirs, 0.5);
    const double more = quantile(f.more, 0.5), low = quantile(f.more, 0.25);
    const double high = quantile(f.more, 0.75);
    if (json) {
      std::printf("%s{\"model\": \"%s\", \"ns\": {\"latchkey\": %.1f, \"onnxruntime\": %.1f}, "
                  "\"difference\": {\"median\": %.1f, \"quartiles\": [%.1f, %.1f]}}",
                  &each == all.data() ? "{\"target_ns\": 500, \"models\": [" : ", ", each.name,
                  ours, theirs, more, low, high);
    } else {
      char quartiles[64], missed[64];
      std::snprintf(quartiles, sizeof quartiles, "%+.0f to %+.0f", low, high);
      std::snprintf(missed, sizeof missed, "MISSED (<= +%.0f ns)", TARGET_NS);
      std::printf("  %-24s %10.0f %14.0f %+12.0f %22s  %s\n", each.name, ours, theirs, more,
                  quartiles, more <= TARGET_NS ? "met" : missed);
      std::fflush(stdout);
    }
  }
  if (json) std::printf("]}\n");
  return 0;
}
