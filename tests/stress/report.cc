#include "tests/stress/report.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <mutex>

namespace stress {
namespace {

constexpr size_t kNotes = 24, kNoteBytes = 160;

Options run;
std::mutex mutex; // one violation is enough
std::atomic<uint64_t> digests{0};

struct Notes {
  uint64_t round = 0, count = 0, digest = 0;
  unsigned worker = 0, life = 0;
  std::array<std::array<char, kNoteBytes>, kNotes> last{};
};
thread_local Notes notes;

} // namespace

void report_begin(const Options &options) {
  run = options;
}

void note_worker(uint64_t round, unsigned worker, unsigned life) {
  notes.round = round;
  notes.count = notes.digest = 0;
  notes.worker = worker;
  notes.life = life;
}

void note(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const char *const last = notes.last[notes.count++ % kNotes].data();
  vsnprintf(const_cast<char *>(last), kNoteBytes, format, arguments);
  va_end(arguments);
  for (const char *at = last; *at != '\0'; at++) {
    notes.digest = (notes.digest ^ static_cast<unsigned char>(*at)) * 0x100000001b3;
  }
}

void note_end() {
  digests += notes.digest * (notes.round * 4096 + notes.worker * 64 + notes.life + 1);
}

uint64_t notes_digest() {
  return digests;
}

void violation(const std::string &sentence) {
  mutex.lock(); // never unlocked: the thread that comes second waits for the end
  std::printf("\nVIOLATION: %s\n", sentence.c_str());
  if (!run.broken.empty()) std::printf("CAUGHT: keys without field '%s'\n", run.broken.c_str());
  std::printf("in round %llu, worker %u, life %u, after %llu actions, the last of which were:\n",
              static_cast<unsigned long long>(notes.round), notes.worker, notes.life,
              static_cast<unsigned long long>(notes.count));
  const uint64_t first = notes.count > kNotes ? notes.count - kNotes : 0;
  for (uint64_t i = first; i < notes.count; i++) {
    std::printf("  %s\n", notes.last[i % kNotes].data());
  }
  std::printf("again: --seed %llu --round %llu --threads %u --cache %s --engine %s%s%s\n",
              static_cast<unsigned long long>(run.seed),
              static_cast<unsigned long long>(notes.round), run.threads, run.cache.c_str(),
              run.engine.c_str(), run.broken.empty() ? "" : " --break ", run.broken.c_str());
  std::fflush(stdout);
  _exit(1);
}

} // namespace stress
