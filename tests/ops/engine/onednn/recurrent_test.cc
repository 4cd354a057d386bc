// Recurrent layers by the engine of oneDNN: what `native` computes, of every kind that oneDNN has;
// the others are left, and each says why.
#include <cmath>

#include "tests/ops/engine/host.h"

namespace {

using lk::api;
using lk::Dims;
using lk::kHasPrimitives;
using lk::Value;
using ::testing::HasSubstr;

struct Layer {
  std::string op = "LSTM";
  std::string direction = "forward";
  int64_t steps = 5, batch = 2, width = 4, hidden = 6;
  bool is_batch_first = false, is_linear = false, couples = false, has_constants = true;
  bool has_bias = true, has_lengths = false, has_state = false, has_cell = false,
       has_peepholes = false;
  bool recurs = false; // the size does
  float clip = 0;      // 0: none
  std::vector<const char *> activations;
  uint32_t n_outputs = 1;
  unsigned seed = 1;
  float most = 1;                // of numbers
  std::vector<float> x, weights; // else random ones

  int64_t gates() const { return op == "RNN" ? 1 : op == "GRU" ? 3 : 4; }
  int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }

  Value random(const Dims &dims, unsigned which) const {
    return lk::random(dims, seed * 16 + which, -most, most);
  }
  // By input: those that are not there have no dimensions.
  std::vector<Value> inputs() const {
    const int64_t d = directions(), all = gates() * hidden;
    const Dims state = is_batch_first ? Dims{batch, d, hidden} : Dims{d, batch, hidden};
    const Dims of_x = is_batch_first ? Dims{batch, steps, width} : Dims{steps, batch, width};
    std::vector<Value> made(op == "LSTM" ? 8 : 6);
    made[0] = x.empty() ? random(of_x, 0) : lk::tensor<float>(of_x, x);
    made[1] =
        weights.empty() ? random({d, all, width}, 1) : lk::tensor<float>({d, all, width}, weights);
    made[2] = random({d, all, hidden}, 2);
    if (has_bias) made[3] = random({d, 2 * all}, 3);
    if (has_lengths) {
      made[4] = lk::tensor<int32_t>({batch}, std::vector<int32_t>(size_t(batch), int32_t(steps)));
    }
    if (has_state) made[5] = random(state, 5);
    if (has_cell) made[6] = random(state, 6);
    if (has_peepholes) made[7] = random({d, 3 * hidden}, 7);
    return made;
  }
};

bool is_there(const Value &input) {
  return !input.bytes.empty();
}

class Layers {
public:
  explicit Layers(const char *engine, int threads = 2)
      : context(lk::open_with(engine, threads)), executor(lk::executor_in(context)) {}

  void run(const Layer &layer, std::vector<Value> *out) {
    const std::vector<Value> values = layer.inputs();
    lk::Op op;
    lk::Plan plan;
    create(layer, values, &op);
    if (::testing::Test::HasFatalFailure()) return;
    std::vector<lk_tensor> tensors;
    for (const Value &value : values) tensors.push_back({value.desc, nullptr});
    std::vector<lk_layout> wishes(layer.n_outputs, LK_LAYOUT_ANY);
    lk_bind_desc desc = host_bind(tensors.data(), uint32_t(tensors.size()));
    desc.wishes = wishes.data();
    desc.n_outputs = layer.n_outputs;
    if (layer.recurs) desc.flags = LK_BIND_RECURS;
    LK_ASSERT_OK(lk::bind(op, desc, &plan, LK_ERR));
    std::vector<lk::Memory> memory, results;
    std::vector<void *> from, to;
    for (const Value &value : values) memory.push_back(value.in(LK_LAYOUT_PLAIN));
    for (lk::Memory &each : memory) from.push_back(each.data());
    std::vector<lk_tensor_desc> descs(layer.n_outputs);
    for (uint32_t i = 0; i < layer.n_outputs; i++) {
      uint64_t bytes = 0;
      LK_ASSERT_OK(api()->plan_output(plan, i, &descs[i], LK_ERR));
      LK_ASSERT_OK(api()->tensor_bytes(&descs[i], &bytes, LK_ERR));
      results.emplace_back(bytes);
    }
    for (lk::Memory &each : results) to.push_back(each.data());
    LK_ASSERT_OK(host_run(executor, plan, from.data(), to.data(), LK_ERR));
    out->clear();
    for (uint32_t i = 0; i < layer.n_outputs; i++) out->push_back(Value::from(descs[i], to[i]));
  }
  lk_stats stats() const { return lk::stats(context); }
  std::string reason() const { // the last one
    std::string text;
    lk_engine_left_info info = {};
    info.struct_size = sizeof info;
    for (uint32_t i = 0; api()->engine_left(context, i, &info, nullptr) == LK_OK; i++) {
      text = info.reason;
    }
    return text;
  }

