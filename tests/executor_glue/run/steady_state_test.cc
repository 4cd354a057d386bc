// A shape that was seen before: between the first operator and the last, our code looks nothing up,
// builds nothing and allocates nothing. What comes before the first operator is the same for ten
// operators and for a hundred, so the two must cost the same.
//
// malloc and its like are replaced in this program, and calls are told apart by where they come
// from: the library is loaded as a plugin, so that its code has a range of addresses of its own.
#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "tests/executor_glue/run/model_chain.h"
#include "tests/harness/places.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LK_TEST_OWN_MALLOC 0 // the sanitizers have theirs; the context's own counter remains
#else
#define LK_TEST_OWN_MALLOC 1
#endif

namespace {

[[maybe_unused]] std::atomic<uintptr_t> ours_begin{0}, ours_end{0};
std::atomic<uint64_t> ours{0};

#if LK_TEST_OWN_MALLOC
void count(const void *caller) {
  const auto address = reinterpret_cast<uintptr_t>(caller);
  if (address >= ours_begin && address < ours_end) ours.fetch_add(1, std::memory_order_relaxed);
}
#endif

} // namespace

#if LK_TEST_OWN_MALLOC
extern "C" {
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *pointer, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) {
  count(__builtin_return_address(0));
  return __libc_malloc(size);
}
void *calloc(size_t n, size_t size) {
  count(__builtin_return_address(0));
  return __libc_calloc(n, size);
}
void *realloc(void *pointer, size_t size) {
  count(__builtin_return_address(0));
  return __libc_realloc(pointer, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
  count(__builtin_return_address(0));
  return __libc_memalign(alignment, size);
}
void *memalign(size_t alignment, size_t size) {
  count(__builtin_return_address(0));
  return __libc_memalign(alignment, size);
}
int posix_memalign(void **out, size_t alignment, size_t size) {
  count(__builtin_return_address(0));
  void *memory = __libc_memalign(alignment, size);
  if (memory == nullptr) return ENOMEM;
  *out = memory;
  return 0;
}
}
#endif

namespace {

struct Library {
  const lk_api *api = nullptr;
  const lk_session_api *sessions = nullptr;

  Library() {
    void *handle = dlopen(lk_test_library, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      ADD_FAILURE() << dlerror();
      return;
    }
    const auto get = reinterpret_cast<decltype(&lk_get_api)>(dlsym(handle, "lk_get_api"));
    const auto get_sessions =
        reinterpret_cast<decltype(&lk_get_session_api)>(dlsym(handle, "lk_get_session_api"));
    api = get(LK_API_VERSION);
    sessions = get_sessions(LK_SESSION_API_VERSION);
    uintptr_t inside = reinterpret_cast<uintptr_t>(get);
    dl_iterate_phdr(find_range, &inside);
  }

  static int find_range(dl_phdr_info *info, size_t, void *arg) {
    const uintptr_t inside = *static_cast<uintptr_t *>(arg);
    uintptr_t low = UINTPTR_MAX, high = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
      if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
      const uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
      low = std::min(low, start);
      high = std::max(high, start + info->dlpi_phdr[i].p_memsz);
    }
    if (inside < low || inside >= high) return 0;
    ours_begin = low;
    ours_end = high;
    return 1;
  }
};

const Library &library() {
  static const Library instance;
  return instance;
}

struct Cost {
  uint64_t mallocs, allocations, run_hits, run_misses, node_lookups, builds;
};

// What each of `runs` runs costs, once the shape has been seen, so often that the default engine
// `auto` has chosen.
Cost cost_of_run(uint32_t mode, int pairs) {
  constexpr uint64_t runs = 8;
  lk::Chain chain(library().api, library().sessions, mode);
  const std::string model = lk::chain_model(pairs);
  lk_session *session = chain.open(model);
  const lk::Floats x = lk::chain_input(5);
  lk::Floats y(x.size());
  for (int i = 0; i < 10; i++) chain.run(session, x, &y);
  const lk_stats before = chain.stats();
  const uint64_t mallocs = ours;
  for (uint64_t i = 0; i < runs; i++) chain.run(session, x, &y);
  Cost cost = {};
  cost.mallocs = ours - mallocs;
  const lk_stats after = chain.stats();
  const lk::Floats right = lk::chain_expected(x, pairs);
  EXPECT_TRUE(lk::all_close(right, y));

  auto lookups = [](const lk_stats &s, lk_kind kind) {
    return s.kind[kind].hits + s.kind[kind].misses;
  };
  cost.allocations = after.allocations - before.allocations;
  cost.run_hits = after.kind[LK_KIND_RUN].hits - before.kind[LK_KIND_RUN].hits;
  cost.run_misses = after.kind[LK_KIND_RUN].misses - before.kind[LK_KIND_RUN].misses;
  for (const lk_kind kind : {LK_KIND_NAME, LK_KIND_USER}) {
    cost.node_lookups += lookups(after, kind) - lookups(before, kind);
  }
  for (int kind = 0; kind < LK_KIND_COUNT; kind++) {
    cost.builds += after.kind[kind].builds - before.kind[kind].builds;
  }
  EXPECT_EQ(cost.run_hits, runs) << "one look-up for the whole graph";
  return cost;
}

class SteadyState : public ::testing::TestWithParam<uint32_t> {};

TEST_P(SteadyState, TenOperatorsAndAHundredCostTheSame) {
  const Cost ten = cost_of_run(GetParam(), 5), hundred = cost_of_run(GetParam(), 50);
  EXPECT_EQ(ten.run_misses, 0u);
  EXPECT_EQ(ten.node_lookups, 0u);
  EXPECT_EQ(ten.builds, 0u);
  EXPECT_EQ(hundred.run_hits, ten.run_hits);
  EXPECT_EQ(hundred.run_misses, 0u);
  EXPECT_EQ(hundred.node_lookups, 0u);
  EXPECT_EQ(hundred.builds, 0u);
  EXPECT_EQ(hundred.allocations, ten.allocations);
  EXPECT_EQ(hundred.mallocs, ten.mallocs);
}

INSTANTIATE_TEST_SUITE_P(Modes, SteadyState, ::testing::Values(LK_CACHE_THREAD, LK_CACHE_SHARED),
                         [](const auto &mode) {
                           return mode.param == LK_CACHE_THREAD ? "Thread" : "Shared";
                         });

// The counters above would also be zero if they saw nothing.
TEST(SteadyStateCounters, SeeOpeningAModel) {
#if LK_TEST_OWN_MALLOC
  const uint64_t ours_before = ours;
  cost_of_run(LK_CACHE_SHARED, 1);
  EXPECT_GT(ours - ours_before, 10u) << "opening a model allocates";
#else
  GTEST_SKIP() << "the sanitizer has a malloc of its own";
#endif
}

} // namespace
