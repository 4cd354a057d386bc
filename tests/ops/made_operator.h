// An operator of a host's own whose functions are a test's.
#pragma once

#include <latchkey/operator.h>

#include <atomic>
#include <cstring>
#include <functional>

namespace lk {

// y = a x + b, where b is optional and `a` is an attribute, by `run`.
struct MadeOperator {
  std::function<lk_status(const lk_operator_node *, lk_operator_shapes *, lk_error *)> infer =
      same_as_first;
  std::function<lk_status(const lk_operator_node *, const lk_operator_shapes *, lk_operator_work *,
                          lk_error *)>
      work;
  std::function<lk_status(const lk_operator_run *, lk_error *)> run = scale_and_add;
  std::atomic<int> infers{0}, works{0}, runs{0}, closed{0};
  lk_op_attr attr = {};

  lk_operator table(const char *name = "Scaled", const char *domain = "com.example") {
    attr.name = "a";
    attr.type = LK_ATTR_FLOATS;
    lk_operator made = {};
    made.struct_size = sizeof made;
    made.op_type = name;
    made.domain = domain;
    made.since = 1;
    made.min_inputs = 1;
    made.max_inputs = 2;
    made.max_outputs = 1;
    made.n_attrs = 1;
    made.attrs = &attr;
    made.input_types = made.output_types = "T";
    made.types[0] = LK_TYPE(LK_F32) | LK_TYPE(LK_F64) | LK_TYPE(LK_F16) | LK_TYPE(LK_BF16);
    made.user = this;
    made.infer = call_infer;
    if (work) made.work = call_work;
    if (!work) made.run = call_run;
    made.close = call_close;
    return made;
  }

  static float a_of(const lk_operator_node *node) {
    return node->n_attrs > 0 ? *static_cast<const float *>(node->attrs[0].data) : 1.0f;
  }
  static lk_status same_as_first(const lk_operator_node *node, lk_operator_shapes *out,
                                 lk_error *) {
    const lk_tensor_desc &x = node->inputs[0].desc;
    const float a = a_of(node);
    out->outputs[0].rank = x.rank;
    std::memcpy(out->outputs[0].dims, x.dims, sizeof x.dims);
    std::memcpy(out->params, &a, sizeof a);
    out->params_bytes = sizeof a;
    out->scratch_bytes = 64;
    return LK_OK;
  }
  static lk_status scale_and_add(const lk_operator_run *run, lk_error *) {
    float a = 0;
    std::memcpy(&a, run->params, sizeof a);
    const auto *x = static_cast<const float *>(run->input_data[0]);
    const auto *b = run->n_inputs > 1 ? static_cast<const float *>(run->input_data[1]) : nullptr;
    auto *y = static_cast<float *>(run->output_data[0]);
    int64_t count = 1;
    for (uint32_t i = 0; i < run->outputs[0].rank; i++) count *= run->outputs[0].dims[i];
    std::memset(run->scratch, 7, run->scratch_bytes);
    for (int64_t i = 0; i < count; i++) y[i] = a * x[i] + (b != nullptr ? b[i] : 0);
    return LK_OK;
  }

private:
  static MadeOperator *of(void *user) { return static_cast<MadeOperator *>(user); }
  static lk_status call_infer(void *user, const lk_operator_node *node, lk_operator_shapes *out,
                              lk_error *error) {
    of(user)->infers++;
    return of(user)->infer(node, out, error);
  }
  static lk_status call_work(void *user, const lk_operator_node *node,
                             const lk_operator_shapes *shapes, lk_operator_work *out,
                             lk_error *error) {
    of(user)->works++;
    return of(user)->work(node, shapes, out, error);
  }
  static lk_status call_run(const lk_operator_run *run, lk_error *error) {
    of(run->user)->runs++;
    return of(run->user)->run(run, error);
  }
  static void call_close(void *user) { of(user)->closed++; }
};

} // namespace lk
