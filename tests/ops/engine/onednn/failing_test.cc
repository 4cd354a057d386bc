// Each call of oneDNN that the engine makes fails once: with a status and a sentence, or the node
// is native's. Then the same works, nothing is left, and whoever waited is told, too.
#include <dlfcn.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <thread>

#include "tests/harness/places.h"
#include "tests/harness/wait.h"
#include "tests/ops/engine/onednn/failing.h"
#include "tests/plugin/handles.h"

extern "C" {
#include "ops/kernel/isa.h"
}

namespace {

using lk::api;
using lk::Op;
using lk::Plan;
using lk::Value;

failing_calls &failing() {
  static failing_calls *const found = [] {
    void *module = dlopen("liblatchkey_onednn.so", RTLD_NOW | RTLD_LOCAL);
    void *symbol = module != nullptr ? dlsym(module, "failing") : nullptr;
    EXPECT_NE(symbol, nullptr) << "another module was found";
    return static_cast<failing_calls *>(symbol);
  }();
  return *found;
}

struct Node {
  lk::TestNode node;
  std::vector<Value> inputs;
};

// A convolution with all that one may have, and a product with weights of u8.
void add_bytes(std::vector<Node> *made) {
  const Value scale = lk::floats({}, {0.5f}), zero = lk::tensor<uint8_t>({}, {3});
  Node conv, product;
  conv.node.op = "QLinearConv";
  conv.node.opset = 10;
  conv.inputs = {lk::tensor<uint8_t>({1, 16, 8, 8}, std::vector<uint8_t>(1024, 5)),
                 scale,
                 zero,
                 lk::tensor<int8_t>({8, 16, 3, 3}, std::vector<int8_t>(1152, -2)),
                 scale,
                 lk::tensor<int8_t>({}, {0}),
                 lk::floats({}, {4}),
                 zero,
                 lk::tensor<int32_t>({8}, std::vector<int32_t>(8, 900))};
  conv.node.constants.assign(conv.inputs.begin() + 1, conv.inputs.end());
  product.node.op = "MatMulIntegerToFloat";
  product.node.domain = "com.microsoft";
  product.node.opset = 1;
  product.inputs = {lk::tensor<uint8_t>({5, 64}, std::vector<uint8_t>(320, 9)),
                    lk::tensor<uint8_t>({64, 48}, std::vector<uint8_t>(3072, 200)),
                    scale,
                    scale,
                    zero,
                    zero};
  product.node.constants.assign(product.inputs.begin() + 1, product.inputs.end());
  made->push_back(conv);
  made->push_back(product);
}

// One for each kind of primitive, and between them all calls of oneDNN.
std::vector<Node> nodes() {
  const auto value = [](const lk::Dims &dims) { return lk::random(dims, 7); };
  const Value image = value({1, 16, 8, 8});
  std::vector<Node> made(20);
  made[0].node.op = "Conv";
  made[0].inputs = {image, value({8, 16, 3, 3}), value({8}), value({1, 8, 6, 6})};
  made[0].node.constants = {made[0].inputs[1], made[0].inputs[2], made[0].inputs[3]};
  made[0].node.post_ops = {{LK_POST_ADD, 3, 0, 0}, {LK_POST_RELU, -1, 0, 0}};
  made[1].node.op = "ConvTranspose";
  made[1].inputs = {image, value({16, 4, 2, 2})};
  made[1].node.constants = {made[1].inputs[1]};
  made[2].node.op = "MatMul";
  made[2].inputs = {value({5, 64}), value({64, 48})};
  made[2].node.constants = {made[2].inputs[1]};
  made[3].node.op = "MatMul";
  made[3].inputs = {value({5, 64}), value({64, 48})};
  made[4].node.op = "Softmax";
  made[4].inputs = {value({4, 32})};
  made[5].node.op = "AveragePool";
  made[5].node.ints = {{"kernel_shape", {2, 2}}};
  made[5].inputs = {image};
  made[6].node.op = "LRN";
  made[6].node.ints = {{"size", {5}}};
  made[6].inputs = {image};
  made[7].node.op = "LayerNormalization";
  made[7].node.opset = 17;
  made[7].inputs = {value({4, 32}), value({32}), value({32})};
  made[8].node.op = "InstanceNormalization";
  made[8].inputs = {image, value({16}), value({16})};
  made[9].node.op = "Tanh";
  made[9].inputs = {value({5, 64})};
  made[10].node.op = "Add";
  made[10].inputs = {image, image};
  made[11].node.op = "ReduceMean";
  made[11].node.ints = {{"axes", {2, 3}}};
  made[11].inputs = {image};
  made[12].node.op = "Upsample";
  made[12].node.opset = 7;
  made[12].node.texts = {{"mode", "nearest"}};
  made[12].node.floats = {{"scales", {1, 1, 2, 2}}};
  made[12].inputs = {image};
  const struct {
    const char *op;
    int64_t gates, is_linear;
  } layers[] = {{"RNN", 1, 0}, {"GRU", 3, 1}, {"LSTM", 4, 0}};
  for (size_t i = 0; i < std::size(layers); i++) {
    Node &layer = made[13 + i];
    const int64_t all = 16 * layers[i].gates;
    layer.node.op = layers[i].op;
    layer.inputs = {value({3, 2, 8}), value({1, all, 8}), value({1, all, 16})};
    layer.node.constants = {layer.inputs[1], layer.inputs[2]};
    if (layers[i].is_linear != 0) layer.node.ints = {{"linear_before_reset", {1}}};
  }
  made[16].node.op = "Transpose";
  made[16].node.ints = {{"perm", {0, 2, 1}}};
  made[16].inputs = {value({4, 32, 16})};
  made[17].node.op = "Concat";
  made[17].node.ints = {{"axis", {1}}};
  made[17].inputs = {image, image};
  made[18].node.op = "BatchNormalization";
  made[18].inputs = {value({8, 16}), value({16}), value({16}), value({16}),
                     lk::random({16}, 8, 0.5F, 1)};
  made[19].node.op = "PRelu";
  made[19].inputs = {image, lk::random({16, 1, 1}, 9, 0.25F, 1)};
  made[19].node.constants = {made[19].inputs[1]};
  if (lk_isa_has_vnni()) add_bytes(&made);
  for (Node &each : made) each.node.n_inputs = uint32_t(each.inputs.size());
  return made;
}

// What was found out in one life, of a call that failed.
struct Seen {
  std::string call; // "": none was left to fail
  std::string step; // in which it was told; "": in none
  lk_status status = LK_OK;
  uint64_t left = 0; // works that were left to native
  uint64_t reorders = 0;
};

// A context from its beginning to its end, with one node.
class Life {
public:
  Life(const char *engine, const Node &node) : engine_(engine), node_(node) {}

