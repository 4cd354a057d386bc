// A plan that is resized is the plan that is built: the same block of memory, byte for byte. Each
// operator that has `resize` is tried with random attributes, shapes, layouts, wishes and post-ops.
#include <map>
#include <random>

#include "tests/ops/plan/classes.h"
#include "tests/plugin/handles.h"

extern "C" {
#include "ops/plan/pattern.h"
#include "ops/plan/plan_build.h"
#include "plugin/internal.h"
}

namespace {

using lk::api;
using lk::Dims;
using lk::Op;
using lk::Value;

class Random {
public:
  explicit Random(unsigned seed) : random_(seed) {}
  int64_t between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  bool one_in(int64_t n) { return between(1, n) == 1; }

private:
  std::mt19937 random_;
};

// Two sizes of a tensor. What is 1 in one of them is 1 in both, mostly.
struct Shapes {
  Dims dims[2];
};

struct Input {
  Shapes shapes;
  uint32_t dtype = LK_F32;
  lk_layout layout = LK_LAYOUT_PLAIN;
  bool is_constant = false, is_absent = false;
};

struct Node {
  const lk_op_row *row = nullptr;
  int32_t opset = 13;
  std::vector<Input> inputs;
  std::vector<std::pair<std::string, Dims>> ints;
  std::vector<std::pair<std::string, std::string>> texts;
  std::vector<lk_post_op> post_ops;
  lk_layout wish = LK_LAYOUT_ANY;
  int32_t in_place = -1;
  uint32_t n_outputs = 1;
};

lk_layout any_layout(Random &random, size_t rank) {
  return rank >= 3 && random.one_in(2) ? LK_LAYOUT_CHANNELS_LAST : LK_LAYOUT_PLAIN;
}

// A dimension of both sizes.
void add_dim(Random &random, Shapes *shapes, int64_t most) {
  const bool is_one = random.one_in(4), differs = random.one_in(40);
  shapes->dims[0].push_back(is_one ? 1 : random.between(2, most));
  shapes->dims[1].push_back(is_one != differs ? 1 : random.between(2, most));
}

// Of an operand that is broadcast to `to`.
Shapes broadcast(Random &random, const Shapes &to, bool has_all) {
  const size_t rank = to.dims[0].size();
  const size_t skip = has_all || random.one_in(2) ? 0 : size_t(random.between(0, int64_t(rank)));
  Shapes made;
  for (size_t d = skip; d < rank; d++) {
    const bool keeps = has_all || !random.one_in(3);
    for (int size = 0; size < 2; size++) {
      made.dims[size].push_back(keeps ? to.dims[size][d] : 1);
    }
  }
  return made;
}

bool begins_with(const std::string &text, const char *start) {
  return text.rfind(start, 0) == 0;
}

// ---- nodes of each family -----------------------------------------------------------------------

void draw_window(Random &random, size_t rank, Node *node, Dims *kernel) {
  Dims strides, dilations, pads(2 * rank);
  for (size_t d = 0; d < rank; d++) {
    kernel->push_back(random.between(1, 3));
    strides.push_back(random.between(1, 2));
    dilations.push_back(random.one_in(4) ? 2 : 1);
    pads[d] = random.between(0, kernel->back() - 1);
    pads[rank + d] = random.between(0, kernel->back() - 1);
  }
  node->ints.insert(node->ints.end(), {{"strides", strides}, {"pads", pads}});
  if (node->row->op_type != std::string("AveragePool"))
    node->ints.push_back({"dilations", dilations});
}

Shapes draw_image(Random &random, size_t rank, int64_t channels) {
  Shapes made;
  add_dim(random, &made, 3);
  for (Dims &dims : made.dims) dims.push_back(channels);
  // large enough for any window, or 1
  for (size_t d = 0; d < rank; d++) {
    const bool is_one = random.one_in(8);
    for (Dims &dims : made.dims) dims.push_back(is_one ? 1 : random.between(5, 40));
  }
  return made;
}

Node draw_conv(Random &random, Node node) {
  const size_t rank = size_t(random.between(1, 3));
  const int64_t groups = random.one_in(2) ? 1 : random.between(2, 20);
  const int64_t in = random.one_in(2) ? 1 : random.between(2, 5);
  const int64_t out = in == 1 && !random.one_in(3) ? 1 : random.between(1, 20);
  Dims kernel;
  draw_window(random, rank, &node, &kernel);
  node.ints.push_back({"group", {groups}});
  Input x, w, bias;
  x.shapes = draw_image(random, rank, groups * in);
  x.layout = any_layout(random, 2 + rank);
  w.is_constant = !random.one_in(6);
  bias.is_constant = true;
  bias.is_absent = random.one_in(3);
  for (int size = 0; size < 2; size++) {
    w.shapes.dims[size] = {groups * out, in};
    w.shapes.dims[size].insert(w.shapes.dims[size].end(), kernel.begin(), kernel.end());
    bias.shapes.dims[size] = {groups * out};
  }
  node.inputs = {x, w, bias};
  if (node.row->op_type == std::string("FusedConv") && random.one_in(2)) {
    node.texts.push_back({"activation", "Relu"});
  }
  return node;
}

Node draw_pool(Random &random, Node node) {
  const size_t rank = size_t(random.between(1, 3));
  Input x;
  Dims kernel;
  if (!begins_with(node.row->op_type, "Global")) {
    draw_window(random, rank, &node, &kernel);
    node.ints.push_back({"kernel_shape", kernel});
  }
  x.shapes = draw_image(random, rank, random.between(1, 20));
  x.layout = any_layout(random, 2 + rank);
  node.inputs = {x};
  return node;
}

Node draw_reduce(Random &random, Node node) {
  const int64_t rank = random.between(1, 5);
  Input x;
  Dims axes;
  for (int64_t d = 0; d < rank; d++) {
    add_dim(random, &x.shapes, 20);
    if (random.one_in(2)) axes.push_back(d);
  }
  node.opset = 11; // where the axes are an attribute
  if (!axes.empty()) node.ints.push_back({"axes", axes});
  node.ints.push_back({"keepdims", {random.between(0, 1)}});
  x.layout = any_layout(random, size_t(rank));
  node.inputs = {x};
  return node;
}

Node draw_elements(Random &random, Node node) {
  Shapes all;
  const int64_t rank = random.between(1, 5);
  for (int64_t d = 0; d < rank; d++) add_dim(random, &all, 20);
  const auto whole = uint32_t(random.between(0, node.row->min_inputs - 1));
  for (uint32_t i = 0; i < node.row->min_inputs; i++) {
    Input input;
    input.shapes = broadcast(random, all, i == whole);
    input.layout = any_layout(random, input.shapes.dims[0].size());
    node.inputs.push_back(input);
  }
  if (node.row->op_type == std::string("Clip") && random.one_in(2)) {
    node.inputs.resize(3); // bounds of one number, known when run
    node.inputs[1].is_absent = random.one_in(3);
  }
  return node;
}

Node draw(Random &random, const lk_op_class *class_) {
  Node node;
  const std::string op = class_->row.op_type;
  node.row = &class_->row;
  if (op == "Conv" || op == "FusedConv") {
    node = draw_conv(random, node);
  } else if (op.find("Pool") != std::string::npos) {
    node = draw_pool(random, node);
  } else if (begins_with(op, "Reduce")) {
    node = draw_reduce(random, node);
  } else {
    node.opset = std::max(node.opset, class_->row.since);
    node = draw_elements(random, node);
  }
  const lk_layout wishes[] = {LK_LAYOUT_ANY, LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST};
  node.wish = wishes[random.between(0, node.inputs[0].shapes.dims[0].size() >= 3 ? 2 : 1)];
  // a type that all inputs may have
  uint64_t types = class_->row.types[0];
  if (types == 0) types = ~uint64_t{0};
  std::vector<uint32_t> allowed;
#define ALLOW(symbol, value, bytes, name)                                                          \
  if ((types >> (value)&1) != 0) allowed.push_back(value);
  LK_DTYPE_LIST(ALLOW)
#undef ALLOW
  const bool has_f32 = (types >> LK_F32 & 1) != 0;
  const uint32_t dtype = has_f32 && !random.one_in(4)
                             ? uint32_t(LK_F32)
                             : allowed[size_t(random.between(0, int64_t(allowed.size()) - 1))];
  for (Input &input : node.inputs) input.dtype = dtype;
  return node;
}

// ---- ops and plans ------------------------------------------------------------------------------

lk_status create(lk_executor *executor, const Node &node, Op *op, lk_error *error) {
  std::vector<lk_node_input> inputs(node.inputs.size());
  std::vector<lk_tensor> tensors(node.inputs.size());
  std::vector<std::vector<uint8_t>> data;
  std::vector<lk_attr> attrs;
  for (size_t i = 0; i < inputs.size(); i++) {
    const Input &from = node.inputs[i];
    if (from.is_absent) inputs[i].flags = LK_INPUT_ABSENT;
    if (from.is_absent || !from.is_constant) continue;
    tensors[i].desc = lk::desc_of(from.dtype, from.shapes.dims[0]);
    uint64_t bytes = 0;
    EXPECT_EQ(api()->tensor_bytes(&tensors[i].desc, &bytes, nullptr), LK_OK);
    data.emplace_back(bytes + 1);
    tensors[i].data = data.back().data();
    inputs[i] = {&tensors[i], LK_INPUT_COPY, 0};
  }
  for (const auto &a : node.ints) {
    attrs.push_back({a.first.c_str(), LK_ATTR_INTS, uint32_t(a.second.size()), a.second.data()});
  }
  for (const auto &a : node.texts) {
    attrs.push_back({a.first.c_str(), LK_ATTR_STRING, uint32_t(a.second.size()), a.second.data()});
  }
  lk_node_desc desc = host_node(node.row->op_type, inputs.data(), uint32_t(inputs.size()));
  desc.domain = node.row->domain;
  desc.opset = node.opset;
  desc.attrs = attrs.data();
  desc.n_attrs = uint32_t(attrs.size());
  desc.post_ops = node.post_ops.data();
  desc.n_post_ops = uint32_t(node.post_ops.size());
  desc.n_outputs = node.n_outputs;
  return api()->op_create(executor, &desc, op->out(), error);
}

std::vector<lk_tensor> tensors_of(const Node &node, int size) {
  std::vector<lk_tensor> made(node.inputs.size());
  for (size_t i = 0; i < made.size(); i++) {
    const Input &from = node.inputs[i];
    if (from.is_absent || from.is_constant) continue;
    made[i].desc = lk::desc_of(from.dtype, from.shapes.dims[size], from.layout);
  }
  return made;
}

// What memory that nobody has written to holds from now on: `byte` everywhere.
int poison_byte;
__attribute__((noinline)) void poison(int byte) {
  volatile unsigned char stack[1 << 16];
  for (volatile unsigned char &each : stack) each = uint8_t(byte);
  poison_byte = byte;
}

void *allocate(void *, size_t size, size_t alignment) {
  void *block = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (block != nullptr) std::memset(block, poison_byte, size);
  return block;
}
void release(void *, void *block) {
  std::free(block);
}
const lk_allocator poisoned = {nullptr, allocate, release};

struct Body {
  lk_plan_body *body = nullptr;
  Body() = default;
  Body(const Body &) = delete;
  ~Body() { lk_plan_body_destroy(body); }
};

lk_status build(const lk_op *op, const Node &node, int size, int byte, Body *out, lk_error *error) {
  const std::vector<lk_tensor> inputs = tensors_of(node, size);
  poison(byte);
  const lk_plan_request request = {inputs.data(), &node.wish, node.in_place, LK_PLAN_RUN,
                                   LK_ASKS_NATIVE};
  return lk_plan_build(&op->executor->context->env, &op->node, &request, &out->body, error);
}

// The block of a plan, with offsets for pointers into it, and without the count of its users.
std::vector<uint8_t> bytes_of(const lk_plan_body *body) {
  std::vector<uint8_t> block(body->bytes);
  std::memcpy(block.data(), body, body->bytes);
  auto *copy = reinterpret_cast<lk_plan_body *>(block.data());
  copy->refs = 0;
  auto *steps = const_cast<lk_step *>(lk_plan_steps(copy));
  for (uint32_t i = 0; i < body->n_steps; i++) {
    const auto at = uintptr_t(steps[i].params);
    if (at != 0) steps[i].params = reinterpret_cast<const void *>(at - uintptr_t(body));
  }
  return block;
}

// `again`: the plan that was built, on memory that held something else before. Where that shows,
// nobody has written, and nobody reads.
void expect_same(const lk_plan_body *resized, const lk_plan_body *built,
                 const lk_plan_body *again) {
  ASSERT_EQ(resized->n_steps, built->n_steps);
  EXPECT_EQ(lk_plan_steps(resized)->kernel, lk_plan_steps(built)->kernel);
  EXPECT_STREQ(lk_plan_steps(resized)->kind, lk_plan_steps(built)->kind);
  EXPECT_EQ(lk_plan_steps(resized)->flops, lk_plan_steps(built)->flops);
  EXPECT_EQ(lk_plan_steps(resized)->bytes, lk_plan_steps(built)->bytes);
  EXPECT_EQ(resized->flops, built->flops);
  EXPECT_EQ(resized->is_long, built->is_long);
  ASSERT_EQ(lk_plan_steps(resized)->params_size, lk_plan_steps(built)->params_size);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return; // variables lie where the sanitizer puts them: bytes that nobody writes differ
#endif
  const std::vector<uint8_t> a = bytes_of(resized), b = bytes_of(built), c = bytes_of(again);
  ASSERT_EQ(a.size(), b.size());
  ASSERT_EQ(c.size(), b.size());
  const auto params = size_t(uintptr_t(lk_plan_steps(built)->params) - uintptr_t(built));
  for (size_t i = 0; i < a.size(); i++) {
    if (b[i] != c[i]) continue;
    ASSERT_EQ(a[i], b[i]) << "byte " << i << " of " << a.size() << "; params begin at " << params;
  }
}

class Patterns : public ::testing::Test {
protected:
  // The output of the node, for both sizes; false: one of them is refused.
  bool find_output(const Node &node, Shapes *out) {
    Op op;
    if (create(executor, node, &op, nullptr) != LK_OK) return false;
    for (int size = 0; size < 2; size++) {
      Body body;
      if (build(op, node, size, 0, &body, nullptr) != LK_OK) return false;
      const lk_tensor_desc desc = lk_plan_body_output(body.body, 0);
      out->dims[size] = Dims(desc.dims, desc.dims + desc.rank);
    }
    return true;
  }

