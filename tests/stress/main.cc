// The stress test: threads that come and go create, run, resize, limit and destroy at random. Every
// output is compared with that of a stand-alone run, and statistics with what the driver knows.
//
// A round has its own context and ends after a number of actions, not after a time: so with one
// thread a round is the same for the same seed.
#include <getopt.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "tests/harness/environment.h"
#include "tests/stress/crew.h"

namespace stress {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::vector<uint32_t> modes_of(const std::string &cache) {
  if (cache == "off") return {LK_CACHE_OFF};
  if (cache == "thread") return {LK_CACHE_THREAD};
  if (cache == "shared") return {LK_CACHE_SHARED};
  if (cache == "both") return {LK_CACHE_SHARED, LK_CACHE_THREAD};
  if (cache == "all") {
    return {LK_CACHE_SHARED, LK_CACHE_THREAD, LK_CACHE_SHARED, LK_CACHE_THREAD, LK_CACHE_OFF};
  }
  return {};
}

std::vector<Engine> engines_of(const std::string &name, uint64_t seed) {
#if defined(LK_TEST_HAS_ONEDNN)
  const std::vector<Engine> all = {kNative, kAuto, kOnednn};
#else
  const std::vector<Engine> all = {kNative};
#endif
#if defined(__SANITIZE_THREAD__)
  if (name == "all")
    return {all[seed % all.size()]}; // what runs give alone takes a minute for each
#else
  (void)seed;
#endif
  if (name == "all") return all;
  for (const Engine engine : all) {
    if (name == engine_name(engine)) return {engine};
  }
  return {};
}

// Each in turn, beside each of the modes, the numbers of threads and the ways of memory.
Engine engine_of(const std::vector<Engine> &all, uint64_t seed, uint64_t round) {
  return all[(seed + round + round / 3) % all.size()];
}

// The recycler's lock orders what threads do, which hides races from ThreadSanitizer.
bool recycles(uint64_t round) {
#if defined(__SANITIZE_THREAD__)
  return round % 4 == 3;
#else
  return round % 4 != 3;
#endif
}

int usage(const char *wrong) {
  std::fprintf(stderr,
               "%sRuns random actions on many models and threads, and compares every output.\n"
               "  --seconds N   rounds begin until then (LK_STRESS_SECONDS, 20)\n"
               "  --seed N      the same actions again (from the clock)\n"
               "  --threads N   together (4); with 1, a round can be repeated\n"
               "  --round N     begin with this one (0)\n"
               "  --cache MODE  off, thread, shared, both, all (all)\n"
               "  --engine E    native, auto, onednn, all (all)\n"
               "  --break F     keys lack a field; only in the program that is made for it\n",
               wrong);
  return 2;
}

int run(const Options &options) {
  const Clock::time_point start = Clock::now();
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  std::printf("seed %llu, %u threads, cache %s, engine %s\n",
              static_cast<unsigned long long>(options.seed), options.threads, options.cache.c_str(),
              options.engine.c_str());
  std::fflush(stdout);
  report_begin(options);
  const std::vector<uint32_t> modes = modes_of(options.cache);
  const std::vector<Engine> engines = engines_of(options.engine, options.seed);
  prepared_nodes(engines);
  const bool has_onednn = std::count(engines.begin(), engines.end(), kOnednn) != 0;
  Models fixed;
  for (const Model &model : fixed_models()) fixed.push_back(prepare(model, has_onednn));
  const int32_t processors = lk::api()->processors_get();
  uint64_t round = options.first_round, actions = 0, lives = 0, primitives = 0;
  do {
    note_worker(round, UINT32_MAX, 0); // of this thread
    const Engine engine = engine_of(engines, options.seed, round);
    Models models = fixed;
    for (uint64_t i = 0; i < 2; i++) {
      models.push_back(prepare(generated_model("generated" + std::to_string(i),
                                               mixed(mixed(options.seed, round), 1000 + i)),
                               engine == kOnednn));
    }
    const int32_t threads = round % 3 == 2 ? 1 : kMostThreads;
    Stage stage(modes[round % modes.size()], engine, threads, options.threads, recycles(round),
                models);
    Crew crew(&stage, round, options.seed, options.threads);
    crew.run();
    stage.check_at_rest(true);
    actions += crew.actions();
    lives += crew.lives();
    const uint64_t built = stage.stats().kind[LK_KIND_VALUE].builds;
    STRESS_CHECK(engine != kOnednn || built > 0, "oneDNN was chosen and has built nothing");
    primitives += built;
    round++;
    if (terminal) {
      std::printf("\r%.0f s, %llu rounds, %llu actions ", seconds_since(start),
                  static_cast<unsigned long long>(round - options.first_round),
                  static_cast<unsigned long long>(actions));
      std::fflush(stdout);
    }
  } while (seconds_since(start) < options.seconds);
  lk_error error;
  (void)lk::api()->processors_set(processors, &error);
  std::printf("%s0 mismatches and no other violation in %llu rounds, %llu threads, %llu actions, "
              "%llu primitives, %.0f s\ndigest of the actions: %016llx\n",
              terminal ? "\r" : "", static_cast<unsigned long long>(round - options.first_round),
              static_cast<unsigned long long>(lives), static_cast<unsigned long long>(actions),
              static_cast<unsigned long long>(primitives), seconds_since(start),
              static_cast<unsigned long long>(notes_digest()));
  return 0;
}

} // namespace
} // namespace stress

