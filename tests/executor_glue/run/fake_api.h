// A level-1 library made for tests of the executor: a few operators in plain loops, a cache in a
// map, and counters for everything that the executor asks. It is strict: it refuses what the real
// one would survive (data in a wrong layout, a plan released twice, a pointer that is missing).
#pragma once

#include <latchkey/latchkey.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/harness/lk_test.h"

extern "C" {
#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
}

namespace lk::fake {

struct Row {
  const char *name;
  uint64_t shape_inputs, in_place;
  uint32_t flags;
};

// Relu(x), Add(a, b) with broadcasting, Reshape(x, shape), Shape(x), Cat(a, b) along dimension 0,
// Both(x) -> x, -x, Nhwc(x) = x in channels-last unless plain is wished for, Stubborn(x) = x in
// channels-last always, Boom(x) fails when it runs, Identity(x), Fill(shape) of ones.
inline const std::vector<Row> &rows() {
  const uint32_t worth = LK_OP_WORTH_CLAIMING;
  static const std::vector<Row> all = {
      {.name = "Relu", .shape_inputs = 0, .in_place = 1, .flags = worth},
      {.name = "Add", .shape_inputs = 0, .in_place = 3, .flags = worth},
      {.name = "Reshape", .shape_inputs = 2, .in_place = 0, .flags = 0},
      {.name = "Shape", .shape_inputs = 0, .in_place = 0, .flags = LK_OP_SHAPE_ONLY},
      {.name = "Cat", .shape_inputs = 0, .in_place = 0, .flags = worth},
      {.name = "Both", .shape_inputs = 0, .in_place = 0, .flags = worth},
      {.name = "Nhwc", .shape_inputs = 0, .in_place = 0, .flags = worth},
      {.name = "Stubborn", .shape_inputs = 0, .in_place = 0, .flags = worth},
      {.name = "Boom", .shape_inputs = 0, .in_place = 0, .flags = worth},
      {.name = "Identity", .shape_inputs = 0, .in_place = 0, .flags = 0},
      {.name = "Fill", .shape_inputs = 1, .in_place = 0, .flags = worth},
  };
  return all;
}

// The rows as the executor sees them, one to one.
inline const lk_op_row *op_row(uint32_t index) {
  static const std::vector<lk_op_row> all = [] {
    std::vector<lk_op_row> made;
    for (const Row &r : rows()) {
      lk_op_row row = {};
      row.struct_size = sizeof row;
      row.op_type = r.name;
      row.domain = row.summary = "";
      row.since = 7;
      row.flags = r.flags;
      row.shape_inputs = r.shape_inputs;
      row.in_place_inputs = r.in_place;
      made.push_back(row);
    }
    return made;
  }();
  return index < all.size() ? &all[index] : nullptr;
}

struct Counters {
  std::atomic<int> binds{0}, runs{0}, lookups{0}, hits{0}, in_place_binds{0};
  std::atomic<int> ops{0}, plans{0}, frames{0}, refs{0}; // alive
  std::atomic<int> allocations_in_steps{0};
  std::atomic<int> entered{0}; // runs that have not given their threads back
};

} // namespace lk::fake

struct lk_ref {
  std::atomic<int> references{1};
  lk_built built{};
  std::atomic<uint64_t> charged{0};
};

struct lk_key {
  std::string text;
};

struct lk_context {
  lk::FailingAllocator allocator;
  uint32_t mode = LK_CACHE_SHARED;
  int32_t threads = 2;
  int32_t grant = 0;            // what threads_enter gives; 0: all that is asked for
  std::function<void()> on_run; // called by every operator
  uint64_t scratch_bytes = 0;   // that Add and Relu need for each element
  lk::fake::Counters count;
  std::mutex mutex; // of the cache
  std::map<std::string, lk_ref *> cache;
};

struct lk_executor {
  lk_context *context;
};

struct lk_op {
  lk_context *context;
  const lk::fake::Row *row;
  std::string output_name;
  uint32_t position;
  std::vector<lk_tensor_desc> descs;   // of constants
  std::vector<std::vector<char>> data; // of constants: always copied
  std::vector<bool> is_constant;
  uint32_t n_outputs;
};

