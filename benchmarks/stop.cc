// How late does an operator end that takes long and whose deadline has passed?
//
// Each operator would compute for some tenths of a second and more. A deadline comes within; what
// is measured is the time from there to the return of op_run, the most of all rounds. By the
// library's kernels, and of what oneDNN has primitives for by these, with constant weights.
//
// stop [--json] [--quick | --long]
#include <latchkey/latchkey.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "benchmarks/arguments.h"

extern "C" {
#include "base/clock.h"
}

namespace {

constexpr double TARGET_MS = 50;
constexpr uint64_t DEADLINE_NS = 5000000;

const lk_api *api() {
  return lk_get_api(LK_API_VERSION);
}

// There is nothing to measure where a call fails that must not.
void check(lk_status status, const lk_error &error) {
  if (status == LK_OK) return;
  std::fprintf(stderr, "stop: %s\n", error.message);
  std::exit(1);
}

struct Tensor {
  std::vector<int64_t> dims;
  uint32_t dtype = LK_F32;
};

struct Attr {
  const char *name;
  int64_t value;
};

struct Case {
  const char *label, *op;
  int32_t opset;
  std::vector<Tensor> inputs;
  std::vector<Attr> attrs = {};
};

std::vector<Case> cases() {
  const Tensor heads = {{1, 8, 9000, 64}}, bytes = {{6000, 6000}, LK_U8};
  return {
      {"product", "MatMul", 13, {{{4000, 4000}}, {{4000, 4000}}}},
      {"batch of products", "MatMul", 13, {{{400, 600, 600}}, {{400, 600, 600}}}},
      {"convolution", "Conv", 13, {{{1, 256, 300, 300}}, {{256, 256, 3, 3}}}},
      {"wide convolution", "Conv", 13, {{{1, 64, 1000, 1000}}, {{64, 64, 7, 7}}}},
      {"depthwise convolution",
       "Conv",
       13,
       {{{4, 64, 1000, 1000}}, {{64, 1, 7, 7}}},
       {{"group", 64}}},
      {"transposed convolution", "ConvTranspose", 13, {{{1, 128, 300, 300}}, {{128, 128, 5, 5}}}},
      {"product of bytes", "MatMulInteger", 10, {bytes, bytes}},
      {"attention", "Attention", 23, {heads, heads, heads}},
      {"elements", "Erf", 13, {{{1 << 26}, LK_F64}}},
      {"tanh", "Tanh", 13, {{{64, 1000, 1000}}}},
      {"sum of two", "Add", 13, {{{64, 1000, 1000}}, {{64, 1000, 1000}}}},
      {"sum with rows", "Add", 13, {{{64, 1000, 1000}}, {{1000}}}},
      {"softmax", "Softmax", 13, {{{60000, 1000}}}},
      {"mean", "ReduceMean", 13, {{{64, 1000, 1000}}}, {{"axes", 1}}},
      {"mean of rows", "ReduceMean", 13, {{{64, 1000, 1000}}}, {{"axes", 2}}},
      {"running sum", "CumSum", 14, {{{64 << 20}}, {{}, LK_I32}}},
      {"transpose", "Transpose", 13, {{{10000, 8000}}}},
      {"pool", "MaxPool", 12, {{{8, 64, 300, 300}}}, {{"kernel_shape", 15}}},
      {"LSTM",
       "LSTM",
       14,
       {{{3000, 16, 128}}, {{1, 2048, 128}}, {{1, 2048, 512}}},
       {{"hidden_size", 512}}},
      {"Fourier transform", "DFT", 17, {{{8, 65521, 1}}}, {{"axis", 1}}},
      {"determinant", "Det", 11, {{{1, 1500, 1500}}}},
      {"largest", "TopK", 11, {{{400, 100000}}, {{1}, LK_I64}}},
  };
}

// One node, bound, with memory for its inputs and its output.
class Subject {
public:
  Subject(lk_executor *executor, const Case &of, bool has_constants) : inputs(of.inputs.size()) {
    std::vector<lk_node_input> described(of.inputs.size());
    std::vector<lk_attr> attrs;
    std::vector<std::vector<int64_t>> numbers;
    for (const Attr &attr : of.attrs) {
      numbers.emplace_back(std::strcmp(attr.name, "kernel_shape") == 0 ? 2 : 1, attr.value);
    }
    for (size_t i = 0; i < of.attrs.size(); i++) {
      attrs.push_back(
          {of.attrs[i].name, LK_ATTR_INTS, uint32_t(numbers[i].size()), numbers[i].data()});
    }
    std::vector<lk_tensor> tensors;
    for (size_t i = 0; i < of.inputs.size(); i++) tensors.push_back(fill(of.inputs[i], &inputs[i]));
    for (size_t i = 1; i < tensors.size() && has_constants; i++) {
      described[i].constant = &tensors[i];
    }
    lk_node_desc node = {};
    node.struct_size = sizeof node;
    node.op_type = of.op;
    node.opset = of.opset;
    node.output_name = "y";
    node.n_inputs = uint32_t(described.size());
    node.inputs = described.data();
    node.n_outputs = std::strcmp(of.op, "TopK") == 0 ? 2 : 1;
    node.n_attrs = uint32_t(attrs.size());
    node.attrs = attrs.data();
    check(api()->op_create(executor, &node, &op, &error), error);
    lk_bind_desc bind = {};
    bind.struct_size = sizeof bind;
    bind.in_place_input = -1;
    bind.n_inputs = uint32_t(tensors.size());
    bind.inputs = tensors.data();
    const lk_layout wishes[2] = {LK_LAYOUT_PLAIN, LK_LAYOUT_PLAIN};
    bind.wishes = wishes;
    bind.n_outputs = node.n_outputs;
    check(api()->op_bind(op, &bind, &plan, &error), error);
    check(api()->frame_create(executor, &frame, &error), error);
    check(api()->frame_attach(frame, plan, &slot, &error), error);
    outputs.resize(node.n_outputs);
    for (uint32_t i = 0; i < node.n_outputs; i++) {
      lk_tensor_desc desc;
      uint64_t size = 0;
      check(api()->plan_output(plan, i, &desc, &error), error);
      check(api()->tensor_bytes(&desc, &size, &error), error);
      outputs[i].resize(size / sizeof(float) + 16);
    }
  }
  ~Subject() {
    api()->frame_destroy(frame);
    api()->plan_release(plan);
    api()->op_destroy(op);
  }

