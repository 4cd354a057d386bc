// What the soak counts and measures, and what must hold of it at the end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace soak {

// Taken while no thread works and all that a round has made has ended.
struct Figures {
  double seconds = 0;
  // Since the start.
  uint64_t requests = 0;     // that were answered, all outputs compared
  uint64_t refused = 0;      // for want of memory, of runs and of openings
  uint64_t stopped = 0;      // cancelled, or past their deadlines
  uint64_t opened = 0;       // sessions, clones included
  uint64_t forks = 0;        // whose child has ended with 0
  uint64_t threads = 0;      // that were started
  uint64_t contexts = 0;     // that came and went beside those of the whole soak
  double requests_per_s = 0; // since the figures before
  // Now.
  uint64_t rss = 0;                            // of the process
  uint64_t blocks = 0;                         // that malloc has handed out
  uint64_t library_bytes = 0;                  // memory_bytes of the contexts
  uint64_t library_things = 0;                 // entries and packed weights of the contexts
  uint64_t sessions = 0, tasks = 0, files = 0; // open ones; /proc/self/task; /proc/self/fd
};

// Fills what the system knows: rss, blocks, tasks and files.
void measure(Figures *figures);

// Of a whole soak, in the order of time.
class Course {
public:
  void reserve(size_t n) { all_.reserve(n); }
  void add(const Figures &figures) { all_.push_back(figures); }
  const Figures &newest() const { return all_.back(); }
  size_t size() const { return all_.size(); }

  // Medians of the figures of the first tenth and of the last, which are compared: a single one has
  // what the system does at its own time in it. The first tenth is that after a twentieth, in which
  // the process has not yet met all that it keeps.
  struct Stretches {
    Figures start, first, middle, last;
  };
  Stretches stretches() const;

  // What grew, a sentence each; empty: nothing.
  std::vector<std::string> complaints() const;

  std::string table() const;
  std::string json(uint64_t seed) const;

private:
  std::vector<Figures> all_;
};

} // namespace soak