  void live(Value *out) {
    lk::Context context;
    lk::Executor executor;
    Op op;
    Plan plan;
    lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
    options.engine = engine_;
    options.threads = 2;
    step("context_create",
         [&](lk_error *error) { return api()->context_create(&options, context.out(), error); });
    executor = lk::executor_in(context);
    step("op_create", [&](lk_error *error) { return node_.node.create(executor, &op, error); });
    std::vector<lk_tensor_desc> descs;
    for (const Value &input : node_.inputs) descs.push_back(input.desc);
    step("op_bind",
         [&](lk_error *error) { return lk::bind(op, descs, &plan, error, -1, LK_LAYOUT_PLAIN); });
    if (plan.get() == nullptr) return;
    seen.left = lk::stats(context).engine_left;
    seen.reorders = lk::stats(context).reorders;
    lk_tensor_desc of_output;
    uint64_t bytes = 0;
    LK_ASSERT_OK(api()->plan_output(plan, 0, &of_output, LK_ERR));
    LK_ASSERT_OK(api()->tensor_bytes(&of_output, &bytes, LK_ERR));
    lk::Memory to(bytes);
    std::vector<lk::Memory> memory;
    std::vector<void *> pointers;
    for (const Value &input : node_.inputs) memory.push_back(input.in(LK_LAYOUT_PLAIN));
    for (lk::Memory &each : memory) pointers.push_back(each.data());
    for (int i = 0; i < 2; i++) {
      memset(to.data(), 0xff, bytes); // NaN
      step("op_run",
           [&](lk_error *error) { return lk::run(executor, plan, pointers, to.data(), error); });
      *out = Value::from(of_output, to.data());
    }
  }

