// The one file in C++: oneDNN takes threads as an object of a class with virtual functions.
#include "ops/plan/threadpool.h"

#include <algorithm>
#include <oneapi/dnnl/dnnl_threadpool.h>
#include <oneapi/dnnl/dnnl_threadpool_iface.hpp>

extern "C" {
#include "base/team/team.h"
}

namespace {

struct Turns {
  int count;
  const std::function<void(int, int)> *turn;
};

// Every thread of the region takes each size-th turn, so that all are taken where the team has
// fewer threads than oneDNN has asked for.
void TakeTurns(void *arg) {
  const auto *self = static_cast<const Turns *>(arg);
  for (int i = lk_team_rank(); i < self->count; i += lk_team_size()) (*self->turn)(i, self->count);
}

class Team final : public dnnl::threadpool_interop::threadpool_iface {
public:
  int get_num_threads() const override { return LK_DNNL_SHARES; }
  // Inside a region too: this thread alone takes all turns then, of which there are as many as
  // ever.
  bool get_in_parallel() const override { return false; }
  void parallel_for(int count, const std::function<void(int, int)> &turn) override {
    Turns turns = {count, &turn};
    lk_team_run(TakeTurns, &turns, std::min(count, lk_team_threads()));
  }
  uint64_t get_flags() const override { return 0; } // parallel_for returns when all is done
  void wait() override {}
};

Team team; // every thread that calls it has its own behind it

} // namespace

dnnl_status_t lk_stream_create(dnnl_engine_t engine, dnnl_stream_t *out_stream) {
  return dnnl_threadpool_interop_stream_create(out_stream, engine, &team);
}

void lk_dnnl_set_shares(void) {
  (void)dnnl_threadpool_interop_set_max_concurrency(LK_DNNL_SHARES);
}
