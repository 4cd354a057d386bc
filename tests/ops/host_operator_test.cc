// Operators of a host's own: nodes of them in an executor of one's own.
#include <thread>

#include "tests/harness/op_rows.h"
#include "tests/ops/engine/plain_engine.h"
#include "tests/ops/made_operator.h"
#include "tests/ops/reference.h"
#include "tests/plugin/handles.h"

extern "C" {
#include "base/alloc.h"
}

namespace {

using lk::api;
using lk::desc_of;
using lk::MadeOperator;
using lk::Op;
using lk::Plan;
using lk::Value;
using ::testing::HasSubstr;

class HostOperator : public ::testing::Test {
protected:
  HostOperator() {
    LK_EXPECT_OK(host_context_create(LK_CACHE_SHARED, 2, nullptr, context.out(), LK_ERR));
  }
  ~HostOperator() override {
    op = Op();
    executor = lk::Executor();
    context = lk::Context();
    EXPECT_EQ(made.closed, is_registered ? 1 : 0);
  }
  void add() { add(made.table()); }
  void add(const lk_operator &table) {
    LK_ASSERT_OK(api()->op_register(context, &table, LK_ERR));
    is_registered = true;
    executor = lk::executor_in(context);
  }
  lk_status refuse(const lk_operator &table) { return api()->op_register(context, &table, LK_ERR); }
  static lk::TestNode node(uint32_t n_inputs = 1) {
    lk::TestNode n;
    n.op = "Scaled";
    n.domain = "com.example";
    n.opset = 1;
    n.n_inputs = n_inputs;
    return n;
  }
  void create(const lk::TestNode &n) { LK_ASSERT_OK(n.create(executor, &op, LK_ERR)); }
  lk_status bind(Plan *plan, const std::vector<lk_tensor_desc> &inputs,
                 lk_layout wish = LK_LAYOUT_PLAIN) {
    return lk::bind(op, inputs, plan, LK_ERR, -1, wish);
  }
  // Binds the node that was created, and runs it on f32.
  Value run(const std::vector<Value> &inputs, lk_layout layout = LK_LAYOUT_PLAIN) {
    std::vector<lk_tensor_desc> descs;
    std::vector<lk::Memory> memories;
    std::vector<void *> pointers;
    for (const Value &each : inputs) {
      descs.push_back(each.desc);
      descs.back().layout = layout;
      memories.push_back(each.in(layout));
    }
    for (const lk::Memory &each : memories) pointers.push_back(each.data());
    Plan plan;
    lk_tensor_desc to{};
    LK_EXPECT_OK(bind(&plan, descs, layout));
    LK_EXPECT_OK(api()->plan_output(plan, 0, &to, LK_ERR));
    const lk::Memory y(size_t(lk::count_of(lk::dims_of(to))) * lk::dtype_bytes(to.dtype));
    LK_EXPECT_OK(lk::run(executor, plan, pointers, y.data(), LK_ERR));
    return Value::from(to, y.data());
  }
  uint64_t name_hits() { return lk::stats(context).kind[LK_KIND_NAME].hits; }

  MadeOperator made;
  bool is_registered = false;
  lk::Context context;
  lk::Executor executor;
  Op op;
};

// ---- by code of the host's ----

TEST_F(HostOperator, RunsItsCode) {
  add();
  lk::TestNode n = node(2);
  n.floats = {{"a", {3}}};
  create(n);
  const Value x = lk::random({2, 3}, 1), b = lk::random({2, 3}, 2);
  std::vector<float> wanted = x.as<float>();
  for (size_t i = 0; i < wanted.size(); i++) wanted[i] = 3 * wanted[i] + b.as<float>()[i];
  EXPECT_TRUE(lk::all_close(wanted, run({x, b}).as<float>()));
  const int infers = made.infers;
  EXPECT_TRUE(lk::all_close(wanted, run({x, b}).as<float>()));
  EXPECT_EQ(made.infers, infers) << "the plan is found by key";
  EXPECT_EQ(name_hits(), 1u);
  EXPECT_EQ(made.runs, 2);
  Plan plan;
  LK_ASSERT_OK(bind(&plan, {x.desc, b.desc}));
  EXPECT_STREQ(host_plan_info(plan).implementation, "host:Scaled");
  EXPECT_EQ(host_plan_info(plan).scratch_bytes, 64u);
  lk_step_info step = {};
  step.struct_size = sizeof step;
  LK_ASSERT_OK(api()->plan_step(plan, 0, &step, LK_ERR));
  EXPECT_STREQ(step.engine, "host");
  LK_ASSERT_OK(bind(&plan, {desc_of(LK_F32, {5}), desc_of(LK_F32, {5})}));
  EXPECT_EQ(made.infers, infers + 1) << "another size is another plan";
}

TEST_F(HostOperator, TwoNodesAndExecutorsDoNotShareNames) {
  add();
  lk::TestNode n = node();
  n.floats = {{"a", {2}}};
  create(n);
  const Value x = lk::floats({2}, {1, -4});
  EXPECT_EQ(run({x}).as<float>(), (std::vector<float>{2, -8}));
  n.name = "z";
  n.floats = {{"a", {5}}};
  create(n);
  EXPECT_EQ(run({x}).as<float>(), (std::vector<float>{5, -20}));
  const lk::Executor other = lk::executor_in(context);
  Op theirs;
  Plan plan;
  LK_ASSERT_OK(n.create(other, &theirs, LK_ERR));
  LK_ASSERT_OK(lk::bind(theirs, {x.desc}, &plan, LK_ERR));
  EXPECT_EQ(name_hits(), 0u);
}

// The operator is in the key, so that not even a name that is used twice finds another one's plan.
TEST_F(HostOperator, IsNotOneOfAnotherDomainThatIsWrittenAlike) {
  MadeOperator other;
  lk_operator table = other.table("nn.Scaled", "com");
  table.close = nullptr;
  LK_ASSERT_OK(refuse(table));
  other.run = [](const lk_operator_run *run, lk_error *) {
    *static_cast<float *>(run->output_data[0]) = 7;
    return LK_OK;
  };
  add(made.table("Scaled", "com.nn"));
  lk::TestNode n = node();
  n.domain = "com.nn";
  create(n);
  EXPECT_EQ(run({lk::floats({1}, {3})}).as<float>(), std::vector<float>{3});
  n.domain = "com";
  n.op = "nn.Scaled";
  create(n);
  EXPECT_EQ(run({lk::floats({1}, {3})}).as<float>(), std::vector<float>{7});
}

TEST_F(HostOperator, GetsPlainTensorsWhereverTheyLie) {
  add();
  made.run = [](const lk_operator_run *run, lk_error *error) {
    EXPECT_EQ(run->inputs[0].layout, LK_LAYOUT_PLAIN);
    EXPECT_EQ(run->outputs[0].layout, LK_LAYOUT_PLAIN);
    return MadeOperator::scale_and_add(run, error);
  };
  create(node());
  const Value x = lk::random({2, 3, 4, 5}, 1);
  EXPECT_EQ(run({x}, LK_LAYOUT_CHANNELS_LAST).as<float>(), x.as<float>());
}

TEST_F(HostOperator, SeesAbsentAndConstantInputs) {
  lk_operator table = made.table();
  table.max_inputs = 3;
  add(table);
  made.run = [](const lk_operator_run *run, lk_error *) {
    EXPECT_EQ(run->n_inputs, 3u);
    EXPECT_EQ(run->input_data[1], nullptr);
    EXPECT_EQ(run->inputs[1].dtype, uint32_t(LK_DTYPE_NONE));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(run->scratch) % 64, 0u);
    EXPECT_EQ(run->scratch_bytes, 64u);
    const auto *x = static_cast<const float *>(run->input_data[0]);
    const auto *c = static_cast<const float *>(run->input_data[2]);
    static_cast<float *>(run->output_data[0])[0] = x[0] * c[0];
    return LK_OK;
  };
  lk::TestNode n = node(3);
  n.absent = {1};
  n.constants = {lk::floats({1}, {7})};
  create(n);
  Plan plan;
  LK_ASSERT_OK(bind(&plan, {desc_of(LK_F32, {1}), lk_tensor_desc{}, lk_tensor_desc{}}));
  float x = 6, y = 0;
  LK_ASSERT_OK(lk::run(executor, plan, {&x, nullptr, nullptr}, &y, LK_ERR));
  EXPECT_EQ(y, 42);
}