  lk::Context context;
  lk::Executor executor;

private:
  void create(const Layer &layer, const std::vector<Value> &values, lk::Op *op) {
    std::vector<lk_node_input> inputs(values.size());
    std::vector<lk_tensor> constants;
    for (const Value &value : values) {
      constants.push_back({value.desc, const_cast<uint8_t *>(value.bytes.data())});
    }
    for (size_t i = 0; i < values.size(); i++) {
      if (!is_there(values[i])) {
        inputs[i].flags = LK_INPUT_ABSENT;
      } else if (layer.has_constants && i > 0 && i < 4) {
        inputs[i] = {&constants[i], LK_INPUT_COPY, 0};
      }
    }
    const int64_t is_first = layer.is_batch_first ? 1 : 0, flag = 1;
    std::vector<lk_attr> attrs = {
        {"direction", LK_ATTR_STRING, uint32_t(layer.direction.size()), layer.direction.data()},
        {"layout", LK_ATTR_INTS, 1, &is_first}};
    if (layer.is_linear) attrs.push_back({"linear_before_reset", LK_ATTR_INTS, 1, &flag});
    if (layer.couples) attrs.push_back({"input_forget", LK_ATTR_INTS, 1, &flag});
    if (layer.clip > 0) attrs.push_back({"clip", LK_ATTR_FLOATS, 1, &layer.clip});
    if (!layer.activations.empty()) {
      attrs.push_back({"activations", LK_ATTR_STRINGS, uint32_t(layer.activations.size()),
                       layer.activations.data()});
    }
    lk_node_desc desc = host_node(layer.op.c_str(), inputs.data(), uint32_t(inputs.size()));
    desc.output_name = "y";
    desc.opset = 14;
    desc.n_outputs = layer.n_outputs;
    desc.n_attrs = uint32_t(attrs.size());
    desc.attrs = attrs.data();
    LK_ASSERT_OK(api()->op_create(executor, &desc, op->out(), LK_ERR));
  }
};

class RandomLayers {
public:
  explicit RandomLayers(unsigned seed) : random_(seed) {}
  Layer any() {
    static const char *const ops[] = {"RNN", "GRU", "LSTM"};
    static const char *const directions[] = {"forward", "reverse", "bidirectional"};
    static const char *const functions[] = {"Tanh", "Sigmoid"};
    Layer made;
    made.op = ops[below(3)];
    made.direction = directions[below(3)];
    made.steps = 1 + below(9);
    made.batch = coin() ? 1 : 1 + below(6);
    made.width = 1 + below(coin() ? 8 : 90);
    made.hidden = 1 + below(coin() ? 8 : 90);
    made.is_batch_first = coin();
    made.is_linear = made.op == "GRU";
    made.has_bias = coin();
    made.has_state = coin();
    if (made.op == "LSTM") {
      made.has_cell = coin();
      made.has_peepholes = coin();
    }
    if (made.op == "RNN") {
      made.activations.assign(size_t(made.directions()), functions[below(2)]);
    }
    // So that a step does not make more of a rounding, as trained layers do not.
    made.most = 2 / std::sqrt(float(made.width + made.hidden));
    made.n_outputs = uint32_t(1 + below(made.op == "LSTM" ? 3 : 2));
    made.seed = unsigned(random_());
    return made;
  }

private:
  int64_t below(int64_t n) { return int64_t(random_() % uint64_t(n)); }
  bool coin() { return below(2) == 0; }
  std::mt19937 random_;
};