  bool is_of_engine() {
    lk_plan_info info = {};
    info.struct_size = sizeof info;
    check(api()->plan_info(plan, &info, &error), error);
    return info.n_values > 0;
  }
  // Milliseconds from the deadline to the return; below 0: the operator has ended before.
  double late_ms() {
    void *in[4], *out[2];
    for (size_t i = 0; i < inputs.size(); i++) in[i] = inputs[i].data();
    for (size_t i = 0; i < outputs.size(); i++) out[i] = outputs[i].data();
    lk_watch watch = {};
    watch.struct_size = sizeof watch;
    watch.deadline_ns = lk_now_ns() + DEADLINE_NS;
    check(api()->frame_watch(frame, &watch, &error), error);
    const lk_status status = api()->op_run(frame, slot, in, out, &error);
    const double late = (double(lk_now_ns()) - double(watch.deadline_ns)) / 1e6;
    if (status != LK_DEADLINE) check(status, error);
    return status == LK_DEADLINE ? late : -1;
  }

private:
  static lk_tensor fill(const Tensor &of, std::vector<float> *memory) {
    lk_tensor made = {};
    made.desc.dtype = of.dtype;
    made.desc.rank = uint32_t(of.dims.size());
    std::copy(of.dims.begin(), of.dims.end(), made.desc.dims);
    uint64_t bytes = 0;
    lk_error error;
    check(api()->tensor_bytes(&made.desc, &bytes, &error), error);
    memory->resize(bytes / sizeof(float) + 16);
    if (of.dtype == LK_I64) { // the number that TopK wants
      reinterpret_cast<int64_t *>(memory->data())[0] = 1000;
    } else if (of.dtype == LK_F32) {
      for (size_t i = 0; i < memory->size(); i++) (*memory)[i] = float(i % 7919) / 7919;
    }
    made.data = memory->data();
    return made;
  }

