// A context with 20 MB serves any number of models one after the other, whatever they are called.
#include "tests/executor_glue/session/small_model.h"

using lk::small::api;
using lk::small::Floats;
using lk::small::level2;
using lk::small::numbers;

namespace {

// Relus behind each other, with names of their own; `last` is the operator of the last one.
std::string chain(const std::string &prefix, int length, const char *last = "Relu") {
  proto::Graph g;
  g.in("x").out("y");
  std::string before = "x";
  for (int i = 0; i < length; i++) {
    const std::string out = i + 1 < length ? prefix + std::to_string(i) : "y";
    g.node(proto::node(i + 1 < length ? "Sin" : last, {before}, {out}, {}, "node " + out));
    before = out;
  }
  return proto::model(g).bytes;
}

class ManyNames : public lk::small::Session {
protected:
  // Prefixes of one length: nothing else makes a difference.
  static std::string prefix(int i) { return "a rather long name " + std::to_string(1000000 + i); }
  lk_status serve(int i, const char *last = "Relu") {
    bytes = chain(prefix(i), 12, last);
    lk_session_options options = LK_SESSION_OPTIONS_INIT;
    const lk_status status =
        level2()->open_memory(context, bytes.data(), bytes.size(), &options, &session, LK_ERR);
    if (status == LK_OK) {
      Floats x = numbers(2, 1);
      std::vector<lk_named_tensor> outputs = {{"y", {}}};
      LK_EXPECT_OK(run({x_of(x)}, outputs));
      level2()->outputs_release(session, outputs.data(), 1);
    }
    level2()->close(session);
    session = nullptr;
    return status;
  }
};

TEST_F(ManyNames, TenThousandModelsInTwentyMegabytes) {
  for (const uint32_t mode : {LK_CACHE_SHARED, LK_CACHE_THREAD}) {
    lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
    options.allocator = *allocator.get();
    options.cache_mode = mode;
    options.threads = 1;
    options.memory_bytes = 20 << 20;
    LK_ASSERT_OK(api()->context_create(&options, &context, LK_ERR));
    uint64_t at_first = 0;
    for (int i = 0; i < lk::repeats(5000); i++) {
      LK_ASSERT_OK(serve(i)) << i;
      if (i == 50) at_first = stats().memory_bytes;
    }
    EXPECT_LE(stats().memory_bytes, at_first + 10000);
    EXPECT_EQ(stats().memory_refusals, 0u);
    api()->context_destroy(context);
    context = nullptr;
  }
}

// What is refused when its nodes are made has had names by then.
TEST_F(ManyNames, ModelsThatAreRefusedLeaveNothing) {
  open_context();
  uint64_t at_first = 0;
  for (int i = 0; i < lk::repeats(2000); i++) {
    LK_EXPECT_STATUS(LK_UNSUPPORTED, serve(i, "NoSuchOperator"));
    EXPECT_NE(serve(i, "Concat"), LK_OK); // which lacks its axis
    if (i == 50) at_first = stats().memory_bytes;
  }
  EXPECT_LE(stats().memory_bytes, at_first + 1000);
}

} // namespace
