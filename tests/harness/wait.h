// Waiting for what other threads do. How long that takes depends on what else the machine does, so
// these wait for as long as it takes; ctest's time limit ends what waits for ever.
#pragma once

#include <dirent.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <thread>

namespace lk {

// Waits until another thread has made something true.
template <typename Condition> void wait_until(Condition condition) {
  while (!condition()) std::this_thread::yield();
}

// Calls `fn(id)` for each thread of the process.
template <typename Function> void for_each_thread(Function fn) {
  DIR *tasks = opendir("/proc/self/task");
  while (const dirent *entry = readdir(tasks)) {
    if (entry->d_name[0] != '.') fn(pid_t(std::stol(entry->d_name)));
  }
  closedir(tasks);
}

// Whether a thread neither runs nor waits for a page. One that has ended counts as one that sleeps.
inline bool is_asleep(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')'); // "ID (name) state ..."
  return name_end == std::string::npos || (line[name_end + 2] != 'R' && line[name_end + 2] != 'D');
}

// Waits until all other threads of the process sleep at once: they wait for something.
inline void wait_until_others_sleep() {
  wait_until([] {
    bool all = true;
    for_each_thread([&](pid_t thread) { all = all && (thread == gettid() || is_asleep(thread)); });
    return all;
  });
}

// What a thread has computed so far, in nanoseconds of a processor: the machine's other work does
// not count.
inline uint64_t computed_ns(pthread_t thread) {
  clockid_t clock;
  timespec now = {};
  if (pthread_getcpuclockid(thread, &clock) == 0) clock_gettime(clock, &now);
  return uint64_t(now.tv_sec) * 1000000000u + uint64_t(now.tv_nsec);
}

} // namespace lk