struct lk_plan {
  std::atomic<int> references{1};
  lk_context *context;
  const lk::fake::Row *row;
  std::vector<lk_tensor_desc> inputs, outputs;
  std::vector<std::vector<char>> constants;
  std::vector<bool> is_constant;
  int32_t alias = -1;
  uint64_t scratch_bytes = 0;
};

struct lk_frame {
  lk_context *context;
  std::vector<lk_plan *> plans;
  size_t allocations = 0;
  uint32_t lanes = 1;
  bool is_brought = false; // frame_bring_scratch
};

namespace lk::fake {

// The position of element (n, c, h, w) of a rank-4 tensor.
inline size_t at(const lk_tensor_desc &d, size_t i) {
  if (d.layout != LK_LAYOUT_CHANNELS_LAST) return i;
  const size_t C = size_t(d.dims[1]), H = size_t(d.dims[2]), W = size_t(d.dims[3]);
  const size_t w = i % W, h = i / W % H, c = i / W / H % C, n = i / W / H / C;
  return ((n * H + h) * W + w) * C + c;
}

inline void release(lk_plan *plan) {
  ASSERT_GT(plan->references.load(), 0);
  if (--plan->references == 0) {
    plan->context->count.plans--;
    delete plan;
  }
}

inline lk_status op_create(lk_executor *executor, const lk_node_desc *node, lk_op **out,
                           lk_error *error) {
  *out = nullptr;
  for (const Row &row : rows()) {
    if (std::string(row.name) != node->op_type) continue;
    auto *op = new lk_op{executor->context, &row, node->output_name, node->position, {}, {}, {},
                         node->n_outputs};
    for (uint32_t i = 0; i < node->n_inputs; i++) {
      const lk_tensor *constant = node->inputs[i].constant;
      op->is_constant.push_back(constant != nullptr);
      op->descs.push_back(constant ? constant->desc : lk_tensor_desc{});
      std::vector<char> bytes;
      if (constant != nullptr) {
        const size_t size =
            size_t(lk_elements(&constant->desc)) * lk_dtype_size(constant->desc.dtype);
        bytes.assign(static_cast<char *>(constant->data),
                     static_cast<char *>(constant->data) + size);
      }
      op->data.push_back(bytes);
    }
    executor->context->count.ops++;
    *out = op;
    return LK_OK;
  }
  return lk_fail(error, LK_UNSUPPORTED, "failed to create op: %s is unknown", node->op_type);
}

inline lk_status infer(const lk_op *op, const lk_bind_desc *bind, lk_plan *plan, lk_error *error) {
  const std::string name = op->row->name;
  const std::vector<lk_tensor_desc> &in = plan->inputs;
  const lk_layout wish = bind->wishes && bind->n_outputs ? bind->wishes[0] : LK_LAYOUT_ANY;
  lk_tensor_desc out = in[0];
  const bool keeps_layout = name == "Relu" || name == "Identity";
  for (const lk_tensor_desc &d : in) {
    if (d.layout != LK_LAYOUT_PLAIN && !keeps_layout && name != "Shape" && name != "Reshape" &&
        name != "Cat") {
      return lk_fail(error, LK_INVALID_ARGUMENT, "failed to bind %s: input is not plain",
                     name.c_str());
    }
  }
  if (name == "Add") {
    for (uint32_t i = 0; i < in[1].rank && in[1].rank == in[0].rank; i++) {
      out.dims[i] = std::max(in[0].dims[i], in[1].dims[i]);
      if (in[0].dims[i] == 0 || in[1].dims[i] == 0) out.dims[i] = 0;
    }
    if (in[1].rank > in[0].rank) out = in[1];
  } else if (name == "Reshape" || name == "Fill") {
    const bool fill = name == "Fill";
    const uint32_t which = fill ? 0 : 1;
    const int64_t *shape = static_cast<const int64_t *>(bind->inputs[which].data);
    if (op->is_constant[which]) shape = reinterpret_cast<const int64_t *>(op->data[which].data());
    if (shape == nullptr && in[which].dims[0] > 0) {
      return lk_fail(error, LK_INVALID_ARGUMENT, "failed to bind: no shape");
    }
    out = lk_tensor_desc_make(fill ? uint32_t(LK_F32) : in[0].dtype, uint32_t(in[which].dims[0]),
                              shape);
    if (!fill && lk_elements(&out) != lk_elements(&in[0])) {
      return lk_fail(error, LK_INVALID_ARGUMENT, "failed to reshape: sizes differ");
    }
    if (!fill && in[0].layout == LK_LAYOUT_PLAIN) plan->alias = 0;
  } else if (name == "Shape") {
    const int64_t rank = in[0].rank;
    out = lk_tensor_desc_make(LK_I64, 1, &rank);
  } else if (name == "Cat") {
    out.dims[0] = in[0].dims[0] + in[1].dims[0];
    out.layout = LK_LAYOUT_PLAIN;
  } else if (name == "Identity") {
    plan->alias = wish == LK_LAYOUT_ANY || wish == in[0].layout ? 0 : -1;
  } else if (name == "Nhwc") {
    out.layout = wish == LK_LAYOUT_PLAIN ? LK_LAYOUT_PLAIN : LK_LAYOUT_CHANNELS_LAST;
  } else if (name == "Stubborn") {
    out.layout = LK_LAYOUT_CHANNELS_LAST;
  }
  if (keeps_layout && wish != LK_LAYOUT_ANY) out.layout = wish;
  plan->outputs.assign(op->n_outputs, out);
  return LK_OK;
}

inline lk_status op_bind(lk_op *op, const lk_bind_desc *bind, lk_plan **inout, lk_error *error) {
  op->context->count.binds++;
  EXPECT_EQ(*inout, nullptr);
  for (uint32_t i = 0; i < bind->n_outputs && bind->wishes != nullptr; i++) {
    if (bind->wishes[i] != LK_LAYOUT_ANY && bind->wishes[i] > LK_LAYOUT_CHANNELS_LAST) {
      return lk_fail(error, LK_INVALID_ARGUMENT, "failed to bind: layout %u", bind->wishes[i]);
    }
  }
  auto *plan = new lk_plan;
  plan->context = op->context;
  plan->row = op->row;
  plan->constants = op->data;
  plan->is_constant = op->is_constant;
  for (uint32_t i = 0; i < bind->n_inputs; i++) {
    plan->inputs.push_back(op->is_constant[i] ? op->descs[i] : bind->inputs[i].desc);
  }
  op->context->count.plans++;
  lk_status status = infer(op, bind, plan, error);
  if (status == LK_OK && bind->in_place_input >= 0) {
    if (!((op->row->in_place >> bind->in_place_input) & 1)) {
      status = lk_fail(error, LK_INVALID_ARGUMENT, "failed to bind: not in place");
    }
    op->context->count.in_place_binds++;
  }
  if (status != LK_OK) {
    release(plan);
    return status;
  }
  const std::string name = op->row->name;
  if (name == "Add" || name == "Relu") {
    plan->scratch_bytes = op->context->scratch_bytes * uint64_t(lk_elements(&plan->outputs[0]));
  }
  *inout = plan;
  return LK_OK;
}

template <typename T> void run_typed(const lk_plan *plan, const char *const *in, char *const *out) {
  const std::string name = plan->row->name;
  const lk_tensor_desc &od = plan->outputs[0], &id = plan->inputs[0];
  const size_t n = size_t(lk_elements(&od));
  const T *a = reinterpret_cast<const T *>(in[0]);
  T *y = reinterpret_cast<T *>(out[0]);
  if (name == "Add") {
    const T *b = reinterpret_cast<const T *>(in[1]);
    auto index = [&](const lk_tensor_desc &d, size_t i) { // of the operand's element for output i
      size_t offset = 0, stride = 1;
      for (uint32_t k = 0; k < od.rank; k++) {
        const uint32_t dim = od.rank - 1 - k;
        const size_t c = i % size_t(od.dims[dim]);
        i /= size_t(od.dims[dim]);
        if (k < d.rank) {
          const size_t extent = size_t(d.dims[d.rank - 1 - k]);
          offset += (extent == 1 ? 0 : c) * stride;
          stride *= extent;
        }
      }
      return offset;
    };
    for (size_t i = 0; i < n; i++) y[i] = a[index(id, i)] + b[index(plan->inputs[1], i)];
  } else if (name == "Fill") {
    for (size_t i = 0; i < n; i++) y[i] = T(1);
  } else if (name == "Cat") {
    const size_t first = size_t(lk_elements(&id));
    const T *b = reinterpret_cast<const T *>(in[1]);
    for (size_t i = 0; i < n; i++) {
      y[i] = i < first ? a[at(id, i)] : b[at(plan->inputs[1], i - first)];
    }
  } else {
    for (size_t i = 0; i < n; i++) {
      const T x = a[at(id, i)];
      const T result = name == "Relu" && x < T(0) ? T(0) : x;
      if (name == "Both" && plan->outputs.size() > 1) reinterpret_cast<T *>(out[1])[i] = T(-x);
      y[at(od, i)] = result;
    }
  }
}

// Fills the scratch memory, so that results are wrong where anything else lies in it.
inline lk_status spoil_scratch(const lk_frame *frame, const lk_plan *plan, void *const *outputs,
                               lk_error *error) {
  if (plan->scratch_bytes == 0) return LK_OK;
  void *scratch = outputs[plan->outputs.size()];
  if (!frame->is_brought || scratch == nullptr || uintptr_t(scratch) % LK_DATA_ALIGNMENT != 0) {
    return lk_fail(error, LK_INTERNAL, "failed to run: no scratch memory");
  }
  std::memset(scratch, 0x5c, plan->scratch_bytes);
  return LK_OK;
}

inline lk_status op_run_lane(lk_frame *frame, uint32_t lane, uint32_t slot, void *const *inputs,
                             void *const *outputs, lk_error *error) {
  if (lane >= frame->lanes) return lk_fail(error, LK_INTERNAL, "failed to run: no lane");
  if (slot >= frame->plans.size()) return lk_fail(error, LK_INTERNAL, "failed to run: no slot");
  const lk_plan *plan = frame->plans[slot];
  plan->context->count.runs++;
  if (plan->context->on_run) plan->context->on_run();
  const std::string name = plan->row->name;
  if (name == "Boom") return lk_fail(error, LK_INTERNAL, "failed to execute: boom");
  if (name == "Shape") {
    std::memcpy(outputs[0], plan->inputs[0].dims, plan->inputs[0].rank * sizeof(int64_t));
    return LK_OK;
  }
  if (lk_elements(&plan->outputs[0]) == 0) return LK_OK;
  LK_RETURN_NOT_OK(spoil_scratch(frame, plan, outputs, error));
  std::vector<const char *> in;
  std::vector<char *> out;
  for (size_t i = 0; i < plan->inputs.size(); i++) {
    in.push_back(plan->is_constant[i] ? plan->constants[i].data() : static_cast<char *>(inputs[i]));
    if (in[i] == nullptr && lk_elements(&plan->inputs[i]) > 0) {
      return lk_fail(error, LK_INTERNAL, "failed to run %s: input %zu is NULL", name.c_str(), i);
    }
  }
  for (size_t i = 0; i < plan->outputs.size(); i++) {
    out.push_back(static_cast<char *>(outputs[i]));
    if (out[i] == nullptr) return lk_fail(error, LK_INTERNAL, "failed to run: no output");
  }
  if (plan->alias == 0 && inputs[0] == outputs[0]) return LK_OK;
  if (plan->outputs[0].dtype == LK_I64) {
    run_typed<int64_t>(plan, in.data(), out.data());
  } else {
    run_typed<float>(plan, in.data(), out.data());
  }
  return LK_OK;
}

inline lk_status op_run(lk_frame *frame, uint32_t slot, void *const *inputs, void *const *outputs,
                        lk_error *error) {
  return op_run_lane(frame, 0, slot, inputs, outputs, error);
}

inline lk_status tensor_bytes(const lk_tensor_desc *desc, uint64_t *out, lk_error *error) {
  int64_t bytes = 0;
  const lk_status status = lk_tensor_size(desc, "a tensor", nullptr, &bytes, error);
  *out = uint64_t(bytes);
  return status;
}

inline void unref(lk_ref *ref) {
  if (--ref->references > 0) return;
  ref->built.destroy(ref->built.value, ref->built.user);
  delete ref;
}

inline void clear(lk_context *context) {
  std::map<std::string, lk_ref *> old;
  {
    std::lock_guard<std::mutex> lock(context->mutex);
    old.swap(context->cache);
  }
  for (auto &entry : old) unref(entry.second);
}

inline lk_status key_create(lk_context *, lk_executor *, const lk_key_desc *desc, lk_key **out,
                            lk_error *) {
  std::string text = std::string(desc->name) + "/" + (desc->tag ? desc->tag : "");
  auto bytes = [&](const void *data, size_t size) {
    text += std::to_string(size) + ":";
    text.append(static_cast<const char *>(data), size);
  };
  for (uint32_t i = 0; i < desc->n_tensors; i++) bytes(&desc->tensors[i], sizeof(lk_tensor_desc));
  for (uint32_t i = 0; i < desc->n_attrs; i++) {
    bytes(desc->attrs[i].values, desc->attrs[i].count * sizeof(int64_t));
  }
  for (uint32_t i = 0; i < desc->n_values; i++) {
    const lk_tensor &v = desc->values[i];
    bytes(&v.desc, sizeof v.desc);
    bytes(v.data, size_t(lk_elements(&v.desc)) * lk_dtype_size(v.desc.dtype));
  }
  *out = new lk_key{text};
  return LK_OK;
}

inline lk_status get_or_create(lk_context *context, lk_executor *, const lk_key *key,
                               lk_build_fn build, void *arg, lk_ref **out, int *hit,
                               lk_error *error) {
  *out = nullptr;
  context->count.lookups++;
  {
    std::lock_guard<std::mutex> lock(context->mutex);
    auto found = context->cache.find(key->text);
    if (hit != nullptr) *hit = found != context->cache.end();
    if (found != context->cache.end()) {
      context->count.hits++;
      context->count.refs++;
      found->second->references++;
      *out = found->second;
      return LK_OK;
    }
  }
  auto *ref = new lk_ref;
  const lk_status status = build(arg, nullptr, &ref->built, error);
  if (status != LK_OK) {
    delete ref;
    return status;
  }
  ref->charged = ref->built.bytes;
  std::lock_guard<std::mutex> lock(context->mutex);
  if (context->cache.emplace(key->text, ref).second) ref->references++;
  context->count.refs++;
  *out = ref;
  return LK_OK;
}

inline lk_status get_or_create_like(lk_context *context, lk_executor *executor, const lk_key *like,
                                    const lk_key_desc *desc, lk_build_fn build, void *arg,
                                    lk_ref **out, int *hit, lk_error *error) {
  lk_key_desc named = *desc;
  named.name = like->text.c_str();
  lk_key *key = nullptr;
  (void)key_create(context, executor, &named, &key, error);
  const lk_status status = get_or_create(context, executor, key, build, arg, out, hit, error);
  delete key;
  return status;
}

inline const lk_api *api() {
  static const lk_api table = [] {
    lk_api t = {};
    t.struct_size = sizeof t;
    t.context_cache_mode = [](const lk_context *c) { return c->mode; };
    t.context_threads = [](const lk_context *c) { return c->threads; };
    t.engine_chosen = [](const lk_context *) { return "native"; };
    t.context_allocator = [](const lk_context *c) { return c->allocator.get(); };
    t.op_create = op_create;
    t.op_destroy = [](lk_op *op) {
      if (op == nullptr) return;
      op->context->count.ops--;
      delete op;
    };
    t.op_info = [](const lk_op *op, lk_op_info *info, lk_error *) {
      info->row = op_row(uint32_t(op->row - rows().data()));
      info->shape_inputs = op->row->shape_inputs;
      info->in_place_inputs = op->row->in_place;
      return LK_OK;
    };
    t.op_bind = op_bind;
    t.ops_expect = [](lk_op *const *ops, uint32_t n_ops) {
      for (uint32_t i = 0; i < n_ops; i++) EXPECT_NE(ops[i]->row, nullptr) << "an op that is open";
    };
    t.plan_info = [](const lk_plan *plan, lk_plan_info *info, lk_error *) {
      info->alias_input = plan->alias;
      info->scratch_bytes = plan->scratch_bytes;
      info->implementation = (plan->row->flags & LK_OP_WORTH_CLAIMING) != 0 ? plan->row->name : "";
      return LK_OK;
    };
    t.plan_output = [](const lk_plan *plan, uint32_t index, lk_tensor_desc *out, lk_error *) {
      *out = plan->outputs.at(index);
      return LK_OK;
    };
    t.plan_release = release;
    t.frame_create = [](lk_executor *executor, lk_frame **out, lk_error *) {
      executor->context->count.frames++;
      *out = new lk_frame{executor->context, {}};
      return LK_OK;
    };
    t.frame_bring_scratch = [](lk_frame *frame) { frame->is_brought = true; };
    t.frame_watch = [](lk_frame *, const lk_watch *, lk_error *) { return LK_OK; };
    t.thread_watch = [](lk_thread_watch *, const lk_watch *, lk_error *) { return LK_OK; };
    t.thread_unwatch = [](lk_thread_watch *) {};
    t.thread_look = [](lk_error *) { return LK_OK; };
    t.frame_reset = [](lk_frame *frame) {
      for (lk_plan *plan : frame->plans) release(plan);
      frame->plans.clear();
    };
    t.frame_destroy = [](lk_frame *frame) {
      if (frame == nullptr) return;
      for (lk_plan *plan : frame->plans) release(plan);
      frame->context->count.frames--;
      delete frame;
    };
    t.frame_attach = [](lk_frame *frame, lk_plan *plan, uint32_t *slot, lk_error *) {
      plan->references++;
      *slot = uint32_t(frame->plans.size());
      frame->plans.push_back(plan);
      return LK_OK;
    };
    t.frame_bytes = [](const lk_frame *frame) { return uint64_t(100 * frame->plans.size()); };
    t.frame_lanes = [](lk_frame *frame, uint32_t count, lk_error *) {
      frame->lanes = std::max(frame->lanes, count);
      return LK_OK;
    };
    t.processors_get = [] { return 2; };
    t.op_run = op_run;
    t.op_run_lane = op_run_lane;
    t.threads_enter = [](lk_context *context, const lk_threads_ask *ask, int32_t *out, lk_error *) {
      *out = context->grant > 0 ? std::min(context->grant, ask->most) : ask->most;
      context->count.entered++;
      return LK_OK;
    };
    t.threads_leave = [](lk_context *context) { context->count.entered--; };
    t.parallel_run = [](lk_context *, int32_t threads, lk_parallel_fn fn, void *arg) {
      std::vector<std::thread> others;
      for (int32_t i = 1; i < threads; i++) others.emplace_back(fn, arg, i, threads);
      fn(arg, 0, threads);
      for (std::thread &other : others) other.join();
    };
    t.frame_begin = [](lk_frame *frame, int32_t) {
      frame->allocations = frame->context->allocator.allocations();
    };
    t.frame_end = [](lk_frame *frame) {
      auto &count = frame->context->count;
      count.allocations_in_steps +=
          int(frame->context->allocator.allocations() - frame->allocations);
    };
    t.tensor_bytes = tensor_bytes;
    t.tensor_convert = [](const lk_tensor *from, const lk_tensor *to, lk_error *) {
      for (size_t i = 0; i < size_t(lk_elements(&from->desc)); i++) {
        static_cast<float *>(to->data)[at(to->desc, i)] =
            static_cast<const float *>(from->data)[at(from->desc, i)];
      }
      return LK_OK;
    };
    t.get_or_create = get_or_create;
    t.get_or_create_like = get_or_create_like;
    t.ref_value = [](const lk_ref *ref) { return ref->built.value; };
    t.ref_release = [](lk_ref *ref) {
      if (ref != nullptr) unref(ref);
    };
    t.ref_charge = [](lk_ref *ref, uint64_t bytes) { ref->charged = bytes; };
    t.cache_clear = [](lk_context *context, lk_executor *, lk_error *) {
      clear(context);
      return LK_OK;
    };
    t.key_create = key_create;
    t.key_destroy = [](lk_context *, lk_key *key) { delete key; };
    t.op_row = op_row;
    t.op_find = [](const char *op_type, const char *, int32_t) -> const lk_op_row * {
      const lk_op_row *row = nullptr;
      for (uint32_t i = 0; (row = op_row(i)) != nullptr; i++) {
        if (std::string(row->op_type) == op_type) return row;
      }
      return nullptr;
    };
    return t;
  }();
  return &table;
}

} // namespace lk::fake