  lk_error error;
  lk_op *op = nullptr;
  lk_plan *plan = nullptr;
  lk_frame *frame = nullptr;
  uint32_t slot = 0;
  std::vector<std::vector<float>> inputs, outputs;
};

struct Result {
  const char *label, *engine;
  double late_ms[2]; // with one thread, with two
};

bool has_module() {
  lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
  lk_context *context = nullptr;
  options.engine = "onednn";
  const lk_status status = api()->context_create(&options, &context, nullptr);
  api()->context_destroy(context);
  return status == LK_OK;
}

// False: the engine leaves the operator to native.
bool measure(const Case &of, const char *engine, int rounds, Result *out) {
  const bool is_native = std::strcmp(engine, "native") == 0;
  *out = {of.label, engine, {-1, -1}};
  bool is_taken = true;
  for (int threads = 1; threads <= 2 && is_taken; threads++) {
    lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
    options.threads = threads;
    options.engine = engine;
    lk_context *context = nullptr;
    lk_executor *executor = nullptr;
    lk_error error;
    check(api()->context_create(&options, &context, &error), error);
    check(api()->executor_create(context, "stop", &executor, &error), error);
    {
      Subject subject(executor, of, !is_native);
      is_taken = is_native || subject.is_of_engine();
      for (int i = 0; i < rounds && is_taken; i++) {
        out->late_ms[threads - 1] = std::max(out->late_ms[threads - 1], subject.late_ms());
      }
    }
    api()->executor_destroy(executor);
    api()->context_destroy(context);
  }
  return is_taken;
}

bool is_met(const Result &of) {
  return of.late_ms[0] >= 0 && of.late_ms[1] >= 0 && of.late_ms[0] <= TARGET_MS &&
         of.late_ms[1] <= TARGET_MS;
}

} // namespace

int main(int argc, char **argv) {
  const Arguments arguments("stop", argc, argv, {10, 2, 50});
  const char *separator = "";
  const bool has_onednn = has_module();
  if (arguments.json)
    std::printf("{\"target_ms\": %g, \"operators\": [", TARGET_MS);
  else
    std::printf("  %-24s %-8s %12s %12s\n", "ms behind the deadline", "engine", "1 thread",
                "2 threads");
  for (const Case &of : cases()) {
    for (const char *engine : {"native", "onednn"}) {
      Result r;
      if (std::strcmp(engine, "onednn") == 0 && !has_onednn) continue;
      if (!measure(of, engine, arguments.rounds, &r)) continue;
      if (arguments.json) {
        std::printf("%s{\"operator\": \"%s\", \"engine\": \"%s\", \"late_ms\": [%.3f, %.3f]}",
                    separator, r.label, r.engine, r.late_ms[0], r.late_ms[1]);
        separator = ", ";
      } else {
        std::printf("  %-24s %-8s %12.2f %12.2f  %s\n", r.label, r.engine, r.late_ms[0],
                    r.late_ms[1], is_met(r) ? "met" : "MISSED");
      }
      std::fflush(stdout);
    }
  }
  if (arguments.json)
    std::printf("]}\n");
  else
    std::printf("  target: %g ms; -1: an operator that was done before%s\n", TARGET_MS,
                has_onednn ? "" : "; without oneDNN, whose module is not there");
  return 0;
}
