#include "tests/stress/stand_alone.h"

#include "tests/stress/report.h"

namespace stress {
namespace {

// Kernels sum in another order, and in float: 2,048 products in the widest layer, some of several
// layers.
const lk::Within kWithin = {1e-4, lk::of_sums(2048).atol};

lk::Context open_alone() {
  lk::Context context;
  lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
  options.cache_mode = LK_CACHE_OFF;
  options.threads = 1;
  lk_error error;
  const lk_status status = lk::api()->context_create(&options, context.out(), &error);
  STRESS_CHECK(status == LK_OK, "a context alone: %s", error.message);
  return context;
}

void believe(const Value &loops, const Value &library, const std::string &what) {
  const auto result = lk::all_close(loops, library, kWithin);
  // What differs comes first: a model's text may be longer than a sentence.
  STRESS_CHECK(result, "alone, not what plain loops give: %s, of %s", result.message(),
               what.c_str());
}

std::vector<Values> run_alone(const Model &model, const std::string &bytes) {
  const lk_session_api *sessions = lk_get_session_api(LK_SESSION_API_VERSION);
  const lk::Context context = open_alone();
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
                 std::vector<std::pair<std::string, std::vector<float>>> floats = {}) {
  PreparedNode result;
  result.node.op = op;
  result.node.opset = kOpset;
  result.node.ints = ints;
  result.node.floats = floats;
  result.node.n_inputs = 1 + static_cast<uint32_t>(constants.size());
  result.node.constants = constants;
  result.in_place = std::string(op) != "MatMul";
  return result;
}

void run_alone(PreparedNode *node) {
  const lk::Context context = open_alone();
  const lk::Executor executor = lk::executor_in(context);
  for (size_t i = 0; i < node->inputs.size(); i++) {
    lk::Op op;
    lk::Frame frame;
    lk_error error;
    Value output;
    lk_status status = node->node.create(executor, &op, &error);
    if (status == LK_OK) status = lk::api()->frame_create(executor, frame.out(), &error);
    if (status == LK_OK) {
      status = run_node_alloc(frame, op, {node, i, false}, &output, &error);
    }
    STRESS_CHECK(status == LK_OK, "alone, %s: %s", node->text.c_str(), error.message);
    node->expected.push_back(output);
  }
}

void prepare(PreparedNode *node) {
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
  // of equal sizes, and one that is enough for more than one thread
  for (const Dims &shape : std::vector<Dims>{{6, 8}, {1, 6, 8}, {2, 3, 8}, {3, 8}, {1200, 8}}) {
    node->inputs.push_back(lk::random(shape, 41));
  }
  run_alone(node);
  for (size_t i = 0; i < node->inputs.size(); i++) {
    std::vector<const Value *> in = {&node->inputs[i]};
    for (const Value &constant : node->node.constants) in.push_back(&constant);
    believe(computed(loops, in), node->expected[i], node->text);
  }
}

} // namespace

std::shared_ptr<const PreparedModel> prepare(const Model &model) {
  auto result = std::make_shared<PreparedModel>();
  result->model = model;
  result->bytes = onnx_bytes(model);
  result->expected = run_alone(model, result->bytes);
  for (size_t i = 0; i < model.requests.size(); i++) {
    for (const auto &value : computed(model, model.requests[i])) {
      believe(value.second, result->expected[i].at(value.first),
              value.first + " of request " + std::to_string(i) + " of " + model.text());
    }
  }
  return result;
}

const std::vector<PreparedNode> &prepared_nodes() {
  static const std::vector<PreparedNode> nodes = [] {
    std::vector<PreparedNode> all;
    for (unsigned seed : {51U, 52U, 53U}) all.push_back(one("MatMul", {lk::random({8, 8}, seed)}));
    for (unsigned seed : {54U, 55U}) all.push_back(one("Add", {lk::random({8}, seed)}));
    for (unsigned seed : {54U, 55U}) all.push_back(one("Mul", {lk::random({8}, seed)}));
    for (int64_t axis : {0, 1, -1}) all.push_back(one("Softmax", {}, {{"axis", {axis}}}));
    for (float alpha : {0.3F, 0.6F}) {
      all.push_back(one("HardSigmoid", {}, {}, {{"alpha", {alpha}}}));
    }
    all.push_back(one("Relu", {}));
    all.push_back(one("Sigmoid", {}));
    for (PreparedNode &node : all) prepare(&node);
    return all;
  }();
  return nodes;
}

namespace {

// Memory for the largest of all shapes, so that a wrong plan is a wrong result and no crash.
struct Operands {
  std::vector<float> from = std::vector<float>(1200 * 8 + 64), to = from;
  std::vector<void *> inputs;
  void *output;

  explicit Operands(const NodeRun &run) : inputs(run.node->node.n_inputs, nullptr) {
    const Value &input = run.node->inputs[run.request];
    std::memcpy(from.data(), input.bytes.data(), input.bytes.size());
    inputs[0] = from.data();
    output = run.over ? from.data() : to.data();
  }
};

void *give_output(void *arg, const lk_output_request *) {
  return static_cast<Operands *>(arg)->output;
}

struct Bind {
  std::vector<lk_tensor> tensors;
  lk_layout wish = LK_LAYOUT_PLAIN;
  lk_bind_desc desc{};

  Bind(const NodeRun &run, void *data) : tensors(run.node->node.n_inputs) {
    tensors[0] = {run.node->inputs[run.request].desc, data};
    desc.struct_size = sizeof desc;
    desc.inputs = tensors.data();
    desc.wishes = &wish;
    desc.n_inputs = run.node->node.n_inputs;
    desc.n_outputs = 1;
    desc.in_place_input = run.over ? 0 : -1;
  }
};

} // namespace

lk_status attach_node(lk_frame *frame, lk_op *op, const NodeRun &run, lk_plan **former,
                      uint32_t *out_slot, lk_error *error) {
  const Bind bind(run, nullptr);
  lk_status status = lk::api()->op_bind(op, &bind.desc, former, error);
  lk_tensor_desc desc{};
  if (status == LK_OK) status = lk::api()->plan_output(*former, 0, &desc, error);
  if (status == LK_OK) status = lk::api()->frame_attach(frame, *former, out_slot, error);
  if (status != LK_OK) return status;
  const lk_tensor_desc &wanted = run.node->expected[run.request].desc;
  STRESS_CHECK(std::memcmp(&desc, &wanted, sizeof desc) == 0,
               "MISMATCH: the plan of %s, request %zu, makes %s, expected %s",
               run.node->text.c_str(), run.request, lk::text_of(desc).c_str(),
               lk::text_of(wanted).c_str());
  return LK_OK;
}

lk_status run_node(lk_frame *frame, uint32_t slot, const NodeRun &run, Value *out,
                   lk_error *error) {
  Operands operands(run);
  const lk_status status =
      lk::api()->op_run(frame, slot, operands.inputs.data(), &operands.output, error);
  if (status != LK_OK) return status;
  *out = Value::from(run.node->inputs[run.request].desc, operands.output);
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
  const std::vector<float> e = expected.as<float>(), a = actual.as<float>();
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
