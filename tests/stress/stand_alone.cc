#include "tests/stress/stand_alone.h"

#include "tests/stress/report.h"

namespace stress {
namespace {

// Kernels sum in another order, and in float: 2,048 products in the widest layer, some of several
// layers.
const lk::Within kWithin = {1e-4, lk::of_sums(2048).atol};

lk::Context open_alone(Engine engine, int32_t threads) {
  lk::Context context;
  lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
  options.cache_mode = LK_CACHE_OFF;
  options.threads = threads;
  options.engine = engine_name(engine);
  lk_error error;
  const lk_status status = lk::api()->context_create(&options, context.out(), &error);
  STRESS_CHECK(status == LK_OK, "a context alone: %s", error.message);
  return context;
}

void believe(const Value &loops, const Value &library, const std::string &what,
             const lk::Within &within = kWithin) {
  const auto result = lk::all_close(loops, library, within);
  // What differs comes first: a model's text may be longer than a sentence.
  STRESS_CHECK(result, "alone, not what plain loops give: %s, of %s", result.message(),
               what.c_str());
}

std::vector<Values> run_alone(const Model &model, const std::string &bytes, Engine engine,
                              int32_t threads) {
  const lk_session_api *sessions = lk_get_session_api(LK_SESSION_API_VERSION);
  const lk::Context context = open_alone(engine, threads);
  lk_session_options options = LK_SESSION_OPTIONS_INIT;
  options.run_plans = -1;
  lk_session *session = nullptr;
  lk_error error;
  lk_status status =
      sessions->open_memory(context, bytes.data(), bytes.size(), &options, &session, &error);
  STRESS_CHECK(status == LK_OK, "alone, opening %s: %s", model.text().c_str(), error.message);
  std::vector<Values> all;
  for (const Values &request : model.requests) {
    std::vector<lk_named_tensor> inputs, outputs;
    for (const auto &input : request) {
      inputs.push_back({input.first.c_str(),
                        {input.second.desc, const_cast<uint8_t *>(input.second.bytes.data())}});
    }
    for (const std::string &output : model.outputs) outputs.push_back({output.c_str(), {}});
    status = sessions->run(session, inputs.data(), uint32_t(inputs.size()), outputs.data(),
                           uint32_t(outputs.size()), nullptr, &error);
    STRESS_CHECK(status == LK_OK, "alone, running %s: %s", model.text().c_str(), error.message);
    all.emplace_back();
    for (const lk_named_tensor &output : outputs) {
      all.back()[output.name] = Value::from(output.tensor.desc, output.tensor.data);
    }
    sessions->outputs_release(session, outputs.data(), uint32_t(outputs.size()));
  }
  sessions->close(session);
  return all;
}

PreparedNode one(const char *op, std::vector<Value> constants,
                 std::vector<std::pair<std::string, std::vector<int64_t>>> ints = {},
                 std::vector<std::pair<std::string, std::vector<float>>> floats = {},
                 std::vector<lk_post_op> post_ops = {}) {
  PreparedNode result;
  result.node.op = op;
  result.node.opset = kOpset;
  result.node.ints = ints;
  result.node.floats = floats;
  result.node.post_ops = post_ops;
  result.node.n_inputs = 1 + static_cast<uint32_t>(constants.size());
  result.node.constants = constants;
  result.in_place = std::string(op) != "MatMul";
  return result;
}

Result run_alone(const NodeRun &run, Engine engine, int32_t threads) {
  const lk::Context context = open_alone(engine, threads);
  const lk::Executor executor = lk::executor_in(context);
  lk::Op op;
  lk::Plan plan;
  lk::Frame frame;
  lk_error error;
  Result result;
  uint32_t slot = 0;
  lk_plan *bound = nullptr;
  lk_status status = run.node->node.create(executor, &op, &error);
  if (status == LK_OK) status = lk::api()->frame_create(executor, frame.out(), &error);
  if (status == LK_OK) status = attach_node(frame, op, run, &bound, &slot, &error);
  plan.reset(bound);
  if (status == LK_OK) status = run_node(frame, slot, run, &result.output, &error);
  STRESS_CHECK(status == LK_OK, "alone, %s: %s", run.node->text.c_str(), error.message);
  result.n_values = host_plan_info(plan).n_values;
  return result;
}

// ---- other types than f32 ----

Value as_type(const Value &value, uint32_t dtype) {
  const std::vector<float> from = value.as<float>();
  if (dtype == LK_F64) {
    return lk::tensor<double>(value.dims(), std::vector<double>(from.begin(), from.end()));
  }
  std::vector<uint16_t> halves; // cut, which is as good
  for (const float each : from) {
    uint32_t bits = 0;
    std::memcpy(&bits, &each, sizeof bits);
    halves.push_back(static_cast<uint16_t>(bits >> 16));
  }
  return lk::tensor<uint16_t>(value.dims(), halves, LK_BF16);
}

Value as_f32(const Value &value) {
  std::vector<float> to;
  if (value.desc.dtype == LK_F32) return value;
  if (value.desc.dtype == LK_F64) {
    for (const double each : value.as<double>()) to.push_back(static_cast<float>(each));
  } else {
    for (const uint16_t each : value.as<uint16_t>()) {
      const uint32_t bits = uint32_t{each} << 16;
      to.push_back(0);
      std::memcpy(&to.back(), &bits, sizeof bits);
    }
  }
  return lk::floats(value.dims(), to);
}

// ---- what plain loops give ----

Value with_post_ops(const PreparedNode &node, Value value) {
  for (const lk_post_op &post_op : node.node.post_ops) {
    value = lk::ref::map(value, [&](double x) {
      switch (post_op.kind) {
      case LK_POST_RELU:
        return std::max(x, 0.0);
      case LK_POST_SIGMOID:
        return 1 / (1 + std::exp(-x));
      default: // LK_POST_CLIP
        return std::min(std::max(x, double(post_op.alpha)), double(post_op.beta));
      }
    });
  }
  return value;
}

std::vector<Request> requests_of(const PreparedNode &node) {
  std::vector<Request> all;
  // of equal sizes, and one that is enough for more than one thread
  for (const Dims &shape : std::vector<Dims>{{6, 8}, {1, 6, 8}, {2, 3, 8}, {3, 8}, {1200, 8}}) {
    all.push_back({lk::random(shape, 41)});
  }
  const Value image = lk::random({2, 3, 4, 8}, 42);
  for (const lk_layout layout : {LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST}) {
    for (const lk_layout wish : {LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST}) {
      all.push_back({image, layout, wish});
    }
  }
  if (!node.node.constants.empty()) return all; // they are of f32
  for (const uint32_t dtype : {LK_F64, LK_BF16}) all.push_back({as_type(all[0].input, dtype)});
  return all;
}

void believe(const PreparedNode &node, const Node &loops, const std::vector<Result> &expected) {
  for (size_t i = 0; i < node.requests.size(); i++) {
    const Value input = as_f32(node.requests[i].input);
    std::vector<const Value *> in = {&input};
    for (const Value &constant : node.node.constants) in.push_back(&constant);
    const bool is_half = node.requests[i].input.desc.dtype == LK_BF16;
    const lk::Within within = is_half ? lk::Within{1.0 / 128, 1.0 / 128} : kWithin;
    believe(with_post_ops(node, computed(loops, in)), as_f32(expected[i].output), node.text,
            within);
  }
}

void prepare(PreparedNode *node, const std::vector<Engine> &engines) {
  Node loops;
  loops.op = node->node.op;
  node->text = loops.op;
  for (const auto &a : node->node.ints) {
    loops.numbers[a.first] = a.second[0];
    node->text += " " + a.first + "=" + std::to_string(a.second[0]);
  }
  for (const auto &a : node->node.floats) {
    loops.floats[a.first] = a.second[0];
    node->text += " " + a.first + "=" + std::to_string(a.second[0]);
  }
  for (const lk_post_op &post_op : node->node.post_ops) {
    node->text +=
        text(" post-op %u %g %g", post_op.kind, double(post_op.alpha), double(post_op.beta));
  }
  node->requests = requests_of(*node);
  constexpr struct {
    Ask ask;
    Engine engine;
    uint32_t flags;
  } kinds[] = {
    {kAskNative, kNative, 0},
#if defined(LK_TEST_HAS_ONEDNN)
    {kAskEngine, kOnednn, 0},
    {kAskForAll, kAuto, LK_BIND_ENGINE},
    {kAskCheaper, kAuto, LK_BIND_RECURS},
#endif
  };
  for (const auto &kind : kinds) {
    const bool is_there = std::count(engines.begin(), engines.end(), kind.engine) != 0;
    if (kind.engine != kNative && !is_there) continue;
    for (int32_t threads = 1; threads <= kMostThreads; threads++) {
      for (const bool over : {false, true}) {
        std::vector<Result> &expected = node->expected[kind.ask][threads - 1][over ? 1 : 0];
        for (size_t i = 0; i < node->requests.size() && (!over || node->in_place); i++) {
          expected.push_back(run_alone({node, i, over, kind.flags, nullptr}, kind.engine, threads));
        }
        if (!expected.empty()) believe(*node, loops, expected);
      }
    }
  }
}

} // namespace

// ---- who computes ----

const char *engine_name(Engine engine) {
  static const char *const names[] = {"native", "auto", "onednn"};
  return names[engine];
}

Ask ask_of(Engine engine, uint32_t bind_flags) {
  if (engine == kNative) return kAskNative;
  if (engine == kOnednn) return kAskEngine;
  if ((bind_flags & LK_BIND_ENGINE) != 0) return kAskForAll;
  return (bind_flags & LK_BIND_RECURS) != 0 ? kAskCheaper : kAskNative;
}

// ---- models and nodes ----

std::shared_ptr<const PreparedModel> prepare(const Model &model, bool by_onednn) {
  auto result = std::make_shared<PreparedModel>();
  result->model = model;
  result->bytes = onnx_bytes(model);
  result->native = run_alone(model, result->bytes, kNative, 1);
  std::vector<const std::vector<Values> *> all = {&result->native};
  for (int32_t threads = 1; by_onednn && threads <= kMostThreads; threads++) {
    result->onednn[threads - 1] = run_alone(model, result->bytes, kOnednn, threads);
    all.push_back(&result->onednn[threads - 1]);
  }
  for (size_t i = 0; i < model.requests.size(); i++) {
    for (const auto &value : computed(model, model.requests[i])) {
      for (const auto *expected : all) {
        believe(value.second, expected->at(i).at(value.first),
                value.first + " of request " + std::to_string(i) + " of " + model.text());
      }
    }
  }
  return result;
}

const std::vector<PreparedNode> &prepared_nodes(const std::vector<Engine> &engines) {
  static const std::vector<PreparedNode> nodes = [&] {
    std::vector<PreparedNode> all;
    for (unsigned seed : {51U, 52U, 53U}) all.push_back(one("MatMul", {lk::random({8, 8}, seed)}));
    for (const lk_post_op &post_op : std::vector<lk_post_op>{{LK_POST_RELU, -1, 0, 0},
                                                             {LK_POST_SIGMOID, -1, 0, 0},
                                                             {LK_POST_CLIP, -1, -0.1F, 0.1F},
                                                             {LK_POST_CLIP, -1, -0.2F, 0.1F}}) {
      all.push_back(one("MatMul", {lk::random({8, 8}, 51)}, {}, {}, {post_op}));
    }
    for (unsigned seed : {54U, 55U}) all.push_back(one("Add", {lk::random({8}, seed)}));
    for (unsigned seed : {54U, 55U}) all.push_back(one("Mul", {lk::random({8}, seed)}));
    for (int64_t axis : {0, 1, -1}) all.push_back(one("Softmax", {}, {{"axis", {axis}}}));
    for (float alpha : {0.3F, 0.6F}) {
      all.push_back(one("HardSigmoid", {}, {}, {{"alpha", {alpha}}}));
    }
    all.push_back(one("Relu", {}));
    all.push_back(one("Sigmoid", {}));
    for (PreparedNode &node : all) prepare(&node, engines);
    return all;
  }();
  return nodes;
}

namespace {

// Memory for the largest of all requests, so that a wrong plan is a wrong result and no crash.
struct Operands {
  std::vector<double> from = std::vector<double>(1200 * 8 + 64), to = from;
  std::vector<void *> inputs;
  void *output;