  // The node with a residual, post-ops and the input that is written over, where it takes such.
  bool add_ends(Random &random, Node *node) {
    Shapes output;
    const lk_op_row *row = node->row;
    if (!find_output(*node, &output)) return false;
    if (row->op_type == std::string("FusedConv") && random.one_in(2)) {
      Input residual;
      residual.shapes = output;
      residual.layout = any_layout(random, output.dims[0].size());
      node->inputs.push_back(residual);
    }
    const bool takes_post_ops =
        (row->flags & LK_OP_POST_OPS) != 0 && node->inputs[0].dtype == LK_F32;
    for (int64_t left = takes_post_ops ? random.between(0, 3) : 0; left > 0; left--) {
      static const lk_post_op_kind kinds[] = {LK_POST_RELU, LK_POST_CLIP, LK_POST_SIGMOID,
                                              LK_POST_ADD,  LK_POST_MUL,  LK_POST_SUB};
      lk_post_op post_op = {};
      post_op.kind = kinds[random.between(0, 5)];
      post_op.input = -1;
      if (post_op.kind == LK_POST_CLIP) post_op.alpha = -1, post_op.beta = 2;
      if (LK_POST_OP_IS_BINARY(post_op.kind)) {
        Input operand;
        operand.shapes = broadcast(random, output, random.one_in(2));
        operand.layout = any_layout(random, operand.shapes.dims[0].size());
        post_op.input = int32_t(node->inputs.size());
        node->inputs.push_back(operand);
      }
      node->post_ops.push_back(post_op);
    }
    const auto over = uint32_t(random.between(0, 2));
    if ((row->in_place_inputs >> over & 1) != 0 && over < node->inputs.size() &&
        node->inputs[over].shapes.dims[0] == output.dims[0] && random.one_in(2)) {
      node->in_place = int32_t(over);
    }
    return true;
  }