std::string text_of(const Layer &layer) {
  return layer.op + (layer.is_linear ? ", linear" : "") + ", " + layer.direction + ", steps " +
         std::to_string(layer.steps) + ", batch " + std::to_string(layer.batch) + ", width " +
         std::to_string(layer.width) + ", hidden " + std::to_string(layer.hidden) +
         (layer.is_batch_first ? ", batch first" : "") + (layer.has_bias ? ", bias" : "") +
         (layer.has_state ? ", state" : "") + (layer.has_cell ? ", cell" : "") +
         (layer.has_peepholes ? ", peepholes" : "") + ", outputs " +
         std::to_string(layer.n_outputs);
}

// Both compute the same.
void expect_same(Layers *native, Layers *onednn, const Layer &layer) {
  std::vector<Value> expected, computed;
  native->run(layer, &expected);
  onednn->run(layer, &computed);
  if (::testing::Test::HasFatalFailure()) return;
  for (size_t i = 0; i < expected.size(); i++) {
    ASSERT_TRUE(lk::all_close(expected[i], computed[i], {1e-5, 1e-5})) << "output " << i;
  }
}

TEST(Recurrent, ComputesWhatNativeComputes) {
  RandomLayers random(1);
  Layers native("native"), onednn("onednn");
  for (int i = 0; i < 600; i++) {
    const Layer layer = random.any();
    SCOPED_TRACE("case " + std::to_string(i) + ": " + text_of(layer));
    expect_same(&native, &onednn, layer);
    if (HasFatalFailure()) return;
  }
  if (kHasPrimitives) {
    EXPECT_GT(onednn.stats().engine_works, 450u);
    EXPECT_EQ(onednn.stats().engine_references, 0u); // none was built in vain
  }
}

