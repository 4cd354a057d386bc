// What ends opening a model, and what it does not begin: constants that cost more than they save.
#include <fcntl.h>
#include <unistd.h>

#include "tests/executor_glue/session/small_model.h"
#include "tests/harness/folder.h"

using ::testing::HasSubstr;

namespace {

using namespace lk::small;

// y = x + n products of a constant of `size` x `size`, which a few bytes ask for.
std::string products_model(int64_t size, int n) {
  proto::Graph g;
  g.in("x").out("y");
  g.init(proto::tensor("shape", LK_I64, {2}, proto::kInt64Data,
                       proto::varints(std::vector<int64_t>{size, size})));
  g.node(proto::node("ConstantOfShape", {"shape"}, {"c"}));
  std::string last = "c";
  for (int i = 0; i < n; i++) {
    const std::string next = "p" + std::to_string(i);
    g.node(proto::node("MatMul", {last, "c"}, {next}));
    last = next;
  }
  g.node(proto::node("Add", {"x", last}, {"y"}));
  return proto::model(g).bytes;
}

int32_t stop_at_once(void *asked) {
  ++*static_cast<int *>(asked);
  return 1;
}

class Opening : public Session {
protected:
  lk_status open_model(const std::string &bytes) {
    if (context == nullptr) open_context();
    return level2()->open_memory(context, bytes.data(), bytes.size(), &options, &session, LK_ERR);
  }
  lk_session_options options = LK_SESSION_OPTIONS_INIT;
};

TEST_F(Opening, EndsAtADeadlineThatHasPassed) {
  options.deadline_ns = 1;
  LK_EXPECT_STATUS(LK_DEADLINE, open_model(model_bytes()));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("the deadline passed"));
  EXPECT_EQ(session, nullptr);
  options.deadline_ns = 0;
  LK_EXPECT_OK(open_model(model_bytes()));
}

TEST_F(Opening, EndsWhenItIsCancelled) {
  volatile int32_t flag = 1;
  options.cancel = &flag;
  LK_EXPECT_STATUS(LK_CANCELLED, open_model(model_bytes()));
  EXPECT_EQ(session, nullptr);
  flag = 0;
  LK_EXPECT_OK(open_model(model_bytes()));
}

// The first question comes while the passes compute: nobody asks before.
TEST_F(Opening, EndsWhilePassesComputeConstants) {
  int asked = 0;
  options.should_stop = stop_at_once;
  options.should_stop_arg = &asked;
  options.max_folded_bytes = LK_UNLIMITED; // of work, too: it would take many seconds
  LK_EXPECT_STATUS(LK_CANCELLED, open_model(products_model(1500, 200)));
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(session, nullptr);
}

// The first question comes while the file is copied; what it is, nobody has looked at yet.
TEST_F(Opening, EndsWhileAFileIsCopied) {
  const lk::Folder folder;
  const std::string path = folder.path() + "/large";
  const int file = ::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  ASSERT_GE(file, 0);
  ASSERT_EQ(ftruncate(file, 512 << 20), 0) << "which takes no room on the disk";
  ASSERT_EQ(::close(file), 0);
  int asked = 0;
  options.should_stop = stop_at_once;
  options.should_stop_arg = &asked;
  options.copy_model = 1;
  open_context();
  LK_EXPECT_STATUS(LK_CANCELLED, level2()->open(context, path.c_str(), &options, &session, LK_ERR));
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(session, nullptr);
}

// A clone is opened by somebody else.
TEST_F(Opening, OfACloneEndsByNothingOfItsSession) {
  volatile int32_t flag = 0;
  options.cancel = &flag;
  const std::string bytes = model_bytes(); // sessions read them where they are
  LK_ASSERT_OK(open_model(bytes));
  flag = 1;
  lk_session *clone = nullptr;
  LK_ASSERT_OK(level2()->clone(session, &clone, LK_ERR));
  level2()->close(clone);
}

TEST_F(Opening, LeavesConstantsThatCostMoreThanTheySave) {
  LK_ASSERT_OK(open_model(products_model(5000, 30)));
  EXPECT_EQ(session_stats().nodes, 31u); // the products, and the sum
}

TEST_F(Opening, ComputesConstantsThatCostLittle) {
  LK_ASSERT_OK(open_model(products_model(50, 30)));
  EXPECT_EQ(session_stats().nodes, 1u);
}

} // namespace
