// What the benchmarks of kernels that move data have in common: measuring them by turns with
// oneDNN's primitives and with memcpy, and the table that they print.
#pragma once

#include "benchmarks/beside.h"

namespace beside {

constexpr double TARGET_MEDIAN = 1.00, TARGET_MOST = 1.30, TARGET_BANDWIDTH = 0.85;

struct Result {
  std::string name;
  double ours, theirs, copy, bytes; // seconds; `copy`: memcpy that moves as many bytes
  double ratio() const { return ours / theirs; }
  double bandwidth() const { return copy / ours; }
};

// `bytes` that are read and written together.
template <typename Ours, typename Theirs>
Result measure(const std::string &name, int64_t bytes, int rounds, const Ours &ours,
               const Theirs &theirs) {
  const Buffer from(bytes / 8 + 1), to(bytes / 8 + 1);
  const auto copy = [&] { std::memcpy(to.get(), from.get(), size_t(bytes / 2)); };
  const int repeats = int(std::min(1e5, 2e6 / double(bytes))) + 1; // a fraction of a millisecond
  Result result = {name, INFINITY, INFINITY, INFINITY, double(bytes)};
  for (int i = 0; i < rounds; i++) {
    result.theirs = std::min(result.theirs, seconds(repeats, theirs));
    result.ours = std::min(result.ours, seconds(repeats, ours));
    result.copy = std::min(result.copy, seconds(repeats, copy));
  }
  return result;
}

// ---- report ----

inline bool report(const char *what, std::vector<Result> results, bool json) {
  std::sort(results.begin(), results.end(),
            [](const Result &a, const Result &b) { return a.ratio() < b.ratio(); });
  const double middle = results[results.size() / 2].ratio(), most = results.back().ratio();
  double large = 0; // the median of those that fit no cache
  std::vector<double> bandwidths;
  for (const Result &each : results) {
    if (each.bytes >= 16e6) bandwidths.push_back(each.bandwidth());
  }
  std::sort(bandwidths.begin(), bandwidths.end());
  if (!bandwidths.empty()) large = bandwidths[bandwidths.size() / 2];
  if (json) {
    std::printf("\"%s\": {\"median\": %.4f, \"most\": %.4f, \"bandwidth\": %.4f, \"sizes\": [",
                what, middle, most, large);
    for (size_t i = 0; i < results.size(); i++) {
      std::printf("%s{\"size\": \"%s\", \"us\": %.3f, \"primitive_us\": %.3f, \"memcpy_us\": %.3f}",
                  i > 0 ? ", " : "", results[i].name.c_str(), results[i].ours * 1e6,
                  results[i].theirs * 1e6, results[i].copy * 1e6);
    }
    std::printf("]}");
    return middle <= TARGET_MEDIAN && most <= TARGET_MOST;
  }
  std::printf("%s: time of the primitive's, %zu sizes\n", what, results.size());
  const auto line = [](const char *name, double value, double target, bool missed) {
    std::printf("  %-36s %6.3f   target %.2f%s\n", name, value, target, missed ? "   MISSED" : "");
  };
  line("median", middle, TARGET_MEDIAN, middle > TARGET_MEDIAN);
  line("the most", most, TARGET_MOST, most > TARGET_MOST);
  line("of memcpy's bandwidth, from 16 MB on", large, TARGET_BANDWIDTH, large < TARGET_BANDWIDTH);
  const auto row = [](const Result &each) {
    std::printf("    %-34s %9.2f us %5.1f GB/s, primitive %9.2f us: %.3f; of memcpy's %.2f\n",
                each.name.c_str(), each.ours * 1e6, each.bytes / each.ours / 1e9, each.theirs * 1e6,
                each.ratio(), each.bandwidth());
  };
  const size_t first = std::min<size_t>(3, results.size());
  for (size_t i = 0; i < first; i++) row(results[i]);
  std::printf("    ...\n");
  for (size_t i = std::max(first, results.size() - std::min<size_t>(10, results.size()));
       i < results.size(); i++) {
    row(results[i]);
  }
  return middle <= TARGET_MEDIAN && most <= TARGET_MOST;
}

} // namespace beside