  Seen seen;

private:
  // A call that fails is made again, and works then.
  template <typename Call> void step(const char *name, Call call) {
    lk_error error = {};
    const lk_status status = call(&error);
    if (status == LK_OK) return;
    EXPECT_EQ(seen.step, "") << "one call has failed, and it was told before; now: "
                             << error.message;
    EXPECT_NE(failing().failed(), nullptr) << error.message;
    EXPECT_EQ(error.status, status);
    EXPECT_THAT(error.message, ::testing::HasSubstr("oneDNN"));
    seen.step = name;
    seen.status = status;
    lk_error again = {};
    EXPECT_EQ(call(&again), LK_OK) << again.message << "; at first: " << error.message;
  }

  const char *engine_;
  const Node &node_;
};

lk_status status_of(int given) {
  return given == dnnl_out_of_memory || given == FAILING_THROWS ? LK_OUT_OF_MEMORY
         : given == dnnl_unimplemented                          ? LK_UNSUPPORTED
                                                                : LK_INTERNAL;
}

bool makes_primitive(const std::string &call) {
  for (const char *part : {"_primitive_desc_create", "dnnl_primitive_create", "dnnl_post_ops",
                           "dnnl_primitive_attr", "dnnl_memory_desc_create"}) {
    if (call.find(part) != std::string::npos) return true;
  }
  return false;
}

// Where a primitive is described or created, what is not of memory says that oneDNN does not have
// the work: no failure, it is native's.
void expect_told(const Seen &seen, int given, uint64_t left_anyway) {
  SCOPED_TRACE(seen.call + " in " + (seen.step.empty() ? "no step" : seen.step));
  const bool says_nothing = seen.call == "dnnl_primitive_desc_query_md" && given != FAILING_THROWS;
  if (seen.step.empty()) {
    EXPECT_NE(status_of(given), LK_OUT_OF_MEMORY);
    EXPECT_TRUE(given == dnnl_unimplemented || makes_primitive(seen.call)) << seen.call;
    EXPECT_FALSE(says_nothing);
    // Changes of layout are not counted.
    EXPECT_TRUE(seen.left > left_anyway || left_anyway > 0 || seen.reorders > 0);
    return;
  }
  EXPECT_EQ(seen.status, says_nothing ? LK_INTERNAL : status_of(given));
  EXPECT_EQ(seen.left > 0, left_anyway > 0);
}

// Below AVX2 oneDNN has slow reference implementations of most works, which are left to native.
const bool kHasPrimitives = lk_isa_get() >= LK_ISA_AVX2;

TEST(Failing, EachCallOnceIsToldAndLeavesNothing) {
  std::set<std::string> calls;
  size_t points = 0, left_to_native = 0;
  for (const Node &node : nodes()) {
    SCOPED_TRACE(node.node.op);
    Value expected, out;
    Life("native", node).live(&expected);
    Life without("onednn", node);
    without.live(&out);
    EXPECT_TRUE(without.seen.left == 0 || !kHasPrimitives);
    for (const int status : {int(dnnl_out_of_memory), int(dnnl_runtime_error),
                             int(dnnl_unimplemented), int(FAILING_THROWS)}) {
      for (unsigned nth = 1;; nth++) {
        SCOPED_TRACE("call " + std::to_string(nth) + " with status " + std::to_string(status));
        const long alive = failing().alive();
        Life life("onednn", node);
        failing().arm(nth, status);
        life.live(&out);
        const char *call = failing().failed();
        failing().arm(0, dnnl_success);
        ASSERT_TRUE(lk::all_close(expected, out, {1e-5, 1e-5}));
        ASSERT_EQ(failing().alive(), alive);
        if (call == nullptr) {
          ASSERT_EQ(life.seen.left, without.seen.left);
          break;
        }
        life.seen.call = call;
        expect_told(life.seen, status, without.seen.left);
        if (HasFailure()) return;
        calls.insert(call);
        points++;
        left_to_native += life.seen.left > without.seen.left ? 1 : 0;
      }
    }
  }
  printf("%zu points, of which %zu were left to native\n", points, left_to_native);
  if (!kHasPrimitives) return;
  EXPECT_EQ(calls.size(), lk_isa_has_vnni() ? 44u : 42u)
      << "a call of failing.h is made for no node here";
  EXPECT_GT(left_to_native, 0u);
}

TEST(Failing, WhoWaitsIsToldToo) {
  static lk_context *waited_in;
  const Node node = nodes()[2];
  lk::Context context;
  lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
  options.engine = "onednn";
  LK_ASSERT_OK(api()->context_create(&options, context.out(), LK_ERR));
  waited_in = context;
  lk::Executor executor = lk::executor_in(context);
  const std::vector<lk_tensor_desc> descs = {node.inputs[0].desc, node.inputs[1].desc};
  lk::TestNode other = node.node;
  other.name = "z";
  Op ops[2];
  LK_ASSERT_OK(node.node.create(executor, &ops[0], LK_ERR));
  LK_ASSERT_OK(other.create(executor, &ops[1], LK_ERR));
  // The build fails when the other thread waits for it, whichever of them has begun it.
  failing().before = [] {
    lk::wait_until([] { return lk::stats(waited_in).kind[LK_KIND_VALUE].waits == 1; });
  };
  failing().arm(1, dnnl_out_of_memory);
  lk_status statuses[2] = {LK_OK, LK_OK};
  lk_error errors[2] = {};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; i++) {
    threads.emplace_back([&, i] {
      Plan plan;
      statuses[i] = lk::bind(ops[i], descs, &plan, &errors[i]);
    });
  }
  for (std::thread &thread : threads) thread.join();
  failing().before = nullptr;
  for (int i = 0; i < 2; i++) {
    EXPECT_EQ(statuses[i], LK_OUT_OF_MEMORY);
    EXPECT_THAT(errors[i].message, ::testing::HasSubstr("oneDNN is out of memory"));
  }
  for (Op &op : ops) {
    Plan plan;
    LK_EXPECT_OK(lk::bind(op, descs, &plan, LK_ERR));
  }
  EXPECT_EQ(lk::stats(context).kind[LK_KIND_VALUE].builds, 1u);
}

std::set<std::string> found_in(const std::string &path, const char *pattern) {
  std::ifstream file(std::string(lk_test_source) + "/" + path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_FALSE(text.empty()) << path;
  const std::regex name(pattern);
  std::set<std::string> names;
  for (std::sregex_iterator it(text.begin(), text.end(), name), end; it != end; ++it) {
    names.insert((*it)[1]);
  }
  return names;
}

TEST(Failing, KnowsAllCallsOfTheEngine) {
  const std::set<std::string> known =
      found_in("tests/ops/engine/onednn/failing.h", "#define (dnnl_[a-z_]+)[(]");
  std::set<std::string> called;
  for (const char *file :
       {"module.c", "value.c", "describe.c", "shapes.c", "bytes.c", "layout.c", "pool.cc",
        "recurrent.c", "recurrent_value.c", "reorder.c", "moves.c", "library.c"}) {
    called.merge(found_in(std::string("ops/engine/onednn/") + file, "(dnnl_[a-z_]+)[(]"));
  }
  EXPECT_EQ(known, called);
}

} // namespace
