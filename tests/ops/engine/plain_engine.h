// An engine in plain loops that counts what it is asked for, and fails where a test says so. It
// takes products of two matrices, whose right one it packs transposed, with an addition and a Relu
// behind it, Softmax along channels that lie last, and where a test says so, functions of a tensor,
// and sums over windows of one element.
#pragma once

#include <latchkey/engine.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

namespace lk {

struct PlainEngine {
  struct Value {
    lk_work work;
    int64_t layout[2];
  };
  struct Slot {
    const Value *value;
    bool is_running;
  };

  std::atomic<int> offers{0}, builds{0}, destroyed{0}, packs{0}, opened{0}, closed{0}, runs{0},
      engines_closed{0};
  std::atomic<uint32_t> constants{0}, roles{0}; // of the last work that was offered
  lk_status build_status = LK_OK, pack_status = LK_OK, open_status = LK_OK, run_status = LK_OK;
  bool gives_nothing = false, gives_no_name = false, is_reference = false, has_slots = true,
       is_silent = false;
  uint32_t functions = 0; // that it takes at most
  bool pools = false;
  bool turns = false; // and wants dst channels-last, while src lies plain
  int bad_offer = 0;  // 1: too many post-ops, 2: a layout that src cannot have, 3: one for a placed
  std::function<void()> within_build = [] {}, within_offer = [] {};
  uint64_t bytes = 1000, scratch_bytes = 0;
  double run_ratio = 0, build_ns = 0; // of its offers

  lk_engine table(const char *name = "plain", const char *state = "1") {
    lk_engine made = {};
    made.struct_size = sizeof made;
    made.version = LK_ENGINE_VERSION;
    made.name = name;
    made.state = state;
    made.self = this;
    made.offer = offer;
    made.build = build;
    made.destroy = destroy;
    made.pack = pack;
    made.slot_open = slot_open;
    made.slot_close = slot_close;
    made.run = run;
    made.close = close;
    return made;
  }

private:
  static PlainEngine &of(void *self) { return *static_cast<PlainEngine *>(self); }
  static lk_status fail(lk_error *error, lk_status status, const char *what) {
    if (status != LK_OK && error != nullptr) {
      error->status = status;
      std::snprintf(error->message, sizeof error->message, "the plain engine fails to %s", what);
    }
    return status;
  }

