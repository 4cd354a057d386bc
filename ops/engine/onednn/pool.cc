// In C++, since oneDNN takes threads as an object of a class with virtual functions.
#include "ops/engine/onednn/pool.h"

#include <oneapi/dnnl/dnnl_threadpool.h>

#include <cxxabi.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <oneapi/dnnl/dnnl_threadpool_iface.hpp>
#include <stdexcept>

// An oneDNN of another runtime does not have them. Then the module is loaded all the same, and says
// what is wrong (library.h).
#ifndef LATCHKEY_ONEDNN_IS_INSIDE
#pragma weak dnnl_threadpool_interop_get_max_concurrency
#pragma weak dnnl_threadpool_interop_set_max_concurrency
#pragma weak dnnl_threadpool_interop_sgemm
#pragma weak dnnl_threadpool_interop_stream_create
#pragma weak dnnl_threadpool_interop_stream_get_threadpool
#endif

namespace {

struct Turns {
  const lk_engine_team *team;
  int count;
  const std::function<void(int, int)> *turn;
  std::atomic<bool> has_thrown, lacks_memory; // the latter: and for that reason
};

// Every thread takes each size-th turn, so that all are taken where the team has fewer threads than
// the primitive was cut for. A run that is to end leaves the rest. Nothing is thrown into the team,
// which is the library's.
void take_turns(void *arg) {
  auto *self = static_cast<Turns *>(arg);
  const int step = self->team->size();
  try {
    for (int i = self->team->rank(); i < self->count; i += step) {
      if (self->team->is_stopped() != 0) return;
      (*self->turn)(i, self->count);
    }
  } catch (const abi::__forced_unwind &) {
    throw; // the thread is being cancelled, which nobody may stop
  } catch (const std::bad_alloc &) {
    self->lacks_memory = true;
    self->has_thrown = true;
  } catch (...) {
    self->has_thrown = true;
  }
}

} // namespace

struct lk_onednn_pool final : public dnnl::threadpool_interop::threadpool_iface {
  lk_onednn_pool(const lk_engine_team *of, int number) : team(of), threads(number) {}
  int get_num_threads() const override { return threads; }
  // Inside a region too: this thread alone takes all turns then, of which there are as many.
  bool get_in_parallel() const override { return false; }
  void parallel_for(int count, const std::function<void(int, int)> &turn) override {
    Turns turns = {team, count, &turn, {false}, {false}};
    if (count == 1) {
      turn(0, 1);
    } else {
      team->run(take_turns, &turns, std::min(count, team->threads()));
      if (turns.lacks_memory) throw std::bad_alloc();
      if (turns.has_thrown) throw std::runtime_error("oneDNN has thrown on another thread");
    }
  }
  uint64_t get_flags() const override { return 0; } // parallel_for returns when all is done
  void wait() override {}

  const lk_engine_team *team;
  int threads;
};

lk_onednn_pool *lk_onednn_pool_create(const lk_engine_team *team, int threads) {
  return new (std::nothrow) lk_onednn_pool(team, threads);
}

void lk_onednn_pool_destroy(lk_onednn_pool *pool) {
  delete pool;
}

dnnl_status_t lk_onednn_set_threads(int threads) {
  return dnnl_threadpool_interop_set_max_concurrency(threads);
}

int lk_onednn_threads() {
  int threads = 0;
  (void)dnnl_threadpool_interop_get_max_concurrency(&threads); // cannot fail
  return threads;
}

// In parentheses, since tests let the function fail by a macro: here nobody could tell.
void lk_onednn_reset_threads(int threads) {
  (void)(dnnl_threadpool_interop_set_max_concurrency)(threads);
}

dnnl_status_t lk_onednn_stream_create(dnnl_engine_t engine, lk_onednn_pool *pool,
                                      dnnl_stream_t *out_stream) {
  return dnnl_threadpool_interop_stream_create(out_stream, engine, pool);
}

// oneDNN lets go of a stream's pool at the end of dnnl_primitive_execute, and not where an
// exception ends that. Then this thread would build and run by the pool from now on, whatever
// stream it is given, and also when the pool is gone. Each call of oneDNN's for a single product
// lets go of the thread's pool; this one has no matrices, and fails at once.
dnnl_status_t lk_onednn_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream, int n_args,
                                const dnnl_exec_arg_t *args) {
  try {
    return dnnl_primitive_execute(primitive, stream, n_args, args);
  } catch (...) {
    void *pool = nullptr;
    (void)(dnnl_threadpool_interop_stream_get_threadpool)(stream, &pool);
    (void)(dnnl_threadpool_interop_sgemm)('N', 'N', 0, 0, 0, 0, nullptr, 1, nullptr, 1, 0, nullptr,
                                          1, pool);
    throw;
  }
}
