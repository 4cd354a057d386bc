// What the benchmarks of kernels that move data have in common: measuring them by turns with
// oneDNN's primitives and with plain moves, and the table that they print.
#pragma once

#include "benchmarks/beside.h"
#include "benchmarks/share.h"

namespace beside {

constexpr double TARGET_MEDIAN = 1.00, TARGET_MOST = 1.30;

struct Result {
  std::string name;
  double ours, theirs, bytes; // seconds
  share::Shares shares;
  double ratio() const { return ours / theirs; }
};

// Bytes that are read and that are written.
template <typename Ours, typename Theirs>
Result measure(const std::string &name, int64_t read, int64_t written, int rounds, const Ours &ours,
               const Theirs &theirs) {
  const double bytes = double(read + written);
  const int repeats = int(std::min(1e5, 2e6 / bytes)) + 1; // a fraction of a millisecond
  Result result = {name, INFINITY, INFINITY, bytes, {}};
  for (int i = 0; i < rounds; i++) {
    result.theirs = std::min(result.theirs, seconds(repeats, theirs));
    result.ours = std::min(result.ours, seconds(repeats, ours));
  }
  result.shares = share::measure(double(read), double(written), rounds, ours);
  return result;
}

// ---- report ----

inline bool report(const char *what, std::vector<Result> results, bool json) {
  std::sort(results.begin(), results.end(),
            [](const Result &a, const Result &b) { return a.ratio() < b.ratio(); });
  const double middle = results[results.size() / 2].ratio(), most = results.back().ratio();
  if (json) {
    std::printf("\"%s\": {\"median\": %.4f, \"most\": %.4f, \"sizes\": [", what, middle, most);
    for (size_t i = 0; i < results.size(); i++) {
      std::printf("%s{\"size\": \"%s\", \"us\": %.3f, \"primitive_us\": %.3f", i > 0 ? ", " : "",
                  results[i].name.c_str(), results[i].ours * 1e6, results[i].theirs * 1e6);
      share::print_json(results[i].shares);
      std::printf("}");
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
  std::vector<share::Shares> shares;
  for (const Result &each : results) shares.push_back(each.shares);
  share::print_summary(shares);
  const auto row = [](const Result &each) {
    std::printf("    %-34s %9.2f us %5.1f GB/s, primitive %9.2f us: %.3f%s\n", each.name.c_str(),
                each.ours * 1e6, each.bytes / each.ours / 1e9, each.theirs * 1e6, each.ratio(),
                share::text_of(each.shares).c_str());
  };
  const size_t first = std::min<size_t>(3, results.size());
  for (size_t i = 0; i < first; i++) row(results[i]);
  std::printf("    ...\n");
  const size_t last = std::max(first, results.size() - std::min<size_t>(10, results.size()));
  for (size_t i = first; i < results.size(); i++) {
    if (i >= last || results[i].shares.gbytes[0] > 0) row(results[i]);
  }
  return middle <= TARGET_MEDIAN && most <= TARGET_MOST;
}

} // namespace beside
