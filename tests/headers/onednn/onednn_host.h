// A host with a oneDNN of its own, for tests of latchkey/onednn.h.
#pragma once

#include <latchkey/onednn.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/plugin/handles.h"

namespace lk {

#define LK_ASSERT_DNNL(expression) ASSERT_EQ(dnnl_success, expression)

inline void end_stream(dnnl_stream_t stream) {
  EXPECT_EQ(dnnl_stream_destroy(stream), dnnl_success);
}
inline void end_desc(dnnl_memory_desc_t desc) {
  EXPECT_EQ(dnnl_memory_desc_destroy(desc), dnnl_success);
}
inline void end_post_ops(dnnl_post_ops_t ops) {
  EXPECT_EQ(dnnl_post_ops_destroy(ops), dnnl_success);
}
inline void end_host_ref(lk_ref *ref) {
  api()->ref_release(ref);
}
using Stream = Owned<dnnl_stream, end_stream>;
using Desc = Owned<dnnl_memory_desc, end_desc>;
using PostOps = Owned<dnnl_post_ops, end_post_ops>;
using Ref = Owned<lk_ref, end_host_ref>;
using Dims = std::vector<int64_t>;

inline Desc desc_of(const Dims &dims, dnnl_data_type_t type, dnnl_format_tag_t tag) {
  Desc desc;
  dnnl_dims_t all = {};
  std::copy(dims.begin(), dims.end(), all);
  EXPECT_EQ(dnnl_memory_desc_create_with_tag(desc.out(), int(dims.size()), all, type, tag),
            dnnl_success);
  return desc;
}

// One engine for the process, and oneDNN without a cache of its own.
inline dnnl_engine_t test_engine() {
  static const dnnl_engine_t engine = [] {
    dnnl_engine_t made = nullptr;
    EXPECT_EQ(dnnl_set_primitive_cache_capacity(0), dnnl_success);
    EXPECT_EQ(dnnl_engine_create(&made, dnnl_cpu, 0), dnnl_success);
    return made;
  }();
  return engine;
}

inline Stream test_stream() {
  Stream stream;
  EXPECT_EQ(dnnl_stream_create(stream.out(), test_engine(), dnnl_stream_default_flags),
            dnnl_success);
  return stream;
}

// A context with a oneDNN.
class OnednnHost : public ::testing::Test {
protected:
  void SetUp() override {
    LK_ASSERT_OK(lk_dnnl_open(api(), context, nullptr, test_engine(), 0, 1, &cache, LK_ERR));
  }
  void TearDown() override { lk_dnnl_close(&cache); }

  lk_kind_stats counts() { return stats(context).kind[LK_KIND_USER]; }

  Context context = open(LK_CACHE_SHARED);
  lk_dnnl cache = {};
};

inline void add_tensor(lk_dnnl_spec *spec, int arg, const Dims &dims,
                       dnnl_data_type_t type = dnnl_f32) {
  lk_dnnl_add_tensor(spec, arg, type, int(dims.size()), dims.data(), nullptr);
}

// ---- y = f(x), element by element ----

inline dnnl_status_t make_eltwise(const lk_dnnl_spec *spec, dnnl_engine_t engine,
                                  const_dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *out) {
  return dnnl_eltwise_forward_primitive_desc_create(
      out, engine, dnnl_forward_inference,
      static_cast<dnnl_alg_kind_t>(lk_dnnl_int(spec, "algorithm")),
      lk_dnnl_desc(spec, DNNL_ARG_SRC), lk_dnnl_desc(spec, DNNL_ARG_DST),
      lk_dnnl_float(spec, "alpha"), lk_dnnl_float(spec, "beta"), attr);
}

// y = alpha * x + 1
inline void ask_linear(const lk_dnnl &cache, lk_dnnl_spec *spec, int64_t size, float alpha) {
  lk_dnnl_begin(&cache, spec, dnnl_eltwise, 0);
  add_tensor(spec, DNNL_ARG_SRC, {size});
  add_tensor(spec, DNNL_ARG_DST, {size});
  lk_dnnl_add_int(spec, "algorithm", dnnl_eltwise_linear);
  lk_dnnl_add_float(spec, "alpha", alpha);
  lk_dnnl_add_float(spec, "beta", 1);
}

inline Ref get_linear(const lk_dnnl &cache, int64_t size, float alpha, int *out_hit = nullptr) {
  lk_dnnl_spec spec;
  Ref ref;
  ask_linear(cache, &spec, size, alpha);
  LK_EXPECT_OK(lk_dnnl_get(&cache, &spec, make_eltwise, ref.out(), out_hit, LK_ERR));
  return ref;
}

// ---- products ----

inline dnnl_status_t make_matmul(const lk_dnnl_spec *spec, dnnl_engine_t engine,
                                 const_dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *out) {
  return dnnl_matmul_primitive_desc_create(out, engine, lk_dnnl_desc(spec, DNNL_ARG_SRC),
                                           lk_dnnl_desc(spec, DNNL_ARG_WEIGHTS), nullptr,
                                           lk_dnnl_desc(spec, DNNL_ARG_DST), attr);
}

// A matmul of 8-bit weights in the layout that it likes for sources of `type`, with a zero point or
// without: where the processor multiplies u8 with s8, sums for s8 and for zero points lie behind
// the weights.
inline Ref get_byte_product(const lk_dnnl &cache, dnnl_data_type_t type, bool has_zero_point,
                            int64_t rows, int64_t inner, int64_t columns) {
  lk_dnnl_spec spec;
  Ref ref;
  const int64_t weights[] = {inner, columns};
  lk_dnnl_begin(&cache, &spec, dnnl_matmul, 0);
  add_tensor(&spec, DNNL_ARG_SRC, {rows, inner}, type);
  lk_dnnl_add_any(&spec, DNNL_ARG_WEIGHTS, dnnl_s8, 2, weights);
  add_tensor(&spec, DNNL_ARG_DST, {rows, columns});
  if (has_zero_point) lk_dnnl_add_zero_points(&spec, DNNL_ARG_SRC, 0);
  LK_EXPECT_OK(lk_dnnl_get(&cache, &spec, make_matmul, ref.out(), nullptr, LK_ERR));
  return ref;
}

// What a run gets for an argument.
struct Argument {
  int arg;
  void *data;
};

inline lk_status run(const lk_dnnl &cache, lk_ref *ref, dnnl_stream_t stream,
                     const std::vector<Argument> &arguments, lk_error *error) {
  lk_dnnl_lease lease;
  lk_status status = lk_dnnl_lease_begin(&cache, ref, &lease, error);
  for (const Argument &argument : arguments) {
    if (status == LK_OK) status = lk_dnnl_set(&lease, argument.arg, argument.data, error);
  }
  if (status == LK_OK) status = lk_dnnl_run(&lease, stream, error);
  lk_dnnl_lease_end(&lease);
  return status;
}

} // namespace lk
