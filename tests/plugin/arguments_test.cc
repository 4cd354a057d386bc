// Wrong arguments that the headers exclude, as one table: each function with each pointer NULL,
// with objects of another context or executor, flags and kinds that do not exist, and structs of
// no size. A call is refused with a sentence that says what was wrong, and hands nothing out.
#include "tests/plugin/handles.h"

namespace {

using lk::api;
using lk::Context;
using lk::Executor;
using lk::Frame;
using lk::Op;
using lk::Plan;
using lk::TestNode;
using ::testing::HasSubstr;

lk_status build_nothing(void *, const lk_key *, lk_built *out, lk_error *) {
  static int value = 0;
  *out = {};
  out->value = &value;
  out->bytes = sizeof value;
  return LK_OK;
}

void *alloc_nothing(void *, const lk_output_request *) {
  return nullptr;
}

void visit_nothing(void *, const lk_entry_info *) {}

struct Wrong {
  const char *what; // the call, and what is wrong with it
  std::function<lk_status(lk_error *)> call;
  lk_status status;
  const char *sentence; // a part of it
};

// A struct as a host makes it: of its size, and zero.
template <typename T> T sized() {
  T made{};
  made.struct_size = sizeof made;
  return made;
}

class Arguments : public ::testing::Test {
protected:
  Arguments() {
    TestNode node;
    node.op = "Relu";
    LK_EXPECT_OK(node.create(executor, &op, LK_ERR));
    LK_EXPECT_OK(node.create(other_executor, &other_op, LK_ERR));
    LK_EXPECT_OK(lk::bind(op, {desc}, &plan, LK_ERR));
    LK_EXPECT_OK(lk::bind(other_op, {desc}, &other_plan, LK_ERR));
    LK_EXPECT_OK(api()->frame_create(executor, frame.out(), LK_ERR));
    LK_EXPECT_OK(api()->key_parse(context, "user:out=a", &key, LK_ERR));
    LK_EXPECT_OK(api()->key_parse(other_context, "user:out=a", &other_key, LK_ERR));
    LK_EXPECT_OK(api()->dims_create(api()->context_allocator(context), &dims, LK_ERR));
    bind.struct_size = sizeof bind;
    bind.n_inputs = bind.n_outputs = 1;
    bind.in_place_input = -1;
    bind.inputs = &tensor;
    key_desc.struct_size = sizeof key_desc;
    key_desc.name = "a";
  }
  ~Arguments() override {
    api()->dims_destroy(dims);
    api()->key_destroy(context, key);
    api()->key_destroy(other_context, other_key);
  }

  void check(const std::vector<Wrong> &all) {
    for (const Wrong &one : all) {
      SCOPED_TRACE(one.what);
      LK_EXPECT_STATUS(one.status, one.call(LK_ERR));
      EXPECT_THAT(LK_MESSAGE, HasSubstr(one.sentence));
      EXPECT_EQ(one.call(nullptr), one.status) << "without an error to fill, too";
      EXPECT_EQ(out_pointer, nullptr) << "nothing is handed out";
    }
  }
  // A call with `name` NULL, which is `call` by name.
  static Wrong null(const char *name, std::function<lk_status(lk_error *)> call) {
    return {name, std::move(call), LK_INVALID_ARGUMENT, name};
  }
  template <typename T> T *out() { return reinterpret_cast<T *>(&out_pointer); }

