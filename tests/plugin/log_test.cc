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

// Before oneDNN is used: without AVX it has no fast kernel for what follows.
const int without_avx = setenv("ONEDNN_MAX_CPU_ISA", "SSE41", 1);

// Binds a dilated convolution whose weights come with the run, at three shapes.
std::vector<std::string> lines_of(int32_t verbose, const char *name = "filtered") {
  EXPECT_EQ(without_avx, 0);
  std::vector<std::string> lines;
  lk::Context context;
  lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
  options.verbose = verbose;
  options.log = keep;
  options.log_user = &lines;
  LK_EXPECT_OK(api()->context_create(&options, context.out(), LK_ERR));
  const lk::Executor executor = lk::executor_in(context);
  lk::TestNode node;
  node.op = "Conv";
  node.name = name;
  node.n_inputs = 2;
  node.ints = {{"dilations", {2, 2}}};
  lk::Op op;
  LK_EXPECT_OK(node.create(executor, &op, LK_ERR));
  for (int64_t side : {6, 7, 8}) {
    lk::Plan plan;
    LK_EXPECT_OK(
        lk::bind(op, {lk::desc_of(LK_F32, {1, 4, side, side}), lk::desc_of(LK_F32, {4, 4, 3, 3})},
                 &plan, LK_ERR));
    EXPECT_GT(host_plan_info(plan).n_ref, 0u);
  }
  return lines;
}

TEST(Log, ReferenceImplementationsAreNamedOnce) {
  const std::vector<std::string> lines = lines_of(LK_LOG_WARNING);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], AllOf(HasSubstr("Conv"), HasSubstr("'filtered'"), HasSubstr("ref")));
}

TEST(Log, NamesAreEscaped) {
  const std::vector<std::string> lines = lines_of(LK_LOG_WARNING, "r\xff\x1b[2J\n");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr("'r\\xff\\x1b[2J\\x0a'"));
}

TEST(Log, NothingIsSaidBelowTheLevel) {
  EXPECT_TRUE(lines_of(LK_LOG_OFF).empty());
}

} // namespace
