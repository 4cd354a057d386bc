// What making an operator and its plan computes between two looks at what may stop it, over every
// row of the operator table: its huge inputs are constants, which are hashed, copied and packed.
// And nothing half-made is kept: what is made once more after it was stopped computes the same
// bits.
#include "tests/ops/bounded.h"

namespace {

using namespace lk::bounded;
using lk::api;
using lk::infer::Bits;
using lk::infer::Made;
using lk::infer::Operands;

// What making looks at: in a context of its own, by a thread that is watched.
class Watched {
public:
  Watched(const Node &node, const Operands &operands)
      : context_(lk::open(LK_CACHE_DEFAULT, 1)), executor_(lk::executor_in(context_)),
        made_(executor_, node, operands, lk::infer::all_but_first(node)) {}

  // True: it is made, or was stopped.
  bool make() {
    lk_thread_watch room = {};
    lk_watch watch = {};
    watch.struct_size = sizeof watch;
    watch.cancel = &looks.cancel;
    made_.plan.reset();
    EXPECT_EQ(api()->thread_watch(&room, &watch, nullptr), LK_OK);
    looks.begin();
    const lk_status status = made_.make(nullptr);
    looks.end();
    api()->thread_unwatch(&room);
    is_made_ = status == LK_OK;
    return is_made_ || status == LK_CANCELLED;
  }
  bool is_made() const { return is_made_; }
  // None where it fails, for an index that is out of range or the like.
  Bits run() {
    Bits bits;
    (void)made_.run(&bits, nullptr);
    return bits;
  }

private:
  lk::Context context_;
  lk::Executor executor_;
  Made made_;
  bool is_made_ = false;
};

class BoundedBind : public BoundedBase, public ::testing::WithParamInterface<lk_op_row> {
protected:
  void check_node(const Node &node) {
    const Operands operands(node);
    check(describe(node), [&] { return Watched(node, operands).make(); });
    if (HasFailure()) return;
    looks.last = 0;
    Watched whole(node, operands), again(node, operands);
    if (!whole.make() || !whole.is_made()) return;
    looks.last = std::max(looks.count / 2, 1);
    EXPECT_TRUE(again.make());
    looks.last = 0;
    ASSERT_TRUE(again.make() && again.is_made()) << describe(node);
    EXPECT_TRUE(whole.run() == again.run()) << describe(node);
  }
};

TEST_P(BoundedBind, LooksAndKeepsNothingHalfMade) {
  const auto rule = lk::infer::rules().find(GetParam().op_type);
  if (rule == lk::infer::rules().end() || (GetParam().flags & LK_OP_RANDOM) != 0) return;
  const lk::Context context = lk::open(LK_CACHE_DEFAULT, 1);
  const lk::Executor executor = lk::executor_in(context);
  int n = 0;
  for (unsigned seed = 0; seed < 24 && n < 2; seed++) {
    for (const int64_t huge : {4000000, 400000, 60000, 3000, 1200}) {
      const Node node = huge_node(GetParam(), rule->second, seed, huge);
      const uint64_t bytes = lk::infer::input_bytes(node);
      if (bytes > 64000000 || bytes < 4000000) continue;
      if (const Subject subject(executor, node); !subject.is_right()) continue;
      check_node(node);
      n++;
      break;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, BoundedBind, ::testing::ValuesIn(lk::op_rows()),
                         [](const auto &info) { return row_name(info.param); });

} // namespace
