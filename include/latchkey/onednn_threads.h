/* The library's threads as a thread pool of the host's own oneDNN, for hosts in C++ whose oneDNN
 * was built with ONEDNN_CPU_RUNTIME=THREADPOOL. In C, and over a oneDNN of another runtime, this
 * header has nothing.
 *
 *     lk_dnnl_team team(cache);                    // of cache.threads threads
 *     lk_dnnl_team_stream(&cache, &team, &stream, &error);
 *     lk_dnnl_run(&lease, stream, &error);
 *
 * Streams that primitives of `cache` run on must have as many threads as these were made for, so a
 * host that changes `cache.threads` makes another team.
 *
 * Threads: any number of threads may use a team at once, each with a stream of its own. A run on a
 * thread that works in a region already, such as a parallel_run of the host's, is computed on that
 * thread alone. Nothing here asks whether processors are free: threads_enter does.
 * Lifetime: a team has no resources. It outlives its streams, and its context outlives it.
 * Exceptions: what oneDNN throws in a turn, on any thread, is thrown by lk_dnnl_run on the thread
 * that has called it. Team and stream may be used on, or destroyed. A host that executes primitives
 * itself calls lk_dnnl_execute: after an exception from dnnl_primitive_execute, the thread would go
 * on with the team, whatever its streams. C++ without exceptions cannot catch any, so nothing may
 * be thrown there.
 */
#ifndef LATCHKEY_ONEDNN_THREADS_H
#define LATCHKEY_ONEDNN_THREADS_H

#include <latchkey/onednn.h>

#if defined(__cplusplus) && DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_THREADPOOL

#include <cstdint>
#include <functional>
#include <oneapi/dnnl/dnnl_threadpool_iface.hpp>
#ifdef __cpp_exceptions
#include <atomic>
#include <exception>
#endif

/* A team is what parallel_run takes: it is made anew for each region. */
class lk_dnnl_team final : public dnnl::threadpool_interop::threadpool_iface {
public:
  /* Of `self.threads` threads, the calling one included. */
  explicit lk_dnnl_team(const lk_dnnl &self)
      : api(self.api), context(self.context), threads(self.threads) {}

  /* None of these says `override`: `wait` is a function of the interface in newer 3.x only, and
   * compilers warn where some say it and others do not. */

  int get_num_threads() const { return threads; }
  /* In a region, too: parallel_for then takes all turns on this thread. */
  bool get_in_parallel() const { return false; }
  /* parallel_for returns when all is done. */
  uint64_t get_flags() const { return 0; }
  void wait() {}

  /* Calls fn(i, n) for each i from 0 to n - 1, and returns when all calls have returned. A thread
   * on which a call throws makes no more, and what was thrown first is thrown from here. */
  void parallel_for(int n, const std::function<void(int, int)> &fn) {
    turns all(n, fn);
    if (n < 1) return;
    api->parallel_run(context, n < threads ? n : threads, take, &all);
#ifdef __cpp_exceptions
    if (all.has_thrown) std::rethrow_exception(all.thrown);
#endif
  }

private:
  struct turns {
    turns(int n, const std::function<void(int, int)> &fn) : count(n), turn(fn) {}
    const int count;
    const std::function<void(int, int)> &turn;
#ifdef __cpp_exceptions
    std::atomic<bool> has_thrown{false};
    std::exception_ptr thrown;
#endif
  };

  /* A share of the turns: all of them, however many shares there are. Nothing may be thrown into
   * parallel_run, which is C. */
  static void take(void *arg, int32_t index, int32_t count) {
    turns &all = *static_cast<turns *>(arg);
#ifdef __cpp_exceptions
    try {
      for (int i = index; i < all.count; i += count) all.turn(i, all.count);
    } catch (...) {
      if (!all.has_thrown.exchange(true)) all.thrown = std::current_exception();
    }
#else
    for (int i = index; i < all.count; i += count) all.turn(i, all.count);
#endif
  }

  const lk_api *const api;
  lk_context *const context;
  const int threads;
};

/* A stream of `self`'s engine that runs on `team`, to be ended by dnnl_stream_destroy before the
 * team is. Failures are what oneDNN says (lk_dnnl_check). */
static inline lk_status lk_dnnl_team_stream(const lk_dnnl *self, lk_dnnl_team *team,
                                            dnnl_stream_t *out_stream, lk_error *error) {
  dnnl::threadpool_interop::threadpool_iface *pool = team; /* oneDNN takes it as a void pointer */
  return lk_dnnl_check(error, dnnl_threadpool_interop_stream_create(out_stream, self->engine, pool),
                       "make a stream");
}

#endif

#endif
