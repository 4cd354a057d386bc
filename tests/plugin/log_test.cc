// What the library says by itself: one line for each op that runs on a reference implementation of
// oneDNN, when that level is wanted.
#include "tests/plugin/handles.h"

namespace {

using lk::api;
using ::testing::AllOf;
using ::testing::HasSubstr;

void keep(void *user, lk_log_level level, const char *line) {
  EXPECT_EQ(level, LK_LOG_WARNING);
  static_cast<std::vector<std::string> *>(user)->push_back(line);
}

// Binds a mean over channels and columns, with rows between them, which oneDNN has no fast kernel
// for, at three shapes.
std::vector<std::string> lines_of(int32_t verbose, bool *out_is_ref, const char *name = "reduced") {
  std::vector<std::string> lines;
  lk::Context context;
  lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
  options.verbose = verbose;
  options.log = keep;
  options.log_user = &lines;
  LK_EXPECT_OK(api()->context_create(&options, context.out(), LK_ERR));
  const lk::Executor executor = lk::executor_in(context);
  lk::TestNode node;
  node.op = "ReduceMean";
  node.name = name;
  node.ints = {{"axes", {1, 3}}};
  lk::Op op;
  LK_EXPECT_OK(node.create(executor, &op, LK_ERR));
  for (int64_t side : {6, 7, 8}) {
    lk::Plan plan;
    LK_EXPECT_OK(lk::bind(op, {lk::desc_of(LK_F32, {1, 4, side, side})}, &plan, LK_ERR));
    *out_is_ref = host_plan_info(plan).n_ref > 0;
  }
  return lines;
}

TEST(Log, ReferenceImplementationsAreNamedOnce) {
  bool is_ref = false;
  const std::vector<std::string> lines = lines_of(LK_LOG_WARNING, &is_ref);
  if (!is_ref) GTEST_SKIP() << "this processor's oneDNN has a fast kernel for such means";
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], AllOf(HasSubstr("ReduceMean"), HasSubstr("'reduced'"), HasSubstr("ref")));
}

TEST(Log, NamesAreEscaped) {
  bool is_ref = false;
  const std::vector<std::string> lines = lines_of(LK_LOG_WARNING, &is_ref, "r\xff\x1b[2J\n");
  if (!is_ref) GTEST_SKIP() << "this processor's oneDNN has a fast kernel for such means";
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr("'r\\xff\\x1b[2J\\x0a'"));
}

TEST(Log, NothingIsSaidBelowTheLevel) {
  bool is_ref = false;
  EXPECT_TRUE(lines_of(LK_LOG_OFF, &is_ref).empty());
}

} // namespace