TEST_F(HostOperator, IsNotCalledForNothing) {
  add();
  create(node());
  EXPECT_EQ(run({lk::floats({0, 3}, {})}).dims(), (lk::Dims{0, 3}));
  EXPECT_EQ(made.runs, 0);
}

TEST_F(HostOperator, KeepsItsAttributes) {
  std::vector<lk_op_attr> attrs(5);
  const uint32_t types[] = {LK_ATTR_INTS, LK_ATTR_FLOATS, LK_ATTR_STRING, LK_ATTR_STRINGS,
                            LK_ATTR_TENSOR};
  const char *const names[] = {"ints", "floats", "text", "texts", "tensor"};
  for (size_t i = 0; i < attrs.size(); i++) {
    attrs[i].name = names[i];
    attrs[i].type = types[i];
    attrs[i].is_list = i < 2;
  }
  lk_operator table = made.table();
  table.attrs = attrs.data();
  table.n_attrs = uint32_t(attrs.size());
  add(table);
  attrs.clear();
  attrs.shrink_to_fit(); // it has copied them
  made.infer = [](const lk_operator_node *n, lk_operator_shapes *out, lk_error *) {
    EXPECT_EQ(n->opset, 1);
    EXPECT_EQ(n->n_attrs, 5u);
    EXPECT_EQ(static_cast<const int64_t *>(n->attrs[0].data)[1], -9);
    EXPECT_EQ(static_cast<const float *>(n->attrs[1].data)[2], 0.5f);
    EXPECT_EQ(std::string(static_cast<const char *>(n->attrs[2].data), n->attrs[2].count), "text");
    EXPECT_STREQ(static_cast<const char *const *>(n->attrs[3].data)[1], "second");
    const auto *t = static_cast<const lk_tensor *>(n->attrs[4].data);
    EXPECT_EQ(static_cast<const float *>(t->data)[1], 8);
    out->outputs[0].rank = 0;
    return LK_OK;
  };
  const lk_node_input input = {};
  lk_node_desc desc = host_node("Scaled", &input, 1);
  {
    std::vector<int64_t> ints = {4, -9};
    std::vector<float> floats = {1, 2, 0.5f}, elements = {7, 8};
    std::vector<const char *> texts = {"first", "second"};
    const lk_tensor tensor = {desc_of(LK_F32, {2}), elements.data()};
    const lk_attr given[] = {{"ints", LK_ATTR_INTS, 2, ints.data()},
                             {"floats", LK_ATTR_FLOATS, 3, floats.data()},
                             {"text", LK_ATTR_STRING, 4, "text and more"},
                             {"texts", LK_ATTR_STRINGS, 2, texts.data()},
                             {"tensor", LK_ATTR_TENSOR, 1, &tensor}};
    desc.domain = "com.example";
    desc.opset = 1;
    desc.n_attrs = 5;
    desc.attrs = given;
    LK_ASSERT_OK(api()->op_create(executor, &desc, op.out(), LK_ERR));
  }
  Plan plan;
  LK_ASSERT_OK(bind(&plan, {desc_of(LK_F32, {2})}));
  EXPECT_EQ(made.infers, 1);
}

TEST_F(HostOperator, ReadsShapesByValue) {
  lk_operator table = made.table();
  table.input_types = "TU";
  table.types[1] = LK_TYPE(LK_I64);
  table.shape_inputs = 2;
  made.infer = [](const lk_operator_node *n, lk_operator_shapes *out, lk_error *) {
    out->outputs[0].rank = 1;
    out->outputs[0].dims[0] = *static_cast<const int64_t *>(n->inputs[1].data);
    return LK_OK;
  };
  made.run = [](const lk_operator_run *run, lk_error *) {
    for (int64_t i = 0; i < run->outputs[0].dims[0]; i++) {
      static_cast<float *>(run->output_data[0])[i] =
          static_cast<const float *>(run->input_data[0])[0];
    }
    return LK_OK;
  };
  add(table);
  create(node(2));
  Plan plan;
  const lk_tensor_desc count = desc_of(LK_I64, {1});
  LK_ASSERT_OK(bind(&plan, {desc_of(LK_F32, {1}), count}));
  EXPECT_EQ(host_plan_info(plan).known_when_run, 1u);
  EXPECT_EQ(made.infers, 0) << "what it needs is not known";
  float x = 5;
  int64_t n = 3;
  const lk_tensor inputs[] = {{desc_of(LK_F32, {1}), &x}, {count, &n}};
  lk_bind_desc with_data = host_bind(inputs, 2);
  LK_ASSERT_OK(lk::bind(op, with_data, &plan, LK_ERR));
  std::vector<float> y(3);
  LK_ASSERT_OK(lk::run(executor, plan, {&x, &n}, y.data(), LK_ERR));
  EXPECT_EQ(y, (std::vector<float>{5, 5, 5}));
}

TEST_F(HostOperator, RunsOnSeveralThreads) {
  add();
  create(node());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([this, t] {
      for (int64_t size = 1; size < 40; size++) {
        const Value x = lk::random({size}, unsigned(t));
        EXPECT_EQ(run({x}).as<float>(), x.as<float>());
      }
    });
  }
  for (std::thread &each : threads) each.join();
  EXPECT_EQ(made.runs, 4 * 39);
}