  // Whether a plan of the node, for its first size, can be resized at all.
  bool has_pattern(const Node &node) {
    Op op;
    Body body;
    lk_pattern *pattern = nullptr;
    LK_EXPECT_OK(create(executor, node, &op, LK_ERR));
    LK_EXPECT_OK(build(op, node, 0, 0, &body, LK_ERR));
    if (::testing::Test::HasFailure()) return false;
    const lk_op *own = op;
    const std::vector<lk_tensor> inputs = tensors_of(node, 0);
    LK_EXPECT_OK(
        lk_pattern_create(&own->node, body.body, inputs.data(), &node.wish, &pattern, LK_ERR));
    const bool found = pattern != nullptr;
    lk_pattern_destroy(pattern);
    return found;
  }

  // How often the node was resized: 0 or 1.
  int try_node(const Node &node) {
    Op op;
    Body first, built, again, resized;
    lk_error error = {};
    if (create(executor, node, &op, &error) != LK_OK) return 0;
    lk_pattern *pattern = nullptr;
    if (build(op, node, 0, 0, &first, &error) != LK_OK) return 0;
    const lk_op *own = op;
    std::vector<lk_tensor> inputs = tensors_of(node, 0);
    LK_EXPECT_OK(
        lk_pattern_create(&own->node, first.body, inputs.data(), &node.wish, &pattern, LK_ERR));
    if (pattern == nullptr) return 0;
    inputs = tensors_of(node, 1);
    poison(0x33);
    LK_EXPECT_OK(lk_pattern_resize(pattern, &own->node, inputs.data(), &node.wish, node.in_place,
                                   &resized.body, LK_ERR));
    if (resized.body != nullptr) {
      LK_EXPECT_OK(build(op, node, 1, 0x55, &built, LK_ERR));
      LK_EXPECT_OK(build(op, node, 1, 0xaa, &again, LK_ERR));
      if (built.body != nullptr && again.body != nullptr) {
        expect_same(resized.body, built.body, again.body);
      }
    }
    lk_pattern_destroy(pattern);
    return resized.body != nullptr ? 1 : 0;
  }

