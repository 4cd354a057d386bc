// What the stress test prints: its seed, its progress, and after a violation how to repeat it.
#pragma once

#include <cstdint>
#include <string>

namespace stress {

struct Options {
  uint64_t seed = 0; // 0: from the clock
  double seconds = 20;
  unsigned threads = 4;
  uint64_t first_round = 0;
  std::string cache = "all";  // off, thread, shared, both: thread and shared; all
  std::string engine = "all"; // native, auto, onednn; all
  std::string broken;         // the field that keys lack; "": none
};

void report_begin(const Options &options);

// What a worker does, for the report; the last ones of each thread are kept.
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
// One number for all that was noted by this thread, and all threads that have said so, in any
// order: with one worker, the same for the same seed and round.
void note_end();
uint64_t notes_digest();
// Who notes: the calling thread is `worker` in round `round`.
void note_worker(uint64_t round, unsigned worker, unsigned life);

// Writes the sentence, how to repeat it, and what this thread did last, and ends the process with
// 1: after a violation nothing is certain any more, the ends of objects included.
[[noreturn]] void violation(const std::string &sentence);

// Fails as a violation when the call does.
#define STRESS_CHECK(condition, ...)                                                               \
  do {                                                                                             \
    if (!(condition)) ::stress::violation(::stress::text(__VA_ARGS__));                            \
  } while (false)

std::string text(const char *format, ...) __attribute__((format(printf, 1, 2)));

} // namespace stress