// ---- what it says of runs ----

TEST_F(HostOperator, TellsWhyARunFails) {
  add();
  create(node());
  Plan plan;
  LK_ASSERT_OK(bind(&plan, {desc_of(LK_F32, {1})}));
  float x = 1, y = 0;
  const auto run_it = [&] { return lk::run(executor, plan, {&x}, &y, LK_ERR); };
  made.run = [](const lk_operator_run *, lk_error *error) {
    std::snprintf(error->message, sizeof error->message, "x is too much for it");
    return LK_OUT_OF_RANGE;
  };
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, run_it());
  EXPECT_THAT(LK_MESSAGE, HasSubstr("x is too much for it"));
  made.run = [](const lk_operator_run *, lk_error *) { return LK_IO; };
  LK_EXPECT_STATUS(LK_IO, run_it());
  EXPECT_THAT(LK_MESSAGE, HasSubstr("'run' of operator Scaled failed and gave no sentence"));
  made.run = [](const lk_operator_run *, lk_error *) { return lk_status(-77); };
  LK_EXPECT_STATUS(LK_INTERNAL, run_it());
  EXPECT_THAT(LK_MESSAGE, HasSubstr("returned -77, a status of lk_status is allowed"));
  made.run = [](const lk_operator_run *, lk_error *error) {
    std::memset(error->message, 'a', sizeof error->message); // without an end
    return LK_INTERNAL;
  };
  LK_EXPECT_STATUS(LK_INTERNAL, run_it());
  made.run = MadeOperator::scale_and_add;
  LK_EXPECT_OK(run_it());
}

TEST_F(HostOperator, MayLookWhetherToStop) {
  add();
  create(node());
  Plan plan;
  lk::Frame frame;
  uint32_t slot = 0;
  int32_t cancel = 0;
  lk_watch watch = {};
  watch.struct_size = sizeof watch;
  watch.cancel = &cancel;
  LK_ASSERT_OK(bind(&plan, {desc_of(LK_F32, {1})}));
  LK_ASSERT_OK(api()->frame_create(executor, frame.out(), LK_ERR));
  LK_ASSERT_OK(api()->frame_attach(frame, plan, &slot, LK_ERR));
  LK_ASSERT_OK(api()->frame_watch(frame, &watch, LK_ERR));
  made.run = [&](const lk_operator_run *, lk_error *error) {
    cancel = 1;
    lk_status status = LK_OK;
    while (status == LK_OK) status = api()->thread_look(error);
    return status;
  };
  float x = 1, y = 0;
  void *const inputs[] = {&x}, *const outputs[] = {&y};
  LK_EXPECT_STATUS(LK_CANCELLED, api()->op_run(frame, slot, inputs, outputs, LK_ERR));
  LK_ASSERT_OK(api()->frame_watch(frame, nullptr, LK_ERR));
  made.run = MadeOperator::scale_and_add;
  LK_EXPECT_OK(api()->op_run(frame, slot, inputs, outputs, LK_ERR));
}

// ---- what it says of shapes ----

using Shapes = lk_operator_shapes;

TEST_F(HostOperator, IsNotTrustedWithShapes) {
  lk_operator table = made.table();
  table.max_outputs = 2;
  table.output_types = "T?";
  add(table);
  const struct {
    void (*say)(Shapes *out);
    const char *sentence;
  } bad[] = {
      {[](Shapes *) {}, "set no rank of output 0"},
      {[](Shapes *s) { s->outputs[0].rank = 9; }, "too many dimensions to output 0"},
      {[](Shapes *s) { s->outputs[0].rank = 0x7fffffff; }, "too many dimensions to output 0"},
      {[](Shapes *s) { s->outputs[0].dims[0] = -1; }, "dimension 0 of output 0 as -1"},
      {[](Shapes *s) { s->outputs[0].dims[1] = INT64_MIN; }, "dimension 1 of output 0"},
      {[](Shapes *s) { s->outputs[0].dims[0] = s->outputs[0].dims[1] = INT64_MAX; }, "an output"},
      {[](Shapes *s) { s->outputs[0].dims[0] = int64_t{1} << 46; }, "an output"},
      {[](Shapes *s) { s->outputs[0].dtype = LK_I64; }, "type 7 (i64), f32 may be given"},
      {[](Shapes *s) { s->outputs[1].dtype = LK_DTYPE_NONE; },
       "output 1 no type, any type may be given"},
      {[](Shapes *s) { s->outputs[1].dtype = 8; }, "output 1 type 8"},
      {[](Shapes *s) { s->outputs[1].dtype = 0xffffffff; }, "output 1 type 4294967295"},
      {[](Shapes *s) { s->outputs[0].layout = LK_LAYOUT_CHANNELS_LAST; }, "layout 1, it must stay"},
      {[](Shapes *s) { s->params_bytes = LK_OPERATOR_PARAMS + 1; }, "257 bytes of params"},
      {[](Shapes *s) { s->scratch_bytes = UINT64_MAX; }, "of scratch memory"},
  };
  lk::TestNode n = node();
  n.n_outputs = 2;
  create(n);
  int64_t size = 0;
  for (const auto &each : bad) {
    SCOPED_TRACE(each.sentence);
    made.infer = [&](const lk_operator_node *, Shapes *out, lk_error *) {
      const bool sets_rank = std::string(each.sentence).find("no rank") == std::string::npos;
      for (int i = 0; i < 2; i++) {
        if (sets_rank) out->outputs[i].rank = 2;
        out->outputs[i].dims[0] = out->outputs[i].dims[1] = 2;
      }
      out->outputs[1].dtype = LK_I32;
      each.say(out);
      return LK_OK;
    };
    lk_tensor input = {desc_of(LK_F32, {++size}), nullptr};
    lk_bind_desc desc = host_bind(&input, 1);
    desc.n_outputs = 2;
    Plan plan;
    EXPECT_NE(LK_OK, lk::bind(op, desc, &plan, LK_ERR));
    EXPECT_EQ(plan.get(), nullptr);
    EXPECT_THAT(LK_MESSAGE, HasSubstr(each.sentence));
    EXPECT_THAT(LK_MESSAGE, HasSubstr("failed to bind Scaled 'y'"));
  }
}

TEST_F(HostOperator, TellsWhyItCannotBeBound) {
  add();
  create(node());
  made.infer = [](const lk_operator_node *, Shapes *, lk_error *error) {
    std::snprintf(error->message, sizeof error->message, "x must be a matrix");
    return LK_INVALID_ARGUMENT;
  };
  Plan plan;
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, bind(&plan, {desc_of(LK_F32, {1})}));
  EXPECT_EQ(LK_MESSAGE, "failed to bind Scaled 'y': x must be a matrix");
  made.infer = [](const lk_operator_node *, Shapes *, lk_error *) { return lk_status(99); };
  LK_EXPECT_STATUS(LK_INTERNAL, bind(&plan, {desc_of(LK_F32, {1})}));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("'infer' of operator Scaled returned 99"));
  LK_EXPECT_STATUS(LK_UNSUPPORTED, bind(&plan, {desc_of(LK_I64, {1})}));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("input 0 is of type i64"));
  made.infer = MadeOperator::same_as_first;
  LK_EXPECT_OK(bind(&plan, {desc_of(LK_F32, {1})}));
}