  explicit Operands(const NodeRun &run) : inputs(run.node->node.n_inputs, nullptr) {
    const lk::Memory laid = run.asked().input.in(run.asked().layout);
    std::memcpy(from.data(), laid.data(), run.asked().input.bytes.size());
    inputs[0] = from.data();
    output = run.over ? from.data() : to.data();
  }
};

void *give_output(void *arg, const lk_output_request *) {
  return static_cast<Operands *>(arg)->output;
}

struct Bind {
  std::vector<lk_tensor> tensors;
  lk_layout wish;
  lk_bind_desc desc{};

  Bind(const NodeRun &run, void *data) : tensors(run.node->node.n_inputs), wish(run.asked().wish) {
    tensors[0] = {run.asked().input.desc, data};
    tensors[0].desc.layout = run.asked().layout;
    desc.struct_size = sizeof desc;
    desc.inputs = tensors.data();
    desc.wishes = &wish;
    desc.n_inputs = run.node->node.n_inputs;
    desc.n_outputs = 1;
    desc.in_place_input = run.over ? 0 : -1;
    desc.flags = run.flags;
  }
};

// Of the input's type and size, as it is to lie.
lk_tensor_desc output_of(const NodeRun &run) {
  lk_tensor_desc desc = run.asked().input.desc;
  desc.layout = run.asked().wish;
  return desc;
}

} // namespace

lk_status bind_node(lk_op *op, const NodeRun &run, lk_plan **former, lk_error *error) {
  const Bind bind(run, nullptr);
  lk_status status = lk::api()->op_bind(op, &bind.desc, former, error);
  lk_tensor_desc desc{};
  if (status == LK_OK) status = lk::api()->plan_output(*former, 0, &desc, error);
  if (status != LK_OK) return status;
  const lk_tensor_desc wanted = output_of(run);
  STRESS_CHECK(std::memcmp(&desc, &wanted, sizeof desc) == 0,
               "MISMATCH: the plan of %s, request %zu, makes %s in layout %u, expected %s in %u",
               run.node->text.c_str(), run.request, lk::text_of(desc).c_str(), desc.layout,
               lk::text_of(wanted).c_str(), wanted.layout);
  if (run.expected == nullptr) return LK_OK; // alone
  const uint32_t n_values = host_plan_info(*former).n_values;
  STRESS_CHECK(n_values == run.expected->n_values,
               "MISMATCH: the plan of %s, request %zu, flags 0x%x, has %u steps of an engine, "
               "expected %u",
               run.node->text.c_str(), run.request, run.flags, n_values, run.expected->n_values);
  return LK_OK;
}

lk_status attach_node(lk_frame *frame, lk_op *op, const NodeRun &run, lk_plan **former,
                      uint32_t *out_slot, lk_error *error) {
  const lk_status status = bind_node(op, run, former, error);
  return status == LK_OK ? lk::api()->frame_attach(frame, *former, out_slot, error) : status;
}

lk_status run_node(lk_frame *frame, uint32_t slot, const NodeRun &run, Value *out,
                   lk_error *error) {
  Operands operands(run);
  const lk_status status =
      lk::api()->op_run(frame, slot, operands.inputs.data(), &operands.output, error);
  if (status != LK_OK) return status;
  *out = Value::from(output_of(run), operands.output);
  return LK_OK;
}

lk_status run_node_alloc(lk_frame *frame, lk_op *op, const NodeRun &run, Value *out,
                         lk_error *error) {
  Operands operands(run);
  const Bind bind(run, operands.from.data());
  lk_tensor output{};
  const lk_status status =
      lk::api()->op_run_alloc(frame, op, &bind.desc, give_output, &operands, &output, error);
  if (status == LK_OK) *out = Value::from(output.desc, output.data);
  return status;
}

std::string difference(const Value &expected, const lk_tensor_desc &desc, const void *data) {
  if (expected.desc.dtype != desc.dtype || expected.dims() != lk::dims_of(desc)) {
    return "is " + lk::text_of(desc) + ", expected " + lk::text_of(expected.desc);
  }
  if (std::memcmp(expected.bytes.data(), data, expected.bytes.size()) == 0) return "";
  const Value actual = Value::from(desc, data);
  const std::vector<float> e = as_f32(expected).as<float>(), a = as_f32(actual).as<float>();
  size_t first = e.size(), wrong = 0;
  double most = 0;
  for (size_t i = e.size(); i-- > 0;) {
    if (std::memcmp(&e[i], &a[i], sizeof e[i]) == 0) continue;
    first = i;
    wrong++;
    most = std::max(most, std::fabs(static_cast<double>(e[i]) - static_cast<double>(a[i])));
  }
  return text("differs in %zu of %zu elements by at most %g; element %zu is %.9g, expected %.9g",
              wrong, e.size(), most, first, static_cast<double>(a[first]),
              static_cast<double>(e[first]));
}

} // namespace stress
