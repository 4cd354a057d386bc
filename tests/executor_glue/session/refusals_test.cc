// What a session tells of the nodes that passes have left.
#include "tests/executor_glue/session/small_model.h"

namespace {

using namespace lk::small;
using ::testing::HasSubstr;

struct Left {
  std::string pass, op_type, name, output, reason;
};

class Refusals : public Session {
protected:
  std::vector<Left> left(lk_session *of) {
    std::vector<Left> all;
    auto copy = [](void *arg, const lk_session_refusal *refusal) {
      EXPECT_EQ(refusal->struct_size, sizeof *refusal);
      EXPECT_STREQ(refusal->domain, "");
      static_cast<std::vector<Left> *>(arg)->push_back({refusal->pass, refusal->op_type,
                                                        refusal->node_name, refusal->output_name,
                                                        refusal->reason});
    };
    LK_EXPECT_OK(level2()->refusals_visit(of, copy, &all, LK_ERR));
    return all;
  }
};

TEST_F(Refusals, TellOfPassesThatAreOffInTheSessionAndItsClone) {
  const char *disabled[] = {"activation_after_residual", "activation"};
  lk_session_options options = LK_SESSION_OPTIONS_INIT;
  options.disabled_passes = disabled;
  options.n_disabled_passes = 2;
  open_context();
  LK_ASSERT_OK(
      level2()->open_memory(context, bytes.data(), bytes.size(), &options, &session, LK_ERR));
  const uint32_t nodes = level2()->node_count(session);
  lk_session *clone = nullptr;
  LK_ASSERT_OK(level2()->clone(session, &clone, LK_ERR));
  for (lk_session *each : {session, clone}) {
    const auto all = left(each);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].pass, "activation");
    EXPECT_EQ(all[0].op_type, "Relu");
    EXPECT_EQ(all[0].name, "");
    EXPECT_EQ(all[0].output, "y");
    EXPECT_THAT(all[0].reason, HasSubstr("is switched off"));
  }
  level2()->close(clone);
  EXPECT_EQ(level2()->node_count(session), nodes) << "the session stays as it is";
  check(numbers(2, 0.1f));
}

TEST_F(Refusals, AreNoneWhereAllApplied) {
  open();
  EXPECT_TRUE(left(session).empty());
}

TEST_F(Refusals, WantOfMemoryIsToldAndNothingIsLost) {
  open();
  std::vector<Left> all;
  auto copy = [](void *arg, const lk_session_refusal *) {
    static_cast<std::vector<Left> *>(arg)->emplace_back();
  };
  for (size_t nth = 1;; nth += 7) {
    allocator.fail_at(nth);
    const lk_status status = level2()->refusals_visit(session, copy, &all, LK_ERR);
    const bool failed = allocator.failed();
    allocator.fail_never();
    if (!failed) break;
    EXPECT_TRUE(status == LK_OUT_OF_MEMORY || status == LK_OK) << LK_MESSAGE;
  }
  check(numbers(2, 0.1f));
}

TEST_F(Refusals, RefuseWhatIsNull) {
  open();
  auto nothing = [](void *, const lk_session_refusal *) {};
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT,
                   level2()->refusals_visit(nullptr, nothing, nullptr, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("session is NULL"));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT,
                   level2()->refusals_visit(session, nullptr, nullptr, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("visit is NULL"));
}

} // namespace