  void SetUp() override {
    LK_ASSERT_OK(host_context_create(LK_CACHE_SHARED, 1, &poisoned, context.out(), LK_ERR));
    LK_ASSERT_OK(api()->executor_create(context, "pattern", executor.out(), LK_ERR));
  }

  lk::Context context;
  lk::Executor executor;
};

TEST_F(Patterns, MakeTheBytesThatAreBuilt) {
  for (uint32_t row = 0; row < lk_n_op_classes; row++) {
    const lk_op_class *class_ = lk_op_classes[row];
    if (class_->resize == nullptr) continue;
    SCOPED_TRACE(class_->row.op_type);
    const bool is_conv = std::string(class_->row.op_type).find("Conv") != std::string::npos;
    int resized = 0;
    for (int seed = 0; seed < (is_conv ? 1000 : 100); seed++) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      Random random(unsigned(seed) * 1000 + row);
      Node node = draw(random, class_);
      if (!add_ends(random, &node)) continue;
      resized += try_node(node);
      if (HasFatalFailure() || HasNonfatalFailure()) return;
    }
    // its plans have several steps, or move nothing
    if (class_->row.op_type == std::string("ReduceLogSumExp")) continue;
    EXPECT_GE(resized, 10) << "nodes of a row with `resize` that were resized";
  }
}