  static int offer(void *self, const lk_work *work, uint32_t placed, lk_offer *inout) {
    of(self).offers++;
    of(self).within_offer();
    of(self).constants = work->constants;
    of(self).roles = work->roles;
    inout->run_ratio = of(self).run_ratio;
    inout->build_ns = of(self).build_ns;
    for (uint32_t role = 0; role < LK_ROLES; role++) { // what is absent is 0
      static const lk_tensor_desc none = {};
      const bool is_there = (work->roles >> role & 1) != 0;
      if (!is_there && std::memcmp(&work->tensors[role], &none, sizeof none) != 0) std::abort();
    }
    if (of(self).bad_offer != 0) {
      inout->n_post_ops += of(self).bad_offer == 1 ? 1 : 0;
      if (of(self).bad_offer == 2) inout->layouts[LK_ROLE_SRC] = LK_LAYOUT_ANY;
      if (of(self).bad_offer == 3) inout->layouts[LK_ROLE_SRC] = LK_LAYOUT_HEADS_INSIDE;
      return 1;
    }
    const lk_tensor_desc &src = work->tensors[LK_ROLE_SRC];
    if (src.dtype != LK_F32) return 0;
    if (work->kind == LK_WORK_SOFTMAX && src.rank == 4 && work->axes == 2) {
      if ((placed & 1u << LK_ROLE_SRC) != 0 && src.layout != LK_LAYOUT_CHANNELS_LAST) return 0;
      inout->layouts[LK_ROLE_SRC] = inout->layouts[LK_ROLE_DST] = LK_LAYOUT_CHANNELS_LAST;
      return 1;
    }
    if (work->kind == LK_WORK_ELEMENT && of(self).functions > 0) {
      inout->layouts[LK_ROLE_SRC] = LK_LAYOUT_PLAIN;
      inout->layouts[LK_ROLE_DST] = of(self).turns ? LK_LAYOUT_CHANNELS_LAST : LK_LAYOUT_PLAIN;
      if (inout->n_post_ops > of(self).functions) inout->n_post_ops = of(self).functions;
      return 1;
    }
    if (work->kind == LK_WORK_POOL && of(self).pools && work->pooling == LK_POOLING_TOTAL) {
      inout->layouts[LK_ROLE_SRC] = inout->layouts[LK_ROLE_DST] = LK_LAYOUT_PLAIN;
      return 1;
    }
    if (work->kind != LK_WORK_PRODUCT || src.rank != 2 ||
        work->tensors[LK_ROLE_WEIGHTS].rank != 2 || work->orders[0].swaps != 0 ||
        work->orders[1].swaps != 0) {
      inout->reason = "it has loops for products alone";
      return 0;
    }
    const bool is_packed = (work->constants >> LK_ROLE_WEIGHTS & 1) != 0;
    inout->layouts[LK_ROLE_SRC] = inout->layouts[LK_ROLE_DST] = LK_LAYOUT_PLAIN;
    inout->layouts[LK_ROLE_WEIGHTS] = is_packed ? LK_LAYOUT_ANY : LK_LAYOUT_PLAIN;
    uint32_t count = 0;
    for (; count < work->n_post_ops; count++) {
      const lk_work_post_op &post_op = work->post_ops[count];
      const lk_tensor_desc &dst = work->tensors[LK_ROLE_DST];
      if (post_op.kind == LK_POST_RELU && post_op.alpha == 0) continue;
      if (post_op.kind != LK_POST_ADD) break;
      const lk_tensor_desc &operand = work->tensors[post_op.operand];
      if (operand.rank != 2 || std::memcmp(operand.dims, dst.dims, 16) != 0) break;
      inout->layouts[post_op.operand] = LK_LAYOUT_PLAIN;
    }
    inout->n_post_ops = count;
    return 1;
  }
  static lk_status build(void *self, const lk_work *work, lk_engine_value *out, lk_error *error) {
    of(self).builds++;
    of(self).within_build();
    if (of(self).build_status != LK_OK) return fail(error, of(self).build_status, "build");
    if (of(self).gives_nothing) return LK_OK;
    auto *value = new Value{
        *work, {work->tensors[LK_ROLE_WEIGHTS].dims[0], work->tensors[LK_ROLE_WEIGHTS].dims[1]}};
    out->value = value;
    out->implementation = of(self).gives_no_name ? nullptr : "plain loops";
    out->slot_bytes = 100;
    out->bytes = of(self).bytes;
    out->scratch_bytes = of(self).scratch_bytes;
    out->is_reference = of(self).is_reference ? 1 : 0;
    if (work->tensors[LK_ROLE_WEIGHTS].layout == LK_LAYOUT_ANY) {
      out->packed[LK_ROLE_WEIGHTS] = {value->layout, sizeof value->layout,
                                      uint64_t(value->layout[0] * value->layout[1]) * 4};
    }
    return LK_OK;
  }
  static void destroy(void *self, void *value) {
    of(self).destroyed++;
    delete static_cast<Value *>(value);
  }
  static lk_status pack(void *self, const void *value, uint32_t role, const void *plain,
                        void *packed, lk_error *error) {
    of(self).packs++;
    const int64_t *dims = static_cast<const Value *>(value)->work.tensors[role].dims;
    for (int64_t i = 0; i < dims[0]; i++) {
      for (int64_t k = 0; k < dims[1]; k++) {
        std::memcpy(static_cast<float *>(packed) + k * dims[0] + i,
                    static_cast<const char *>(plain) + (i * dims[1] + k) * 4, 4);
      }
    }
    return fail(error, of(self).pack_status, "pack");
  }
  static lk_status slot_open(void *self, const void *value, void **out, lk_error *error) {
    if (of(self).open_status != LK_OK) return fail(error, of(self).open_status, "open a slot");
    of(self).opened++;
    if (!of(self).has_slots) return LK_OK; // it needs nothing
    *out = new Slot{static_cast<const Value *>(value), false};
    return LK_OK;
  }
  static void slot_close(void *self, const void *, void *slot) {
    of(self).closed++;
    delete static_cast<Slot *>(slot);
  }
  static lk_status run(void *self, const void *of_value, void *of_slot, void *const *pointers,
                       lk_error *error) {
    auto *value = static_cast<const Value *>(of_value);
    auto *slot = static_cast<Slot *>(of_slot);
    of(self).runs++;
    Slot none = {value, false};
    if (slot == nullptr) slot = &none;
    if (slot->value != value || slot->is_running) std::abort(); // a slot of its own, one at a time
    slot->is_running = true;
    if (of(self).run_status == LK_OK) {
      if (value->work.kind == LK_WORK_PRODUCT) {
        multiply(value->work, pointers);
      } else if (value->work.kind == LK_WORK_ELEMENT) {
        apply(value->work, pointers);
      } else if (value->work.kind == LK_WORK_POOL) {
        copy(value->work, pointers);
      } else {
        softmax(value->work, pointers);
      }
      if (of(self).scratch_bytes > 0) {
        void *scratch = pointers[__builtin_popcount(value->work.roles)];
        if (uintptr_t(scratch) % 64 != 0) std::abort();
        std::memset(scratch, 0x7f, of(self).scratch_bytes);
      }
    }
    slot->is_running = false;
    return fail(of(self).is_silent ? nullptr : error, of(self).run_status, "run");
  }
  static void close(void *self) { of(self).engines_closed++; }