// What is certain of `Scaled` on a tensor of a known rank, of which dimension 0 is open.
struct Known {
  lk_status status = LK_INTERNAL;
  lk_tensor_desc output{};
  int64_t open = 0;
};

Known infer_open(lk_context *context) {
  const lk_node_input input = {};
  lk_node_desc desc = host_node("Scaled", &input, 1);
  desc.domain = "com.example";
  desc.opset = 1;
  lk_dims *dims = nullptr;
  Known known;
  LK_EXPECT_OK(api()->dims_create(lk_allocator_default(), &dims, LK_ERR));
  api()->dims_set_context(dims, context);
  known.open = api()->dims_open(dims);
  const lk_tensor x = {desc_of(LK_F32, {known.open, 4}), nullptr};
  known.status = api()->op_infer(dims, &desc, &x, &known.output, nullptr, LK_ERR);
  api()->dims_destroy(dims);
  return known;
}

TEST_F(HostOperator, KnowsItsTypeBeforeSizes) {
  add();
  const Known known = infer_open(context);
  LK_ASSERT_OK(known.status);
  EXPECT_EQ(known.output.dtype, uint32_t(LK_F32));
  EXPECT_EQ(known.output.rank, LK_RANK_UNKNOWN);
  EXPECT_EQ(made.infers, 0);
  LK_EXPECT_STATUS(LK_UNSUPPORTED, infer_open(nullptr).status);
}

TEST_F(HostOperator, MayInferBeforeSizesAreKnown) {
  lk_operator table = made.table();
  table.flags = LK_OPERATOR_INFERS_OPEN;
  add(table);
  const Known known = infer_open(context);
  LK_ASSERT_OK(known.status);
  EXPECT_EQ(lk::dims_of(known.output), (lk::Dims{known.open, 4}));
  made.infer = [](const lk_operator_node *n, Shapes *out, lk_error *) {
    out->outputs[0].rank = 1;
    out->outputs[0].dims[0] = n->inputs[0].desc.dims[0] * 2; // no dimension of an input
    return LK_OK;
  };
  LK_EXPECT_STATUS(LK_INTERNAL, infer_open(context).status);
  EXPECT_THAT(LK_MESSAGE, HasSubstr("what an input has where not all is known"));
  made.infer = [](const lk_operator_node *, Shapes *, lk_error *) { return LK_OK; };
  const Known nothing = infer_open(context);
  LK_ASSERT_OK(nothing.status);
  EXPECT_EQ(nothing.output.rank, LK_RANK_UNKNOWN);
  made.infer = [](const lk_operator_node *, Shapes *out, lk_error *) {
    out->outputs[0].layout = LK_LAYOUT_HEADS_INSIDE;
    return LK_OK;
  };
  LK_EXPECT_STATUS(LK_INTERNAL, infer_open(context).status);
  EXPECT_THAT(LK_MESSAGE, HasSubstr("it must stay plain"));
}

// ---- by works ----

using Work = lk_operator_work;

// y = relu(x) * b + 1
lk_status relu_times(const lk_operator_node *node, const Shapes *, Work *out, lk_error *) {
  out->work.kind = LK_WORK_ELEMENT;
  out->work.roles = 1u << LK_ROLE_SRC | 1u << LK_ROLE_DST;
  out->work.post_ops[0].kind = LK_POST_RELU;
  out->work.n_post_ops = 1;
  if (node->n_inputs < 2) return LK_OK;
  out->work.roles |= 1u << LK_ROLE_OPERAND;
  out->inputs[LK_ROLE_OPERAND] = 1;
  out->work.post_ops[1] = {LK_POST_MUL, LK_ROLE_OPERAND, 0, 0};
  out->work.post_ops[2] = {LK_POST_LINEAR, 0, 1, 1};
  out->work.n_post_ops = 3;
  return LK_OK;
}

TEST_F(HostOperator, DescribesElements) {
  made.work = relu_times;
  add();
  create(node(2));
  const Value x = lk::random({3, 4}, 1), b = lk::random({4}, 2);
  std::vector<float> wanted = x.as<float>();
  for (size_t i = 0; i < wanted.size(); i++) {
    wanted[i] = std::max(wanted[i], 0.0f) * b.as<float>()[i % 4] + 1;
  }
  EXPECT_TRUE(lk::all_close(wanted, run({x, b}).as<float>()));
  EXPECT_EQ(made.works, 1);
  EXPECT_EQ(made.runs, 0);
}

TEST_F(HostOperator, DescribesRows) {
  uint32_t kind = 0;
  made.work = [&](const lk_operator_node *, const Shapes *shapes, Work *out, lk_error *) {
    out->work.kind = kind;
    out->work.roles = 1u << LK_ROLE_SRC | 1u << LK_ROLE_DST;
    out->work.axes = 1u << (shapes->outputs[0].rank - 1);
    out->work.is_centered = 1;
    return LK_OK;
  };
  add();
  const Value x = lk::floats({2, 2}, {1, 3, -1, -5});
  const struct {
    uint32_t kind;
    std::vector<float> wanted;
  } all[] = {{LK_WORK_SOFTMAX, {0.1192029f, 0.8807971f, 0.9820138f, 0.0179862f}},
             {LK_WORK_LOG_SOFTMAX, {-2.1269280f, -0.1269280f, -0.0181499f, -4.0181499f}},
             {LK_WORK_HARDMAX, {0, 1, 1, 0}},
             {LK_WORK_LAYER_NORM, {-1, 1, 1, -1}}};
  for (const auto &each : all) {
    kind = each.kind;
    lk::TestNode n = node();
    n.name = std::to_string(kind);
    create(n);
    EXPECT_TRUE(lk::all_close(each.wanted, run({x}).as<float>())) << kind;
  }
}

