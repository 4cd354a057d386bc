// What share of a move's speed a kernel reaches that is bound by memory: with one thread, and
// with two, where both wait for the same memory.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "benchmarks/pages.h"

extern "C" {
#include "base/alloc.h"
#include "base/team/team.h"
#include "base/team/team_for.h"
#include "ops/kernel/peak.h"
}

namespace share {

constexpr double TARGET = 0.85;
constexpr double LARGE = 48 << 20; // bytes: beyond the caches
constexpr int MOST_THREADS = 2;

inline int threads() {
  return std::min(MOST_THREADS, std::max(1, int(std::thread::hardware_concurrency())));
}

// Of one thread, and of two.
struct Shares {
  double gbytes[MOST_THREADS] = {}, of_move[MOST_THREADS] = {}; // 0: not measured
};

// What moves as many bytes as a kernel, and does nothing else: a copy, and more reading or more
// writing where one of the two is more.
class Move {
public:
  Move(double read, double written)
      : from_(size_t(read / 4) + 1, 1.0F), to_(size_t(written / 4) + 1) {}

  void run() {
    const size_t count = std::max(from_.size(), to_.size());
    lk_team_for(int64_t((count + PIECE - 1) / PIECE), true, pieces, this);
  }

private:
  static constexpr size_t PIECE = 64 * 1024; // floats

  static void pieces(const void *arg, int64_t begin, int64_t end) {
    auto *self = static_cast<Move *>(const_cast<void *>(arg));
    const size_t first = size_t(begin) * PIECE, last = size_t(end) * PIECE;
    const size_t read = std::clamp(self->from_.size(), first, last) - first;
    const size_t written = std::clamp(self->to_.size(), first, last) - first;
    const size_t both = std::min(read, written);
    const float *from = self->from_.data() + first;
    float *to = self->to_.data() + first;
    if (both > 0) std::memcpy(to, from, both * sizeof(float));
    if (written > both) std::memset(to + both, 0, (written - both) * sizeof(float));
    self->read(from + both, read - both);
  }
  // Several sums, so that no addition waits for memory.
  void read(const float *from, size_t count) {
    constexpr size_t SUMS = 64;
    uint32_t sums[SUMS] = {}, value[SUMS];
    for (size_t i = 0; i + SUMS <= count; i += SUMS) {
      std::memcpy(value, from + i, sizeof value);
      for (size_t k = 0; k < SUMS; k++) sums[k] += value[k];
    }
    uint32_t all = 0;
    for (uint32_t sum : sums) all += sum;
    sum_.fetch_add(all, std::memory_order_relaxed);
  }

  Lines from_, to_;
  std::atomic<uint32_t> sum_{0}; // so that nothing is left out
};

template <typename Work> double seconds_of(const Work &work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Bytes that `work` reads and writes, on the threads of its region. By turns with a move of as
// many; the best of each counts. Nothing is measured of what may stay in the caches.
template <typename Work> Shares measure(double read, double written, int rounds, const Work &work) {
  Shares shares;
  if (read + written < LARGE) return shares;
  Move move(read, written);
  for (int t = 0; t < threads(); t++) {
    const int before = lk_team_begin(t + 1);
    double ours = INFINITY, theirs = INFINITY;
    for (int i = 0; i < rounds; i++) {
      theirs = std::min(theirs, seconds_of([&] { move.run(); }));
      ours = std::min(ours, seconds_of(work));
    }
    lk_team_end(before);
    shares.gbytes[t] = (read + written) / ours * 1e-9;
    shares.of_move[t] = theirs / ours;
  }
  return shares;
}

// ---- report ----

inline const char *verdict(double share) {
  return share < TARGET ? "MISSED" : "met";
}

inline void print_peak() {
  for (int t = 1; t <= threads(); t++) {
    lk_peak peak;
    lk_error error;
    if (lk_peak_measure(lk_allocator_default(), t, &peak, &error) != LK_OK) continue;
    std::printf("reading memory, %d thread%s: %.1f GB/s\n", t, t == 1 ? "" : "s", peak.gbytes);
  }
}

inline std::string text_of(const Shares &shares) {
  std::string text;
  for (int t = 0; t < MOST_THREADS && shares.gbytes[t] > 0; t++) {
    char one[80];
    std::snprintf(one, sizeof one, "; %d thread%s %.1f GB/s, %.2f of a move's %s", t + 1,
                  t == 0 ? "" : "s", shares.gbytes[t], shares.of_move[t],
                  verdict(shares.of_move[t]));
    text += one;
  }
  return text;
}

// The sorted shares of those that were measured with so many threads.
inline std::vector<double> sorted(const std::vector<Shares> &all, int threads) {
  std::vector<double> found;
  for (const Shares &each : all) {
    if (each.gbytes[threads - 1] > 0) found.push_back(each.of_move[threads - 1]);
  }
  std::sort(found.begin(), found.end());
  return found;
}

inline void print_summary(const std::vector<Shares> &all) {
  for (int t = 1; t <= MOST_THREADS; t++) {
    const std::vector<double> found = sorted(all, t);
    if (found.empty()) continue;
    const double median = found[found.size() / 2];
    std::printf("  of a move's speed, %d thread%s: median %.2f, %s; least %.2f, %s; target %.2f\n",
                t, t == 1 ? " " : "s", median, verdict(median), found[0], verdict(found[0]),
                TARGET);
  }
}

// As members of an object.
inline void print_json(const Shares &shares) {
  for (int t = 0; t < MOST_THREADS && shares.gbytes[t] > 0; t++) {
    std::printf(", \"gbytes_%d\": %.2f, \"of_move_%d\": %.3f", t + 1, shares.gbytes[t], t + 1,
                shares.of_move[t]);
  }
}

} // namespace share