// Whoever builds the plan says what is wrong.
TEST_F(Patterns, LeaveOperandsThatDoNotBroadcast) {
  for (const Dims &operand : {Dims{5, 1, 1}, Dims{2, 3, 1, 1}, Dims{3, 1, 1}}) {
    SCOPED_TRACE(::testing::PrintToString(operand));
    const bool fits = operand == Dims{3, 1, 1};
    Node relu;
    relu.row = &lk::class_of("Relu")->row;
    relu.inputs.resize(2);
    relu.inputs[0].shapes = {{{4, 3, 2, 2}, {5, 3, 2, 2}}};
    relu.inputs[1].shapes = {{operand.size() == 3 ? Dims{3, 1, 1} : Dims{4, 3, 1, 1}, operand}};
    relu.post_ops = {{LK_POST_ADD, 1, 0, 0}};
    relu.wish = LK_LAYOUT_PLAIN;
    EXPECT_TRUE(has_pattern(relu));
    EXPECT_EQ(try_node(relu), fits ? 1 : 0);
  }
}

TEST_F(Patterns, AreOfNodesWithOneOutputAndFewInputs) {
  Node add, pool;
  add.row = &lk::class_of("Add")->row;
  add.inputs.resize(2);
  for (Input &input : add.inputs) input.shapes.dims[0] = {4, 4};
  EXPECT_TRUE(has_pattern(add));
  for (int32_t operand = 2; operand < 13; operand++) {
    add.inputs.push_back(add.inputs[0]);
    if (operand < 4) add.post_ops.push_back({LK_POST_ADD, operand, 0, 0});
  }
  add.inputs.pop_back();
  EXPECT_TRUE(has_pattern(add)) << "of twelve inputs";
  add.inputs.push_back(add.inputs[0]);
  EXPECT_FALSE(has_pattern(add));
  pool.row = &lk::class_of("MaxPool")->row;
  pool.ints = {{"kernel_shape", {2, 2}}};
  pool.inputs.resize(1);
  pool.inputs[0].shapes.dims[0] = {1, 3, 6, 6};
  pool.wish = LK_LAYOUT_PLAIN;
  EXPECT_TRUE(has_pattern(pool));
  pool.n_outputs = 2;
  EXPECT_FALSE(has_pattern(pool)) << "with Indices";
}

} // namespace