// Several dimensions with others before and behind them, which no operator of ONNX has.
TEST_F(HostOperator, DescribesRowsOfSeveralDimensions) {
  uint32_t kind = 0;
  made.work = [&](const lk_operator_node *, const Shapes *, Work *out, lk_error *) {
    out->work.kind = kind;
    out->work.roles = 1u << LK_ROLE_SRC | 1u << LK_ROLE_DST;
    out->work.axes = 6;
    return LK_OK;
  };
  add();
  const int64_t outer = 2, n = 6, inner = 5;
  const Value x = lk::random({outer, 2, 3, inner}, 1);
  const std::vector<float> from = x.as<float>();
  std::vector<float> powers(from.size()), logs = powers, largest = powers;
  for (int64_t i = 0; i < outer * inner; i++) {
    const auto at = [&](int64_t k) { return size_t((i / inner * n + k) * inner + i % inner); };
    double sum = 0;
    size_t most = at(0);
    for (int64_t k = 0; k < n; k++) sum += std::exp(double(from[at(k)]));
    for (int64_t k = 1; k < n; k++) most = from[at(k)] > from[most] ? at(k) : most;
    for (int64_t k = 0; k < n; k++) logs[at(k)] = float(double(from[at(k)]) - std::log(sum));
    for (int64_t k = 0; k < n; k++) powers[at(k)] = std::exp(logs[at(k)]);
    largest[most] = 1;
  }
  const struct {
    uint32_t kind;
    const std::vector<float> *wanted;
  } all[] = {{LK_WORK_SOFTMAX, &powers}, {LK_WORK_LOG_SOFTMAX, &logs}, {LK_WORK_HARDMAX, &largest}};
  for (const auto &each : all) {
    kind = each.kind;
    for (const lk_layout layout : {LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST}) {
      lk::TestNode named = node();
      named.name = std::to_string(kind);
      create(named);
      EXPECT_TRUE(lk::all_close(*each.wanted, run({x}, layout).as<float>())) << kind;
    }
  }
}

lk_status product_shape(const lk_operator_node *n, Shapes *out, lk_error *) {
  out->outputs[0].rank = 2;
  out->outputs[0].dims[0] = n->inputs[0].desc.dims[0];
  out->outputs[0].dims[1] = n->inputs[1].desc.dims[1];
  return LK_OK;
}

lk_status product(const lk_operator_node *, const Shapes *, Work *out, lk_error *) {
  out->work.kind = LK_WORK_PRODUCT;
  out->work.roles = 1u << LK_ROLE_SRC | 1u << LK_ROLE_WEIGHTS | 1u << LK_ROLE_DST;
  out->inputs[LK_ROLE_WEIGHTS] = 1;
  return LK_OK;
}

TEST_F(HostOperator, IsComputedByWhateverEngine) {
  lk::PlainEngine engine;
  const lk_engine table = engine.table();
  LK_ASSERT_OK(api()->engine_register(context, &table, LK_ENGINE_CHOOSE, LK_ERR));
  made.infer = product_shape;
  made.work = product;
  add();
  lk::TestNode n = node(2);
  n.constants = {lk::random({3, 5}, 2)};
  create(n);
  const Value x = lk::random({4, 3}, 1);
  EXPECT_TRUE(lk::all_close(lk::ref::matmul(x, n.constants[0]), run({x, lk::floats({0}, {})})));
  EXPECT_EQ(engine.builds, 1);
  n.name = "z";
  create(n);
  EXPECT_TRUE(lk::all_close(lk::ref::matmul(x, n.constants[0]), run({x, lk::floats({0}, {})})));
  EXPECT_EQ(engine.builds, 1) << "an equal work is found by its key";
  op = Op();
  executor = lk::Executor();
  context = lk::Context(); // before the engine
}

TEST_F(HostOperator, SaysWhatItsProductComputes) {
  made.infer = product_shape;
  made.work = product;
  add();
  create(node(2));
  Plan plan;
  lk_step_info step = {};
  step.struct_size = sizeof step;
  LK_ASSERT_OK(bind(&plan, {desc_of(LK_F32, {4, 3}), desc_of(LK_F32, {3, 5})}));
  LK_ASSERT_OK(api()->plan_step(plan, 0, &step, LK_ERR));
  EXPECT_EQ(step.flops, 2.0 * 4 * 3 * 5);
  EXPECT_EQ(host_plan_info(plan).flops, 2.0 * 4 * 3 * 5);
}

TEST_F(HostOperator, MultipliesNothing) {
  made.infer = product_shape;
  made.work = product;
  add();
  create(node(2));
  EXPECT_EQ(run({lk::floats({2, 0}, {}), lk::floats({0, 2}, {})}).as<float>(),
            (std::vector<float>(4, 0)));
}

// All that a work may say can be planned and run, in each type.
TEST_F(HostOperator, HasAllFunctionsOfNumbers) {
  std::vector<uint32_t> kinds;
#define LK_TEST_KIND(symbol, value, name) kinds.push_back(symbol);
  LK_POST_OP_LIST(LK_TEST_KIND)
  LK_FUNCTION_LIST(LK_TEST_KIND)
#undef LK_TEST_KIND
  uint32_t kind = 0, operand = 0;
  made.work = [&](const lk_operator_node *, const Shapes *, Work *out, lk_error *) {
    out->work.kind = LK_WORK_ELEMENT;
    out->work.roles = 1u << LK_ROLE_SRC | 1u << LK_ROLE_DST;
    out->work.n_post_ops = 1;
    out->work.post_ops[0] = {kind, operand, 2, 3};
    if (operand != 0) out->work.roles |= 1u << operand;
    out->inputs[LK_ROLE_OPERAND] = 1;
    return LK_OK;
  };
  add();
  int planned = 0;
  for (const uint32_t dtype : {LK_F32, LK_F64, LK_F16, LK_BF16}) {
    for (const uint32_t each : kinds) {
      for (const uint32_t role : {uint32_t(0), uint32_t(LK_ROLE_OPERAND)}) {
        SCOPED_TRACE(std::to_string(each) + " of type " + std::to_string(dtype));
        kind = each;
        operand = role;
        lk::TestNode n = node(2);
        n.name = std::to_string(each) + "." + std::to_string(dtype) + "." + std::to_string(role);
        create(n);
        Plan plan;
        const lk_tensor_desc x = desc_of(dtype, {9});
        const lk_status status = bind(&plan, {x, x});
        if (status != LK_OK) {
          EXPECT_THAT(LK_MESSAGE, HasSubstr("'work' describes work 'element'"));
          continue;
        }
        planned++;
        std::vector<double> a(9, 1.0), b(9, 1.0), y(9);
        LK_EXPECT_OK(lk::run(executor, plan, {a.data(), b.data()}, y.data(), LK_ERR));
      }
    }
  }
  EXPECT_EQ(planned, 4 * 63); // types; 53 functions, 10 of which take an operand as well
}

