// What values are charged where oneDNN is a library of the system (charged.c, which is linked in),
// beside what the module of this build counts.
#include "tests/ops/engine/onednn/module.h"
#include "tests/ops/engine/onednn/random_nodes.h"

extern "C" {
#include "base/team/team.h"
#include "ops/engine/onednn/counted.h"
}

namespace {

using lk::api;
using lk::Host;
using lk::Value;

// The module's engine, and what it has counted.
struct Counting {
  lk_engine inner = {};
  struct Kind {
    uint64_t values, charged, counted, beyond; // the charge
  } kinds[LK_WORK_KINDS] = {};
  double most = 0; // of what was counted by what is charged

  static lk_status build(void *self, const lk_work *work, lk_engine_value *out, lk_error *error) {
    auto *of = static_cast<Counting *>(self);
    const lk_status status = of->inner.build(of->inner.self, work, out, error);
    if (status != LK_OK || out->is_reference != 0) return status;
    const uint64_t charged = lk_counted_end(work);
    Kind &kind = of->kinds[work->kind];
    kind.values++, kind.charged += charged, kind.counted += out->bytes;
    kind.beyond += out->bytes > charged ? 1 : 0;
    of->most = std::max(of->most, double(out->bytes) / double(charged));
    return status;
  }
  static int offer(void *self, const lk_work *work, uint32_t placed, lk_offer *inout_offer) {
    auto *of = static_cast<Counting *>(self);
    return of->inner.offer(of->inner.self, work, placed, inout_offer);
  }
  static lk_status pack(void *self, const void *value, uint32_t role, const void *plain,
                        void *packed, lk_error *error) {
    auto *of = static_cast<Counting *>(self);
    return of->inner.pack(of->inner.self, value, role, plain, packed, error);
  }
  static lk_status slot_open(void *self, const void *value, void **out_slot, lk_error *error) {
    auto *of = static_cast<Counting *>(self);
    return of->inner.slot_open(of->inner.self, value, out_slot, error);
  }

  // The engine of `inner`, but for these.
  lk_engine table() {
    lk_engine made = inner;
    made.name = "counting";
    made.self = this;
    made.build = build, made.offer = offer, made.pack = pack, made.slot_open = slot_open;
    made.close = nullptr;
    return made;
  }
};

int is_stopped() {
  return 0;
}

// Of a kind, ten values or more: nine of ten take no more, and neither does their sum. A single one
// takes at most five times that.
TEST(Charged, CoversWhatIsCounted) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer has an allocator of its own, by which less is counted";
#endif
  static const lk_engine_team team = {sizeof team,  lk_team_run,  lk_team_threads,
                                      lk_team_rank, lk_team_size, is_stopped};
  const lk::Module module(&team);
  if (HasFatalFailure()) return;
  Counting counting;
  counting.inner = module.engine;
  {
    const lk_engine table = counting.table();
    lk::Context context = lk::open();
    LK_ASSERT_OK(api()->engine_register(context, &table, LK_ENGINE_CHOOSE, LK_ERR));
    Host host(std::move(context));
    lk::RandomNodes random(3);
    for (int i = 0; i < 1200 && !HasFatalFailure(); i++) {
      Value out;
      host.run(random.any(), &out);
    }
  }
  int kinds = 0;
  for (const Counting::Kind &kind : counting.kinds) {
    SCOPED_TRACE("kind " + std::to_string(&kind - counting.kinds));
    if (kind.values < 10) continue;
    kinds++;
    EXPECT_LE(10 * kind.beyond, kind.values);
    EXPECT_LE(kind.counted, kind.charged);
    EXPECT_LE(kind.charged, 4 * kind.counted);
  }
  if (!lk::kHasPrimitives) return;
  EXPECT_GE(kinds, 11);
  EXPECT_LE(counting.most, 5);
}

} // namespace