  const lk_tensor_desc desc = lk::desc_of(LK_F32, {2, 3});
  lk_tensor tensor{desc, nullptr};
  const Context context = lk::open(), other_context = lk::open();
  const Executor executor = lk::executor_in(context), other_executor = lk::executor_in(context),
                 foreign = lk::executor_in(other_context);
  Op op, other_op;
  Plan plan, other_plan;
  Frame frame;
  lk_key *key = nullptr, *other_key = nullptr;
  lk_dims *dims = nullptr;
  lk_bind_desc bind{};
  lk_key_desc key_desc{};
  lk_tensor result{};
  void *out_pointer = nullptr;
  int32_t number = 0;
  uint32_t slot = 0;
  uint64_t bytes = 0;
};

TEST_F(Arguments, ThatAreNullAreNamed) {
  const lk_api *a = api();
  const lk_node_input input{};
  const lk_node_desc node = host_node("Relu", &input, 1);
  const auto ask = sized<lk_threads_ask>();
  auto op_info = sized<lk_op_info>();
  auto plan_info = sized<lk_plan_info>();
  auto step = sized<lk_step_info>();
  auto block = sized<lk_block>();
  auto stats = sized<lk_stats>();
  auto option = sized<lk_option_info>();
  auto peak = sized<lk_machine_peak>();
  lk_tensor_desc made{};
  lk_key *const k = key;
  const auto build = build_nothing;
  check({
      null("out_context", [&](lk_error *e) { return a->context_create(nullptr, nullptr, e); }),
      null("context", [&](lk_error *e) { return a->threads_enter(nullptr, &ask, &number, e); }),
      null("ask", [&](lk_error *e) { return a->threads_enter(context, nullptr, &number, e); }),
      null("out_threads", [&](lk_error *e) { return a->threads_enter(context, &ask, nullptr, e); }),
      null("threads", [&](lk_error *e) { return a->threads_stats(nullptr, e); }),
      null("context",
           [&](lk_error *e) { return a->executor_create(nullptr, "", out<lk_executor *>(), e); }),
      null("out_executor",
           [&](lk_error *e) { return a->executor_create(context, "", nullptr, e); }),
      null("executor",
           [&](lk_error *e) { return a->op_create(nullptr, &node, out<lk_op *>(), e); }),
      null("node", [&](lk_error *e) { return a->op_create(executor, nullptr, out<lk_op *>(), e); }),
      null("out_op", [&](lk_error *e) { return a->op_create(executor, &node, nullptr, e); }),
      null("op", [&](lk_error *e) { return a->op_info(nullptr, &op_info, e); }),
      null("info", [&](lk_error *e) { return a->op_info(op, nullptr, e); }),
      null("op", [&](lk_error *e) { return a->op_bind(nullptr, &bind, out<lk_plan *>(), e); }),
      null("bind", [&](lk_error *e) { return a->op_bind(op, nullptr, out<lk_plan *>(), e); }),
      null("inout_plan", [&](lk_error *e) { return a->op_bind(op, &bind, nullptr, e); }),
      null("inputs",
           [&](lk_error *e) {
             lk_bind_desc without = bind;
             without.inputs = nullptr;
             return a->op_bind(op, &without, out<lk_plan *>(), e);
           }),
      null("plan", [&](lk_error *e) { return a->plan_info(nullptr, &plan_info, e); }),
      null("info", [&](lk_error *e) { return a->plan_info(plan, nullptr, e); }),
      null("plan", [&](lk_error *e) { return a->plan_output(nullptr, 0, &made, e); }),
      null("out", [&](lk_error *e) { return a->plan_output(plan, 0, nullptr, e); }),
      null("plan", [&](lk_error *e) { return a->plan_step(nullptr, 0, &step, e); }),
      null("out", [&](lk_error *e) { return a->plan_step(plan, 0, nullptr, e); }),
      null("plan", [&](lk_error *e) { return a->plan_block(nullptr, 0, &block, e); }),
      null("out", [&](lk_error *e) { return a->plan_block(plan, 0, nullptr, e); }),
      null("executor", [&](lk_error *e) { return a->frame_create(nullptr, out<lk_frame *>(), e); }),
      null("out_frame", [&](lk_error *e) { return a->frame_create(executor, nullptr, e); }),
      null("frame", [&](lk_error *e) { return a->frame_lanes(nullptr, 2, e); }),
      null("frame", [&](lk_error *e) { return a->frame_attach(nullptr, plan, &slot, e); }),
      null("plan", [&](lk_error *e) { return a->frame_attach(frame, nullptr, &slot, e); }),
      null("out_slot", [&](lk_error *e) { return a->frame_attach(frame, plan, nullptr, e); }),
      null("frame", [&](lk_error *e) { return a->frame_watch(nullptr, nullptr, e); }),
      null("frame",
           [&](lk_error *e) {
             return a->op_run_alloc(nullptr, op, &bind, alloc_nothing, nullptr, &result, e);
           }),
      null("op",
           [&](lk_error *e) {
             return a->op_run_alloc(frame, nullptr, &bind, alloc_nothing, nullptr, &result, e);
           }),
      null("bind",
           [&](lk_error *e) {
             return a->op_run_alloc(frame, op, nullptr, alloc_nothing, nullptr, &result, e);
           }),
      null("alloc",
           [&](lk_error *e) {
             return a->op_run_alloc(frame, op, &bind, nullptr, nullptr, &result, e);
           }),
      null("outputs",
           [&](lk_error *e) {
             return a->op_run_alloc(frame, op, &bind, alloc_nothing, nullptr, nullptr, e);
           }),
      null("desc", [&](lk_error *e) { return a->tensor_bytes(nullptr, &bytes, e); }),
      null("out_bytes", [&](lk_error *e) { return a->tensor_bytes(&desc, nullptr, e); }),
      null("from", [&](lk_error *e) { return a->tensor_convert(nullptr, &tensor, e); }),
      null("to", [&](lk_error *e) { return a->tensor_convert(&tensor, nullptr, e); }),
      null("context",
           [&](lk_error *e) {
             return a->get_or_create(nullptr, nullptr, k, build, nullptr, out<lk_ref *>(), nullptr,
                                     e);
           }),
      null("key",
           [&](lk_error *e) {
             return a->get_or_create(context, nullptr, nullptr, build, nullptr, out<lk_ref *>(),
                                     nullptr, e);
           }),
      null("build",
           [&](lk_error *e) {
             return a->get_or_create(context, nullptr, k, nullptr, nullptr, out<lk_ref *>(),
                                     nullptr, e);
           }),
      null("out_ref",
           [&](lk_error *e) {
             return a->get_or_create(context, nullptr, k, build, nullptr, nullptr, nullptr, e);
           }),
      null("like",
           [&](lk_error *e) {
             return a->get_or_create_like(context, nullptr, nullptr, &key_desc, build, nullptr,
                                          out<lk_ref *>(), nullptr, e);
           }),
      null("desc",
           [&](lk_error *e) {
             return a->get_or_create_like(context, nullptr, k, nullptr, build, nullptr,
                                          out<lk_ref *>(), nullptr, e);
           }),
      null("build",
           [&](lk_error *e) {
             return a->get_or_create_like(context, nullptr, k, &key_desc, nullptr, nullptr,
                                          out<lk_ref *>(), nullptr, e);
           }),
      null("text",
           [&](lk_error *e) {
             return a->get_or_create_text(context, nullptr, nullptr, build, nullptr,
                                          out<lk_ref *>(), nullptr, e);
           }),
      null("build",
           [&](lk_error *e) {
             return a->get_or_create_text(context, nullptr, "user:out=a", nullptr, nullptr,
                                          out<lk_ref *>(), nullptr, e);
           }),
      null("key",
           [&](lk_error *e) {
             return a->cache_find(context, nullptr, nullptr, out<lk_ref *>(), e);
           }),
      null("out_ref", [&](lk_error *e) { return a->cache_find(context, nullptr, k, nullptr, e); }),
      null("key", [&](lk_error *e) { return a->cache_drop(context, nullptr, nullptr, &bytes, e); }),
      null("context",
           [&](lk_error *e) { return a->cache_set_capacity(nullptr, nullptr, 1, 1, e); }),
      null("context", [&](lk_error *e) { return a->cache_set_weights_capacity(nullptr, 1, e); }),
      null("context", [&](lk_error *e) { return a->memory_set_limit(nullptr, 1, e); }),
      null("context", [&](lk_error *e) { return a->cache_clear(nullptr, nullptr, e); }),
      null("context", [&](lk_error *e) { return a->cache_stats(nullptr, nullptr, &stats, e); }),
      null("out", [&](lk_error *e) { return a->cache_stats(context, nullptr, nullptr, e); }),
      null("context",
           [&](lk_error *e) { return a->cache_visit(nullptr, visit_nothing, nullptr, e); }),
      null("visit", [&](lk_error *e) { return a->cache_visit(context, nullptr, nullptr, e); }),
      null("desc",
           [&](lk_error *e) {
             return a->key_create(context, nullptr, nullptr, out<lk_key *>(), e);
           }),
      null("out_key",
           [&](lk_error *e) { return a->key_create(context, nullptr, &key_desc, nullptr, e); }),
      null("text", [&](lk_error *e) { return a->key_parse(context, nullptr, out<lk_key *>(), e); }),
      null("out_key", [&](lk_error *e) { return a->key_parse(context, "user:out=a", nullptr, e); }),
      null("key",
           [&](lk_error *e) { return a->key_print(context, nullptr, nullptr, 0, nullptr, e); }),
      null("context", [&](lk_error *e) { return a->op_register(nullptr, nullptr, e); }),
      null("op", [&](lk_error *e) { return a->op_register(context, nullptr, e); }),
      null("allocator", [&](lk_error *e) { return a->dims_create(nullptr, out<lk_dims *>(), e); }),
      null("out_dims",
           [&](lk_error *e) { return a->dims_create(a->context_allocator(context), nullptr, e); }),
      null("dims",
           [&](lk_error *e) { return a->op_infer(nullptr, &node, &tensor, &made, nullptr, e); }),
      null("node",
           [&](lk_error *e) { return a->op_infer(dims, nullptr, &tensor, &made, nullptr, e); }),
      null("outputs",
           [&](lk_error *e) { return a->op_infer(dims, &node, &tensor, nullptr, nullptr, e); }),
      null("context", [&](lk_error *e) { return a->machine_peak(nullptr, 1, &peak, e); }),
      null("out", [&](lk_error *e) { return a->machine_peak(context, 1, nullptr, e); }),
      null("context", [&](lk_error *e) { return a->option_info(nullptr, 0, &option, e); }),
      null("out", [&](lk_error *e) { return a->option_info(context, 0, nullptr, e); }),
  });
}

TEST_F(Arguments, OfAnotherContextOrExecutorAreRefused) {
  const lk_api *a = api();
  check({
      {"frame_attach, a plan of another executor",
       [&](lk_error *e) { return a->frame_attach(frame, other_plan, &slot, e); },
       LK_INVALID_ARGUMENT, "of another executor"},
      {"op_run_alloc, an op of another executor",
       [&](lk_error *e) {
         return a->op_run_alloc(frame, other_op, &bind, alloc_nothing, nullptr, &result, e);
       },
       LK_INVALID_ARGUMENT, "another executor"},
      {"get_or_create, an executor of another context",
       [&](lk_error *e) {
         return a->get_or_create(context, foreign, key, build_nothing, nullptr, out<lk_ref *>(),
                                 nullptr, e);
       },
       LK_INVALID_ARGUMENT, "the executor is one of another context"},
      {"cache_find, an executor of another context",
       [&](lk_error *e) { return a->cache_find(context, foreign, key, out<lk_ref *>(), e); },
       LK_INVALID_ARGUMENT, "the executor is one of another context"},
      {"key_create, an executor of another context",
       [&](lk_error *e) { return a->key_create(context, foreign, &key_desc, out<lk_key *>(), e); },
       LK_INVALID_ARGUMENT, "the executor is one of another context"},
      {"cache_set_capacity, an executor of another context",
       [&](lk_error *e) { return a->cache_set_capacity(context, foreign, 1, 1, e); },
       LK_INVALID_ARGUMENT, "the executor is one of another context"},
      {"cache_clear, an executor of another context",
       [&](lk_error *e) { return a->cache_clear(context, foreign, e); }, LK_INVALID_ARGUMENT,
       "the executor is one of another context"},
      {"cache_stats, an executor of another context",
       [&](lk_error *e) {
         auto stats = sized<lk_stats>();
         return a->cache_stats(context, foreign, &stats, e);
       },
       LK_INVALID_ARGUMENT, "the executor is one of another context"},
      {"key_print, a key of another context",
       [&](lk_error *e) {
         lk_key_desc named = key_desc;
         lk_key *strange = nullptr;
         if (a->key_create(other_context, nullptr, &named, &strange, e) != LK_OK)
           return LK_INTERNAL;
         const lk_status status = a->key_print(context, strange, nullptr, 0, nullptr, e);
         a->key_destroy(other_context, strange);
         return status;
       },
       LK_INVALID_ARGUMENT, "another context"},
      {"cache_find, a key of another context",
       [&](lk_error *e) { return a->cache_find(context, nullptr, other_key, out<lk_ref *>(), e); },
       LK_INVALID_ARGUMENT, "of another context"},
  });
  EXPECT_EQ(api()->frame_attach(frame, plan, &slot, nullptr), LK_OK) << "its own are taken";
}

TEST_F(Arguments, ThatDoNotExistAreRefused) {
  const lk_api *a = api();
  lk_node_input input{};
  lk_node_desc node = host_node("Relu", &input, 1);
  const auto create = [&](lk_error *e) { return a->op_create(executor, &node, out<lk_op *>(), e); };
  check({
      {"op_create, an unknown flag of an input",
       [&](lk_error *e) {
         input.flags = 8;
         const lk_status status = create(e);
         input.flags = 0;
         return status;
       },
       LK_INVALID_ARGUMENT, "input 0 has flags 0x8"},
      {"op_create, no operator",
       [&](lk_error *e) {
         node.op_type = nullptr;
         const lk_status status = create(e);
         node.op_type = "Relu";
         return status;
       },
       LK_INVALID_ARGUMENT, "op_type"},
      {"op_create, no name",
       [&](lk_error *e) {
         const char *name = node.output_name;
         node.output_name = nullptr;
         const lk_status status = create(e);
         node.output_name = name;
         return status;
       },
       LK_INVALID_ARGUMENT, "output_name"},
      {"op_create, an opset of the future",
       [&](lk_error *e) {
         node.opset = LK_MAX_OPSET + 1;
         const lk_status status = create(e);
         node.opset = 13;
         return status;
       },
       LK_UNSUPPORTED, "opset"},
      {"op_bind, an unknown flag",
       [&](lk_error *e) {
         lk_bind_desc wrong = bind;
         wrong.flags = 16;
         return a->op_bind(op, &wrong, out<lk_plan *>(), e);
       },
       LK_INVALID_ARGUMENT, "flags are 0x10"},
      {"key_create, an unknown kind",
       [&](lk_error *e) {
         lk_key_desc wrong = key_desc;
         wrong.kind = 7;
         return a->key_create(context, nullptr, &wrong, out<lk_key *>(), e);
       },
       LK_INVALID_ARGUMENT, "kind is 7"},
  });
}

// A struct that says nothing of its size is one that was not filled in.
TEST_F(Arguments, OfNoSizeAreRefused) {
  const lk_api *a = api();
  lk_context_options options{};
  lk_node_desc node{};
  lk_bind_desc no_bind{};
  lk_key_desc no_key{};
  lk_threads_ask ask{};
  lk_watch watch{};
  lk_stats stats{};
  lk_op_info info{};
  check({
      {"context_create",
       [&](lk_error *e) { return a->context_create(&options, out<lk_context *>(), e); },
       LK_INVALID_ARGUMENT, "struct_size is 0"},
      {"op_create", [&](lk_error *e) { return a->op_create(executor, &node, out<lk_op *>(), e); },
       LK_INVALID_ARGUMENT, "struct_size is 0"},
      {"op_bind", [&](lk_error *e) { return a->op_bind(op, &no_bind, out<lk_plan *>(), e); },
       LK_INVALID_ARGUMENT, "struct_size is 0"},
      {"key_create",
       [&](lk_error *e) { return a->key_create(context, nullptr, &no_key, out<lk_key *>(), e); },
       LK_INVALID_ARGUMENT, "struct_size is 0"},
      {"threads_enter", [&](lk_error *e) { return a->threads_enter(context, &ask, &number, e); },
       LK_INVALID_ARGUMENT, "struct_size is 0"},
      {"frame_watch", [&](lk_error *e) { return a->frame_watch(frame, &watch, e); },
       LK_INVALID_ARGUMENT, "struct_size is 0"},
      {"cache_stats", [&](lk_error *e) { return a->cache_stats(context, nullptr, &stats, e); },
       LK_INVALID_ARGUMENT, "struct_size is 0"},
      {"op_info", [&](lk_error *e) { return a->op_info(op, &info, e); }, LK_INVALID_ARGUMENT,
       "struct_size is 0"},
  });
}

// A failed bind gives the former plan back.
TEST_F(Arguments, ThatAreNullLeakNoPlan) {
  lk_plan *former = nullptr;
  LK_ASSERT_OK(api()->op_bind(op, &bind, &former, LK_ERR));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, api()->op_bind(nullptr, &bind, &former, LK_ERR));
  EXPECT_EQ(former, nullptr);
}

} // namespace