  static void copy(const lk_work &work, void *const *pointers) {
    const lk_tensor_desc &src = work.tensors[LK_ROLE_SRC];
    for (uint32_t i = 0; i < work.window.rank; i++) {
      if (work.window.kernel[i] != 1 || work.window.strides[i] != 1) std::abort();
    }
    size_t bytes = sizeof(float);
    for (uint32_t i = 0; i < src.rank; i++) bytes *= size_t(src.dims[i]);
    std::memcpy(pointers[1], pointers[0], bytes);
  }
  static float apply(const lk_work_post_op &function, float x) {
    switch (function.kind) {
    case LK_FUNCTION_ELU:
      return x < 0 ? function.alpha * (std::exp(function.beta * x) - 1) : x;
    case LK_POST_LINEAR:
      return function.alpha * x + function.beta;
    case LK_POST_RELU:
      return x < 0 ? function.alpha * x : x;
    default:
      std::abort();
    }
  }
  static void apply(const lk_work &work, void *const *pointers) {
    const lk_tensor_desc &src = work.tensors[LK_ROLE_SRC];
    int64_t count = 1;
    for (uint32_t i = 0; i < src.rank; i++) count *= src.dims[i];
    for (int64_t i = 0; i < count; i++) {
      float x = static_cast<const float *>(pointers[0])[i];
      for (uint32_t k = 0; k < work.n_post_ops; k++) x = apply(work.post_ops[k], x);
      static_cast<float *>(pointers[1])[i] = x;
    }
  }

  static void multiply(const lk_work &work, void *const *pointers) {
    const auto *a = static_cast<const float *>(pointers[0]);
    const auto *b = static_cast<const float *>(pointers[1]);
    auto *c = static_cast<float *>(pointers[2]);
    const int64_t *dims = work.tensors[LK_ROLE_WEIGHTS].dims;
    const bool is_packed = work.tensors[LK_ROLE_WEIGHTS].layout == LK_LAYOUT_ANY;
    const int64_t rows = work.tensors[LK_ROLE_SRC].dims[0];
    for (int64_t i = 0; i < rows * dims[1]; i++) {
      float sum = 0;
      for (int64_t k = 0; k < dims[0]; k++) {
        const int64_t column = i % dims[1];
        sum += a[i / dims[1] * dims[0] + k] *
               b[is_packed ? column * dims[0] + k : k * dims[1] + column];
      }
      const void *const *operand = pointers + 3;
      for (uint32_t p = 0; p < work.n_post_ops; p++) {
        if (work.post_ops[p].kind == LK_POST_ADD) {
          sum += static_cast<const float *>(*operand++)[i];
        } else {
          sum = std::fmax(sum, 0.0f);
        }
      }
      c[i] = sum;
    }
  }
  static void softmax(const lk_work &work, void *const *pointers) {
    const lk_tensor_desc &src = work.tensors[LK_ROLE_SRC];
    const auto *x = static_cast<const float *>(pointers[0]);
    auto *y = static_cast<float *>(pointers[1]);
    const int64_t n = src.dims[1], lines = src.dims[0] * src.dims[2] * src.dims[3];
    for (int64_t line = 0; line < lines; line++, x += n, y += n) {
      double total = 0;
      for (int64_t i = 0; i < n; i++) total += std::exp(double(x[i]));
      for (int64_t i = 0; i < n; i++) y[i] = float(std::exp(double(x[i])) / total);
    }
  }
};

} // namespace lk
