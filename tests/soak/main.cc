// The soak: sessions at full load for as long as is wanted. Rounds of equal length; after each,
// everything that a round has made has ended, and what is left is measured.
#include <getopt.h>
#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <cinttypes>
#include <cstdio>

#include "tests/harness/environment.h"
#include "tests/soak/load.h"

namespace soak {
namespace {

constexpr double kRounds = 60;

// By then all that is kept for use again is there. A busy machine takes longer for as many.
constexpr uint64_t kWarmUp = 10000;

struct Arguments {
  double seconds = 12;
  uint64_t requests = 0, seed = 0;
  unsigned threads = 4;
  bool json = false;
};

int usage(FILE *out, int code, const char *wrong = "") {
  std::fprintf(out,
               "%sUsage: soak_test [OPTION...]\n"
               "Runs sessions at full load, and fails when an output is wrong or something grows.\n"
               "  --seconds N   go on for so long behind the warm-up (LK_SOAK_SECONDS, 12)\n"
               "  --requests N  and until so many are answered (LK_SOAK_REQUESTS, 0)\n"
               "  --threads N   together, 1 to 64 (4)\n"
               "  --seed N      of models and actions (from the clock)\n"
               "  --json        print the figures as JSON\n",
               wrong);
  return code;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int run(const Arguments &arguments) {
  stress::Options options;
  options.seed = arguments.seed;
  options.threads = arguments.threads;
  stress::report_begin(options);
  if (!arguments.json) {
    std::printf("seed %" PRIu64 ", %u threads, %.0f s\n", arguments.seed, arguments.threads,
                arguments.seconds);
    std::fflush(stdout);
  }
  // By itself malloc raises these to the largest block that was ever freed, and keeps as much free
  // memory in each of many arenas: that would hide what grows.
  mallopt(M_MMAP_THRESHOLD, 128 << 10);
  mallopt(M_TRIM_THRESHOLD, 128 << 10);
  mallopt(M_ARENA_MAX, 4);
  const Models models(arguments.seed);
  const int32_t processors = lk::api()->processors_get();
  Course course;
  {
    Load load(&models, arguments.seed, arguments.threads);
    const auto settled = [&] {
      lk_error error;
      STRESS_CHECK(lk::api()->processors_set(processors, &error) == LK_OK, "processors: %s",
                   error.message);
      load.settle();
      return load.figures();
    };
    while (settled().requests < kWarmUp) load.work(arguments.seconds / kRounds);
    const auto start = std::chrono::steady_clock::now();
    const auto note = [&] {
      Figures figures = settled();
      figures.seconds = seconds_since(start);
      if (course.size() > 0) {
        const Figures &before = course.newest();
        figures.requests_per_s = static_cast<double>(figures.requests - before.requests) /
                                 (figures.seconds - before.seconds);
      }
      course.add(figures);
    };
    note();
    while (seconds_since(start) < arguments.seconds ||
           course.newest().requests < arguments.requests) {
      load.work(arguments.seconds / kRounds);
      note();
      if (isatty(STDERR_FILENO)) {
        const Figures &now = course.newest();
        std::fprintf(stderr, "\r%.0f s, %" PRIu64 " requests, %.1f MB resident ", now.seconds,
                     now.requests, static_cast<double>(now.rss) / 1e6);
      }
    }
  }
  if (isatty(STDERR_FILENO)) std::fprintf(stderr, "\r\033[K");
  std::fputs((arguments.json ? course.json(arguments.seed) : course.table()).c_str(), stdout);
  const std::vector<std::string> complaints = course.complaints();
  for (const std::string &each : complaints) std::fprintf(stderr, "soak: %s\n", each.c_str());
  if (!complaints.empty()) return 1;
  if (!arguments.json) std::printf("every output had its bits, and nothing grew\n");
  return 0;
}

} // namespace
} // namespace soak

int main(int argc, char **argv) {
  soak::Arguments arguments;
  arguments.seconds = lk::number_of_variable("LK_SOAK_SECONDS", arguments.seconds);
  arguments.requests = static_cast<uint64_t>(lk::number_of_variable("LK_SOAK_REQUESTS", 0));
  const option names[] = {{"seconds", required_argument, nullptr, 's'},
                          {"requests", required_argument, nullptr, 'r'},
                          {"threads", required_argument, nullptr, 't'},
                          {"seed", required_argument, nullptr, 'e'},
                          {"json", no_argument, nullptr, 'j'},
                          {"help", no_argument, nullptr, 'h'},
                          {nullptr, 0, nullptr, 0}};
  for (int option; (option = getopt_long(argc, argv, "", names, nullptr)) != -1;) {
    switch (option) {
    case 's':
      arguments.seconds = std::atof(optarg);
      break;
    case 'r':
      arguments.requests = std::strtoull(optarg, nullptr, 10);
      break;
    case 't':
      arguments.threads = static_cast<unsigned>(std::atoi(optarg));
      break;
    case 'e':
      arguments.seed = std::strtoull(optarg, nullptr, 10);
      break;
    case 'j':
      arguments.json = true;
      break;
    case 'h':
      return soak::usage(stdout, 0);
    default:
      return soak::usage(stderr, 2);
    }
  }
  if (optind < argc) return soak::usage(stderr, 2, "There are options only.\n");
  if (!(arguments.seconds > 0)) return soak::usage(stderr, 2, "More than 0 seconds.\n");
  if (arguments.threads < 1 || arguments.threads > 64) {
    return soak::usage(stderr, 2, "1 to 64 threads.\n");
  }
  if (arguments.seed == 0) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    arguments.seed = static_cast<uint64_t>(now) % 1000000 + 1;
  }
  return soak::run(arguments);
}