TEST_F(HostOperator, IsNotTrustedWithWorks) {
  const struct {
    void (*say)(Work *out);
    const char *sentence;
  } bad[] = {
      {[](Work *w) { w->work.kind = 99; }, "a work of kind 99"},
      {[](Work *w) { w->work.kind = LK_WORK_ATTENTION; }, "a work of kind 15"},
      {[](Work *w) { w->work.roles = 0; }, "roles are 0x0, bit 0, LK_ROLE_SRC, must be there"},
      {[](Work *w) { w->work.roles = 1u << LK_ROLE_SRC; }, "bit 3, LK_ROLE_DST, must be there"},
      {[](Work *w) { w->work.roles |= 1u << LK_ROLE_BIAS; }, "LK_ROLE_BIAS, must not be there"},
      {[](Work *w) { w->work.roles |= 1u << LK_ROLE_OPERAND; },
       "bit 28, LK_ROLE_OPERAND + 0, must not be there: each function"},
      {[](Work *w) { w->work.roles |= 1u << LK_ROLE_LENGTHS; },
       "bit 18, role 18, must not be there"},
      {[](Work *w) { w->work.roles = 0xffffffff; }, "roles are 0xffffffff"},
      {[](Work *w) {
         w->work.kind = LK_WORK_LAYER_NORM;
         w->work.n_post_ops = 0;
         w->work.roles |= 1u << LK_ROLE_DEVIATION;
       },
       "bit 8, LK_ROLE_DEVIATION, must not be there"},
      {[](Work *w) {
         w->work.kind = LK_WORK_BATCH_NORM;
         w->work.n_post_ops = 0;
         w->work.roles |= 1u << LK_ROLE_SCALE | 1u << LK_ROLE_SHIFT | 1u << LK_ROLE_MEAN;
       },
       "bit 8, LK_ROLE_VARIANCE, must be there"},
      {[](Work *w) { w->inputs[LK_ROLE_SRC] = 2; }, "which the node does not have"},
      {[](Work *w) { w->inputs[LK_ROLE_SRC] = 0xffffffff; }, "which the node does not have"},
      {[](Work *w) { w->work.n_post_ops = 0; }, "it has no functions"},
      {[](Work *w) { w->work.n_post_ops = 0xffffffff; }, "it has 4294967295 post-ops"},
      {[](Work *w) { w->work.post_ops[0].kind = 0; }, "is of kind 0"},
      {[](Work *w) { w->work.post_ops[0].kind = 0xffffffff; }, "is of kind 4294967295"},
      {[](Work *w) { w->work.post_ops[0].kind = LK_FUNCTION_AND; }, "is of kind 107"},
      {[](Work *w) { w->work.post_ops[0].operand = LK_ROLE_DST; }, "roles"},
      {[](Work *w) { w->work.post_ops[0].alpha = NAN; }, "no NaN may be there"},
      {[](Work *w) { w->work.kind = LK_WORK_SOFTMAX; }, "1 post-ops, at most 0"},
      {[](Work *w) {
         w->work.kind = LK_WORK_SOFTMAX;
         w->work.n_post_ops = 0;
       },
       "axes are 0x0"},
      {[](Work *w) {
         w->work.kind = LK_WORK_SOFTMAX;
         w->work.n_post_ops = 0;
         w->work.axes = 4;
       },
       "axes are 0x4"},
      {[](Work *w) {
         w->work.kind = LK_WORK_SOFTMAX;
         w->work.n_post_ops = 0;
         w->work.axes = 1;
         w->inputs[LK_ROLE_SRC] = 1;
       },
       "inputs[LK_ROLE_SRC] is 1, 0 is required"},
      {[](Work *w) {
         w->work.kind = LK_WORK_LAYER_NORM;
         w->work.n_post_ops = 0;
         w->work.axes = 1;
       },
       "the last dimensions"},
      {[](Work *w) {
         w->work.kind = LK_WORK_LAYER_NORM;
         w->work.n_post_ops = 0;
         w->work.axes = 2;
         w->work.epsilon = -1;
       },
       "epsilon is -1"},
      {[](Work *w) {
         w->work.kind = LK_WORK_PRODUCT;
         w->work.n_post_ops = 0;
         w->work.roles |= 1u << LK_ROLE_WEIGHTS;
         w->inputs[LK_ROLE_WEIGHTS] = 1;
         w->work.orders[1].swaps = 2;
       },
       "orders[1] has 2"},
      {[](Work *w) {
         w->work.kind = LK_WORK_PRODUCT;
         w->work.n_post_ops = 0;
         w->work.roles |= 1u << LK_ROLE_WEIGHTS;
         w->inputs[LK_ROLE_WEIGHTS] = 1;
       },
       "the product is"},
  };
  size_t which = 0;
  made.work = [&](const lk_operator_node *n, const Shapes *shapes, Work *out, lk_error *error) {
    const lk_operator_node one = {n->struct_size, 1, 1, 1, 0, n->inputs, nullptr};
    (void)relu_times(&one, shapes, out, error);
    bad[which].say(out);
    return LK_OK;
  };
  add();
  create(node(2));
  for (; which < std::size(bad); which++) {
    SCOPED_TRACE(bad[which].sentence);
    Plan plan;
    LK_EXPECT_STATUS(LK_INTERNAL, bind(&plan, {desc_of(LK_F32, {2, 3}), desc_of(LK_F32, {3, 2})}));
    EXPECT_EQ(plan.get(), nullptr);
    EXPECT_THAT(LK_MESSAGE, HasSubstr(bad[which].sentence));
    EXPECT_THAT(LK_MESSAGE, HasSubstr("failed to bind Scaled 'y'"));
  }
}