// A reorder of oneDNN 3.14.1 writes blocks of the second direction elsewhere.
TEST(Recurrent, OfWholeBlocksHasBothDirections) {
  Layers native("native"), onednn("onednn");
  for (const char *op : {"LSTM", "GRU", "RNN"}) {
    for (const int64_t width : {6, 16, 64}) {
      for (const int64_t hidden : {32, 64, 96}) {
        Layer layer;
        layer.op = op;
        layer.direction = "bidirectional";
        layer.is_batch_first = true;
        layer.is_linear = layer.op == "GRU";
        layer.width = width;
        layer.hidden = hidden;
        layer.most = 2 / std::sqrt(float(width + hidden));
        SCOPED_TRACE(text_of(layer));
        expect_same(&native, &onednn, layer);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Recurrent, HasTheSameBitsOnAnyNumberOfThreadsThatRun) {
  RandomLayers random(2);
  Layers onednn("onednn", 4);
  for (int i = 0; i < 40; i++) {
    const Layer layer = random.any();
    std::vector<Value> first, second;
    onednn.run(layer, &first);
    lk_threads_ask ask = {};
    ask.struct_size = sizeof ask;
    ask.least = ask.most = 1;
    int32_t granted = 0;
    LK_ASSERT_OK(api()->threads_enter(onednn.context, &ask, &granted, LK_ERR));
    onednn.run(layer, &second);
    api()->threads_leave(onednn.context);
    if (HasFatalFailure()) return;
    for (size_t k = 0; k < first.size(); k++) {
      EXPECT_EQ(first[k].bytes, second[k].bytes) << text_of(layer);
    }
  }
}

// Cut into shares, since a run that is to end looks between them.
TEST(Recurrent, OfManyStepsComputesTheSameOnOneThread) {
  Layers native("native", 1), onednn("onednn", 1);
  Layer layer;
  layer.steps = 300;
  layer.width = layer.hidden = 160;
  layer.most = 0.0625F;
  for (const int64_t batch : {1, 3}) {
    layer.batch = batch;
    expect_same(&native, &onednn, layer);
    if (HasFatalFailure()) return;
  }
  if (kHasPrimitives) {
    EXPECT_EQ(onednn.stats().engine_works, 2u);
  }
}

// Cells that want one layout have gates in another order, and other numbers of them.
TEST(Recurrent, PacksOneContentForEachCell) {
  Layers native("native"), onednn("onednn");
  const std::vector<float> weights = lk::random({12 * 16 * 16}, 1).as<float>();
  for (const char *op : {"LSTM", "GRU", "RNN", "LSTM"}) {
    Layer layer;
    layer.op = op;
    layer.is_linear = layer.op == "GRU";
    layer.width = 16;
    layer.hidden = 12 * 16 / layer.gates();
    layer.weights = weights;
    layer.most = 0.125F;
    SCOPED_TRACE(op);
    expect_same(&native, &onednn, layer);
    if (HasFatalFailure()) return;
  }
}

TEST(Recurrent, LeavesWhatOnednnDoesNotHave) {
  struct {
    const char *reason;
    Layer layer;
  } cases[11];
  cases[0].reason = "weights come with a run";
  cases[0].layer.has_constants = false;
  cases[1].reason = "lengths of their own";
  cases[1].layer.has_lengths = true;
  cases[2].reason = "sums are clipped";
  cases[2].layer.clip = 1;
  cases[3].reason = "coupled";
  cases[3].layer.couples = true;
  cases[4].reason = "does not have its activations";
  cases[4].layer.activations = {"Sigmoid", "Tanh", "Softsign"};
  cases[5].reason = "does not have its activations";
  cases[5].layer.op = "RNN";
  cases[5].layer.direction = "bidirectional";
  cases[5].layer.activations = {"Tanh", "Sigmoid"};
  cases[6].reason = "both directions of a row";
  cases[6].layer.direction = "bidirectional";
  cases[7].reason = "too large";
  cases[7].layer.width = 16385;
  cases[8].reason = "more than a cancelled run";
  cases[8].layer.steps = 4097;
  cases[9].reason = "loses NaN"; // of Relu
  cases[9].layer.op = "RNN";
  cases[9].layer.activations = {"Relu"};
  cases[10].reason = "only a reference implementation";
  cases[10].layer.op = "GRU";
  for (const auto &each : cases) {
    SCOPED_TRACE(each.reason);
    Layers native("native"), onednn("onednn");
    expect_same(&native, &onednn, each.layer);
    if (HasFatalFailure()) return;
    EXPECT_EQ(onednn.stats().engine_works, 0u);
    EXPECT_THAT(onednn.reason(), HasSubstr(each.reason));
  }
}

// They take longer than in native.
TEST(Recurrent, IsNotTakenByEstimates) {
  Layers chooses("auto");
  Layer layer;
  layer.recurs = true;
  std::vector<Value> out;
  chooses.run(layer, &out);
  if (HasFatalFailure()) return;
  lk_engine_choice_info info = {};
  info.struct_size = sizeof info;
  LK_ASSERT_OK(api()->engine_choice(chooses.context, 0, &info, LK_ERR));
  EXPECT_STREQ(info.work, "recurrent");
  EXPECT_EQ(info.is_engine, 0u);
  EXPECT_THAT(info.reason, HasSubstr("it is estimated to take more"));
}

// NaN and infinities of an input go where they go in native.
TEST(Recurrent, OfSpecialNumbersIsThatOfNative) {
  static const float special[] = {NAN,    INFINITY, -INFINITY, 3e38F, -3e38F,
                                  1e-40F, 0.0F,     -0.0F,     1e4F,  -1e4F};
  std::vector<Layer> layers(4);
  layers[1].op = "GRU";
  layers[1].is_linear = true;
  layers[2].op = "RNN";
  layers[3].op = "RNN";
  layers[3].activations = {"Sigmoid"};
  for (Layer &layer : layers) {
    for (const float number : special) {
      layer.x.assign(size_t(layer.steps * layer.batch * layer.width), 0.25F);
      layer.x[5] = number;
      layer.n_outputs = 2;
      SCOPED_TRACE(text_of(layer) + ": " + std::to_string(number));
      Layers native("native"), onednn("onednn");
      expect_same(&native, &onednn, layer);
      if (HasFatalFailure()) return;
    }
  }
}

} // namespace
