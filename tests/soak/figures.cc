#include "tests/soak/figures.h"

#include <dirent.h>
#include <malloc.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "tests/faults/faults.h"
#include "tests/stress/report.h"

namespace soak {
namespace {

using stress::text;

uint64_t entries_of(const char *path) {
  DIR *folder = opendir(path);
  STRESS_CHECK(folder != nullptr, "failed to open %s", path);
  uint64_t count = 0;
  while (const dirent *entry = readdir(folder)) count += entry->d_name[0] != '.';
  closedir(folder);
  return count;
}

// VmRSS of /proc/self/status lags behind by what each thread has not handed in yet; this does not.
uint64_t resident_bytes() {
  FILE *file = std::fopen("/proc/self/smaps_rollup", "r");
  STRESS_CHECK(file != nullptr, "failed to open /proc/self/smaps_rollup");
  char line[256];
  uint64_t kilobytes = 0;
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::sscanf(line, "Rss: %" SCNu64 " kB", &kilobytes) == 1) break;
  }
  std::fclose(file);
  STRESS_CHECK(kilobytes != 0, "failed to find Rss in /proc/self/smaps_rollup");
  return kilobytes << 10;
}

constexpr uint64_t Figures::*kMeasured[] = {
    &Figures::rss,      &Figures::blocks, &Figures::library_bytes, &Figures::library_things,
    &Figures::sessions, &Figures::tasks,  &Figures::files};

// The counts of the last one, and the medians of what was measured.
Figures median_of(const std::vector<Figures> &some) {
  Figures result = some.back();
  for (const auto member : kMeasured) {
    std::vector<uint64_t> values;
    for (const Figures &each : some) values.push_back(each.*member);
    std::nth_element(values.begin(), values.begin() + std::ptrdiff_t(values.size() / 2),
                     values.end());
    result.*member = values[values.size() / 2];
  }
  std::vector<double> rates;
  for (const Figures &each : some) rates.push_back(each.requests_per_s);
  std::nth_element(rates.begin(), rates.begin() + std::ptrdiff_t(rates.size() / 2), rates.end());
  result.requests_per_s = rates[rates.size() / 2];
  return result;
}

struct Row {
  const char *name, *key;
  uint64_t Figures::*member;
  double per_cent; // that it may grow; negative: any
};

// Of bytes, 1 %: what is kept for use again lies otherwise each time. Of what is counted, nothing.
// (The bytes that malloc counts would not do: it may hand out 16 bytes more than it has to.)
constexpr double kAny = -1;
const Row kRows[] = {
    {"requests answered", "requests", &Figures::requests, kAny},
    {"refused for memory", "refused", &Figures::refused, kAny},
    {"cancelled or late", "stopped", &Figures::stopped, kAny},
    {"sessions opened", "opened", &Figures::opened, kAny},
    {"contexts opened", "contexts", &Figures::contexts, kAny},
    {"threads started", "threads", &Figures::threads, kAny},
    {"forks", "forks", &Figures::forks, kAny},
    {"resident bytes", "rss", &Figures::rss, 1},
    {"blocks of malloc", "blocks", &Figures::blocks, 0},
    {"bytes of contexts", "library_bytes", &Figures::library_bytes, 1},
    {"entries and weights", "library_things", &Figures::library_things, 0},
    {"open sessions", "sessions", &Figures::sessions, 0},
    {"threads", "tasks", &Figures::tasks, 0},
    {"file descriptors", "files", &Figures::files, 0},
};

} // namespace

void measure(Figures *figures) {
  malloc_trim(0); // what the contexts have let go, in every arena
  figures->blocks = static_cast<uint64_t>(fault_live_get().blocks);
  figures->tasks = entries_of("/proc/self/task");
  figures->files = entries_of("/proc/self/fd");
  figures->rss = resident_bytes();
}

Course::Stretches Course::stretches() const {
  const size_t n = all_.size(), tenth = std::max<size_t>(1, n / 10),
               after = std::max<size_t>(1, n / 20);
  const auto some = [&](size_t from) {
    from = std::min(from, n - tenth);
    return median_of(
        {all_.begin() + std::ptrdiff_t(from), all_.begin() + std::ptrdiff_t(from + tenth)});
  };
  return {all_.front(), some(after), some(n / 2 - tenth / 2), some(n - tenth)};
}

std::vector<std::string> Course::complaints() const {
  const Stretches of = stretches();
  std::vector<std::string> all;
  for (const Row &row : kRows) {
    if (row.per_cent < 0) continue;
    const uint64_t first = of.first.*row.member, last = of.last.*row.member;
    if (double(last) <= double(first) * (1 + row.per_cent / 100)) continue;
    all.push_back(text(
        "%s grew from %" PRIu64 " to %" PRIu64 ", by %.2f %%; %g %% is allowed", row.name, first,
        last, first == 0 ? 100.0 : 100 * (double(last) / double(first) - 1), row.per_cent));
  }
  return all;
}

std::string Course::table() const {
  const Stretches of = stretches();
  const Figures *columns[] = {&of.start, &of.first, &of.middle, &of.last};
  std::string all =
      text("%-20s %14s %14s %14s %14s\n", "", "start", "first tenth", "middle", "end");
  all += text("%-20s", "seconds");
  for (const Figures *each : columns) all += text(" %14.0f", each->seconds);
  all += text("\n%-20s", "requests a second");
  for (const Figures *each : columns) all += text(" %14.0f", each->requests_per_s);
  for (const Row &row : kRows) {
    all += text("\n%-20s", row.name);
    for (const Figures *each : columns) all += text(" %14" PRIu64, each->*row.member);
  }
  return all + "\n";
}

std::string Course::json(uint64_t seed) const {
  const Stretches of = stretches();
  const std::pair<const char *, const Figures *> columns[] = {
      {"start", &of.start}, {"first_tenth", &of.first}, {"middle", &of.middle}, {"end", &of.last}};
  std::string all = text("{\"seed\": %" PRIu64, seed);
  for (const auto &each : columns) {
    all += text(", \"%s\": {\"seconds\": %.3f, \"requests_per_s\": %.1f", each.first,
                each.second->seconds, each.second->requests_per_s);
    for (const Row &row : kRows) {
      all += text(", \"%s\": %" PRIu64, row.key, each.second->*row.member);
    }
    all += "}";
  }
  all += ", \"complaints\": [";
  const char *between = "";
  for (const std::string &each : complaints()) {
    all += text("%s\"%s\"", between, each.c_str());
    between = ", ";
  }
  return all + "]}\n";
}

} // namespace soak