// Whatever a work says: either it is refused, or it reads and writes its tensors and nothing else.
TEST(HostOperatorWork, IsSafeWhateverItSays) {
  std::mt19937 random(7);
  const auto below = [&](uint32_t n) { return uint32_t(random() % n); };
  const lk::Context context = lk::open(LK_CACHE_OFF, 1);
  MadeOperator made;
  lk::Dims out_dims;
  made.infer = [&](const lk_operator_node *, Shapes *out, lk_error *) {
    out->outputs[0].rank = uint32_t(out_dims.size());
    std::copy(out_dims.begin(), out_dims.end(), out->outputs[0].dims);
    return LK_OK;
  };
  made.work = [&](const lk_operator_node *, const Shapes *, Work *out, lk_error *) {
    static const uint32_t kinds[] = {LK_WORK_ELEMENT,    LK_WORK_SOFTMAX, LK_WORK_LOG_SOFTMAX,
                                     LK_WORK_LAYER_NORM, LK_WORK_PRODUCT, LK_WORK_HARDMAX};
    lk_work *work = &out->work;
    work->kind = below(50) == 0 ? below(20) : kinds[below(6)];
    work->roles = 1u << LK_ROLE_SRC | 1u << LK_ROLE_DST;
    if (work->kind == LK_WORK_PRODUCT) work->roles |= 1u << LK_ROLE_WEIGHTS;
    if (work->kind == LK_WORK_LAYER_NORM) work->roles |= below(4) << LK_ROLE_SCALE;
    out->inputs[LK_ROLE_WEIGHTS] = 1;
    out->inputs[LK_ROLE_SCALE] = 1;
    out->inputs[LK_ROLE_SHIFT] = 2;
    for (int i = 0; i < 2; i++) {
      work->orders[i] = {uint16_t(below(2)), uint16_t(below(6) == 0)};
    }
    work->axes = below(8);
    work->is_centered = below(2);
    work->n_post_ops = work->kind == LK_WORK_ELEMENT ? below(LK_WORK_POST_OPS + 1) : 0;
    uint32_t operands = 0;
    for (uint32_t i = 0; i < work->n_post_ops; i++) {
      lk_work_post_op *of = &work->post_ops[i];
      of->kind = below(2) != 0 ? 1 + below(17) : 64 + below(48);
      of->alpha = float(below(5)) - 2;
      of->beta = float(below(5)) - 2;
      const bool has_two = LK_POST_OP_IS_BINARY(of->kind) || of->kind >= LK_FUNCTION_MIN;
      if (!has_two || operands == LK_WORK_OPERANDS || below(2) == 0) continue;
      of->operand = LK_ROLE_OPERAND + operands++;
      work->roles |= 1u << of->operand;
      out->inputs[of->operand] = below(3);
    }
    if (below(20) == 0) work->roles ^= 1u << below(32);
    if (below(20) == 0) out->inputs[below(LK_ROLES)] = below(5);
    return LK_OK;
  };
  lk_operator table = made.table();
  table.max_inputs = 3;
  LK_ASSERT_OK(api()->op_register(context, &table, LK_ERR));
  const lk::Executor executor = lk::executor_in(context);
  lk::TestNode n;
  n.op = "Scaled";
  n.domain = "com.example";
  n.opset = 1;
  n.n_inputs = 3;
  Op op;
  LK_ASSERT_OK(n.create(executor, &op, LK_ERR));
  int runs = 0;
  for (int i = 0; i < 20000; i++) {
    static const uint32_t dtypes[] = {LK_F32, LK_F32, LK_F64, LK_F16, LK_BF16};
    const uint32_t dtype = dtypes[below(5)];
    std::vector<lk::Dims> dims(3, lk::Dims(below(4)));
    for (int64_t &each : dims[0]) each = below(12) == 0 ? 0 : 1 + below(3);
    dims[1] = dims[2] = out_dims = dims[0];
    for (size_t other = 1; other < 3; other++) {
      for (int64_t &each : dims[other]) each = below(3) == 0 ? 1 : each;
      if (below(4) == 0 && !dims[other].empty()) dims[other].erase(dims[other].begin());
    }
    if (below(10) == 0 && !out_dims.empty()) out_dims[below(uint32_t(out_dims.size()))] = below(4);
    std::vector<lk_tensor_desc> descs;
    std::vector<std::vector<uint8_t>> memories;
    std::vector<void *> pointers;
    for (const lk::Dims &each : dims) {
      descs.push_back(desc_of(dtype, each));
      memories.emplace_back(size_t(lk::count_of(each)) * lk::dtype_bytes(dtype));
      pointers.push_back(memories.back().data());
    }
    Plan plan;
    if (lk::bind(op, descs, &plan, LK_ERR, -1, LK_LAYOUT_PLAIN) != LK_OK) {
      EXPECT_THAT(LK_MESSAGE, HasSubstr("failed to bind Scaled 'y'"));
      continue;
    }
    const lk::Memory y(size_t(lk::count_of(out_dims)) * lk::dtype_bytes(dtype));
    LK_ASSERT_OK(lk::run(executor, plan, pointers, y.data(), LK_ERR));
    runs++;
  }
  EXPECT_GT(runs, 4000);
  EXPECT_GT(20000 - runs, 4000);
}

TEST_F(HostOperator, HasTensorsThatFitTheirWork) {
  made.work = [](const lk_operator_node *n, const Shapes *shapes, Work *out, lk_error *error) {
    return relu_times(n, shapes, out, error);
  };
  lk_operator table = made.table();
  table.input_types = "TU";
  table.max_outputs = 2;
  add(table);
  create(node(2));
  Plan plan;
  LK_EXPECT_STATUS(LK_INTERNAL, bind(&plan, {desc_of(LK_F32, {2}), desc_of(LK_F32, {3})}));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("to which it must broadcast"));
  LK_EXPECT_STATUS(LK_INTERNAL, bind(&plan, {desc_of(LK_F32, {2}), desc_of(LK_F64, {2})}));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("input 1 is of type f64 and the output of f32"));
  made.infer = [](const lk_operator_node *, Shapes *out, lk_error *) {
    for (int i = 0; i < 2; i++) out->outputs[i].rank = 0;
    return LK_OK;
  };
  lk::TestNode two = node(1);
  two.n_outputs = 2;
  create(two);
  lk_tensor input = {desc_of(LK_F32, {}), nullptr};
  lk_bind_desc desc = host_bind(&input, 1);
  desc.n_outputs = 2;
  LK_EXPECT_STATUS(LK_INTERNAL, lk::bind(op, desc, &plan, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("the node has 2 outputs, a work has one"));
}

// ---- registering ----