// In the program of broken keys: keys lack `field` from now on. False: no such field.
extern "C" bool stress_break_keys(const char *field) __attribute__((weak));

int main(int argc, char **argv) {
  stress::Options options;
  options.seconds = lk::number_of_variable("LK_STRESS_SECONDS", options.seconds);
  const option names[] = {{"seconds", required_argument, nullptr, 's'},
                          {"seed", required_argument, nullptr, 'e'},
                          {"threads", required_argument, nullptr, 't'},
                          {"round", required_argument, nullptr, 'r'},
                          {"cache", required_argument, nullptr, 'c'},
                          {"engine", required_argument, nullptr, 'g'},
                          {"break", required_argument, nullptr, 'b'},
                          {"help", no_argument, nullptr, 'h'},
                          {nullptr, 0, nullptr, 0}};
  for (int option; (option = getopt_long(argc, argv, "", names, nullptr)) != -1;) {
    switch (option) {
    case 's':
      options.seconds = std::atof(optarg);
      break;
    case 'e':
      options.seed = std::strtoull(optarg, nullptr, 10);
      break;
    case 't':
      options.threads = static_cast<unsigned>(std::atoi(optarg));
      break;
    case 'r':
      options.first_round = std::strtoull(optarg, nullptr, 10);
      break;
    case 'c':
      options.cache = optarg;
      break;
    case 'g':
      options.engine = optarg;
      break;
    case 'b':
      options.broken = optarg;
      break;
    case 'h':
      stress::usage("");
      return 0;
    default:
      return stress::usage("");
    }
  }
  if (optind < argc) return stress::usage("There are options only.\n");
  if (options.threads < 1 || options.threads > 64) return stress::usage("1 to 64 threads.\n");
  if (stress::modes_of(options.cache).empty()) return stress::usage("No such cache mode.\n");
  if (stress::engines_of(options.engine, 0).empty()) return stress::usage("No such engine.\n");
  if (options.seed == 0) {
    options.seed = static_cast<uint64_t>(stress::Clock::now().time_since_epoch().count()) % 1000000;
    options.seed++;
  }
  if (!options.broken.empty() &&
      (stress_break_keys == nullptr || !stress_break_keys(options.broken.c_str()))) {
    return stress::usage("Keys cannot be broken in this program, or they have no such field.\n");
  }
  return stress::run(options);
}