TEST_F(HostOperator, RegistersWhatIsWhole) {
  static const lk_op_attr nameless = {};
  static lk_op_attr graph = {};
  graph.name = "body";
  graph.type = LK_ATTR_GRAPH;
  static lk_op_attr early = graph, late = graph, flags = graph;
  early.type = late.type = flags.type = LK_ATTR_INTS;
  early.since = INT32_MIN;
  late.until = -1;
  flags.texts = "0|1";
  flags.is_list = 1;
  static const std::string long_name(61, 'a');
  const struct {
    void (*break_it)(lk_operator *table);
    const char *sentence;
  } bad[] = {
      {[](lk_operator *o) { o->op_type = nullptr; }, "its name is 'NULL'"},
      {[](lk_operator *o) { o->op_type = ""; }, "its name is ''"},
      {[](lk_operator *o) { o->op_type = "a b"; }, "letters, digits"},
      {[](lk_operator *o) { o->op_type = long_name.c_str(); }, "1 to 60"},
      {[](lk_operator *o) { o->domain = "com;example"; }, "letters, digits"},
      {[](lk_operator *o) { o->domain = "latchkey"; }, "the domain is the library's"},
      {[](lk_operator *o) {
         o->domain = "ai.onnx";
         o->op_type = "Relu";
       },
       "the library has it"},
      {[](lk_operator *o) {
         o->domain = nullptr;
         o->op_type = "Softmax";
       },
       "the library has it"},
      {[](lk_operator *o) {
         o->domain = "com.microsoft";
         o->op_type = "QuickGelu";
       },
       "the library has it"},
      {[](lk_operator *o) { o->since = 0; }, "since opset 0"},
      {[](lk_operator *o) {
         o->domain = "";
         o->since = LK_MAX_OPSET + 1;
       },
       "1 to 28 is allowed"},
      {[](lk_operator *o) { o->flags = 4; }, "flags are 0x4"},
      {[](lk_operator *o) { o->infer = nullptr; }, "infer is NULL"},
      {[](lk_operator *o) { o->run = nullptr; }, "work and run"},
      {[](lk_operator *o) {
         o->work = [](void *, const lk_operator_node *, const lk_operator_shapes *, Work *,
                      lk_error *) { return LK_OK; };
       },
       "work and run"},
      {[](lk_operator *o) { o->min_inputs = 3; }, "3 to 2 inputs"},
      {[](lk_operator *o) { o->max_inputs = 65; }, "at most 64"},
      {[](lk_operator *o) { o->max_outputs = 0; }, "an output is required"},
      {[](lk_operator *o) { o->input_types = nullptr; }, "letters from T to W"},
      {[](lk_operator *o) { o->input_types = "X"; }, "letters from T to W"},
      {[](lk_operator *o) { o->output_types = ""; }, "letters from T to W"},
      {[](lk_operator *o) { o->types[3] = 1u << 8; }, "types[3] has bit 8"},
      {[](lk_operator *o) { o->shape_inputs = 4; }, "shape_inputs is 0x4 and max_inputs 2"},
      {[](lk_operator *o) { o->attrs = nullptr; }, "at NULL"},
      {[](lk_operator *o) { o->n_attrs = 257; }, "257 attributes"},
      {[](lk_operator *o) { o->attrs = &nameless; }, "an attribute has no name"},
      {[](lk_operator *o) { o->attrs = &graph; }, "attribute body: its type must be"},
      {[](lk_operator *o) { o->attrs = &early; }, "since and until must be opsets"},
      {[](lk_operator *o) { o->attrs = &late; }, "since and until must be opsets"},
      {[](lk_operator *o) { o->attrs = &flags; }, "must be no list"},
      {[](lk_operator *o) { o->struct_size = 0; }, "struct_size"},
  };
  for (const auto &each : bad) {
    SCOPED_TRACE(each.sentence);
    lk_operator table = made.table();
    each.break_it(&table);
    LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, refuse(table));
    EXPECT_THAT(LK_MESSAGE, HasSubstr(each.sentence));
  }
  add();
  EXPECT_EQ(made.closed, 0);
}

TEST_F(HostOperator, RegistersBeforeExecutors) {
  add();
  LK_EXPECT_STATUS(LK_BUSY, refuse(made.table("Late")));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("register before the first"));
}

TEST_F(HostOperator, RegistersSoMany) {
  for (int i = 0; i < 256; i++) {
    const std::string name = "Number" + std::to_string(i);
    lk_operator table = made.table(name.c_str());
    table.close = nullptr;
    LK_ASSERT_OK(refuse(table));
  }
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, refuse(made.table()));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("the context has 256"));
}

TEST_F(HostOperator, HasVersions) {
  MadeOperator third;
  lk_operator table = third.table();
  table.since = 3;
  table.max_inputs = 1;
  table.summary = "the third";
  LK_ASSERT_OK(refuse(table));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, refuse(table));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("there is one since opset 3 already"));
  lk_operator second = made.table();
  second.since = 2;
  add(second);
  const auto find = [&](int32_t opset) {
    return api()->op_find_in(context, "Scaled", "com.example", opset);
  };
  EXPECT_EQ(find(1), nullptr);
  EXPECT_EQ(find(2)->max_inputs, 2u);
  EXPECT_EQ(find(3)->max_inputs, 1u);
  EXPECT_STREQ(find(1000)->summary, "the third");
  EXPECT_EQ(find(2)->n_attrs, 1u);
  EXPECT_EQ(api()->op_find("Scaled", "com.example", 3), nullptr) << "of the library";
  EXPECT_EQ(api()->op_find_in(context, "Relu", "", 13), api()->op_find("Relu", "", 13));
  lk::TestNode n = node(2);
  LK_EXPECT_STATUS(LK_UNSUPPORTED, n.create(executor, &op, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("it is registered for opset 2 and later ones"));
  n.opset = 2;
  create(n);
  n.opset = 3;
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, n.create(executor, &op, LK_ERR));
  n.domain = "com.other";
  LK_EXPECT_STATUS(LK_UNSUPPORTED, n.create(executor, &op, LK_ERR));
  n.domain = "com.example";
  n.n_inputs = 1;
  n.ints = {{"b", {1}}};
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, n.create(executor, &op, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("it has no attribute 'b'"));
  op = Op();
  executor = lk::Executor();
  context = lk::Context();
  EXPECT_EQ(third.closed, 1);
}

TEST_F(HostOperator, MayBeOneOfOnnxThatTheLibraryLacks) {
  add(made.table("TfIdfVectorizer", nullptr));
  EXPECT_NE(api()->op_find_in(context, "TfIdfVectorizer", "ai.onnx", 9), nullptr);
}

// ---- without memory ----

lk_status do_all(const lk::FailingAllocator &allocator, MadeOperator *made) {
  lk::Context context;
  lk::Executor executor;
  Op op;
  Plan plan;
  lk::TestNode n;
  n.op = "Scaled";
  n.domain = "com.example";
  n.opset = 1;
  n.floats = {{"a", {2}}};
  const lk_operator table = made->table();
  lk_status status =
      host_context_create(LK_CACHE_SHARED, 1, allocator.get(), context.out(), LK_ERR);
  if (status == LK_OK) status = api()->op_register(context, &table, LK_ERR);
  if (status == LK_OK) status = api()->executor_create(context, "e", executor.out(), LK_ERR);
  if (status == LK_OK) status = n.create(executor, &op, LK_ERR);
  if (status == LK_OK) {
    status = lk::bind(op, {desc_of(LK_F32, {2, 3, 4, 5}, LK_LAYOUT_CHANNELS_LAST)}, &plan, LK_ERR);
  }
  std::vector<float> x(120, 1), y(120);
  if (status == LK_OK) status = lk::run(executor, plan, {x.data()}, y.data(), LK_ERR);
  if (status == LK_OK) {
    EXPECT_EQ(y, std::vector<float>(120, 2));
  }
  return status;
}

TEST(HostOperatorFaults, EndCleanlyWhereverTheyStrike) {
  int told = 0;
  for (size_t n = 1;; n++) {
    SCOPED_TRACE("allocation " + std::to_string(n));
    ASSERT_LT(n, 10000u) << "does not come to an end";
    lk::FailingAllocator allocator;
    MadeOperator made;
    allocator.fail_at(n);
    const lk_status status = do_all(allocator, &made);
    if (status != LK_OK) {
      EXPECT_EQ(status, LK_OUT_OF_MEMORY) << LK_MESSAGE;
      told++;
    }
    lk::test_error().passed = false;
    ASSERT_EQ(allocator.live_blocks(), 0u);
    if (!allocator.failed()) break;
  }
  EXPECT_GT(told, 20);
}

} // namespace
