#include "operators.h"

#include <stdatomic.h>
#include <stdbool.h>

static atomic_long asked[OPERATOR_KINDS], built[OPERATOR_KINDS];

operator_counts counts_of(operator_kind kind) {
  return (operator_counts){atomic_load(&asked[kind]), atomic_load(&built[kind])};
}

/* ---- what is the same for all ---- */

/* An argument of a run. */
typedef struct argument {
  int arg;
  const void *data;
} argument;

static void add_matrix(lk_dnnl_spec *spec, int arg, matrix of) {
  const int64_t dims[] = {of.rows, of.columns};
  lk_dnnl_add_tensor(spec, arg, dnnl_f32, 2, dims, NULL);
}

/* The result of an operator that may write over `input`. */
static void add_result(lk_dnnl_spec *spec, matrix input, matrix result) {
  add_matrix(spec, DNNL_ARG_DST, result);
  lk_dnnl_add_int(spec, "in_place", input.data == result.data);
}

/* What is read and written at one place must lie alike. No descriptor says that it is one place:
 * only the spec does. */
static bool can_be_made(const lk_dnnl_spec *spec, int input) {
  return lk_dnnl_int(spec, "in_place") == 0 ||
         dnnl_memory_desc_equal(lk_dnnl_desc(spec, input), lk_dnnl_desc(spec, DNNL_ARG_DST)) != 0;
}

static lk_status run(const lk_dnnl *cache, lk_ref *primitive, dnnl_stream_t stream,
                     const argument *arguments, int count, lk_error *error) {
  lk_dnnl_lease lease;
  lk_status status = lk_dnnl_lease_begin(cache, primitive, &lease, error);
  for (int i = 0; i < count && status == LK_OK; i++) {
    status = lk_dnnl_set(&lease, arguments[i].arg, (void *)(uintptr_t)arguments[i].data, error);
  }
  if (status == LK_OK) status = lk_dnnl_run(&lease, stream, error);
  lk_dnnl_lease_end(&lease);
  return status;
}

static lk_status get(const lk_dnnl *cache, operator_kind kind, lk_dnnl_spec *spec,
                     lk_dnnl_make_fn make, lk_ref **out_primitive, lk_error *error) {
  atomic_fetch_add(&asked[kind], 1);
  return lk_dnnl_get(cache, spec, make, out_primitive, NULL, error);
}

static lk_status get_and_run(const lk_dnnl *cache, operator_kind kind, lk_dnnl_spec *spec,
                             lk_dnnl_make_fn make, dnnl_stream_t stream, const argument *arguments,
                             int count, lk_error *error) {
  lk_ref *primitive = NULL;
  lk_status status = get(cache, kind, spec, make, &primitive, error);
  if (status == LK_OK) status = run(cache, primitive, stream, arguments, count, error);
  cache->api->ref_release(primitive);
  return status;
}

/* ---- softmax ---- */

static dnnl_status_t make_softmax(const lk_dnnl_spec *spec, dnnl_engine_t engine,
                                  const_dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *out) {
  atomic_fetch_add(&built[SOFTMAX], 1);
  if (!can_be_made(spec, DNNL_ARG_SRC)) return dnnl_invalid_arguments;
  return dnnl_softmax_forward_primitive_desc_create(
      out, engine, dnnl_forward_inference, dnnl_softmax_accurate, lk_dnnl_desc(spec, DNNL_ARG_SRC),
      lk_dnnl_desc(spec, DNNL_ARG_DST), (int)lk_dnnl_int(spec, "axis"), attr);
}

lk_status run_softmax(const lk_dnnl *cache, dnnl_stream_t stream, matrix x, matrix y,
                      lk_error *error) {
  const argument arguments[] = {{DNNL_ARG_SRC, x.data}, {DNNL_ARG_DST, y.data}};
  lk_dnnl_spec spec;
  lk_dnnl_begin(cache, &spec, dnnl_softmax, 0);
  add_matrix(&spec, DNNL_ARG_SRC, x);
  add_result(&spec, x, y);
  lk_dnnl_add_int(&spec, "axis", 1);
  return get_and_run(cache, SOFTMAX, &spec, make_softmax, stream, arguments, 2, error);
}

/* ---- activation ---- */

static dnnl_status_t make_activation(const lk_dnnl_spec *spec, dnnl_engine_t engine,
                                     const_dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *out) {
  atomic_fetch_add(&built[ACTIVATION], 1);
  if (!can_be_made(spec, DNNL_ARG_SRC)) return dnnl_invalid_arguments;
  return dnnl_eltwise_forward_primitive_desc_create(
      out, engine, dnnl_forward_inference, (dnnl_alg_kind_t)lk_dnnl_int(spec, "algorithm"),
      lk_dnnl_desc(spec, DNNL_ARG_SRC), lk_dnnl_desc(spec, DNNL_ARG_DST), 0, 0, attr);
}

lk_status run_activation(const lk_dnnl *cache, dnnl_stream_t stream, activation kind, matrix x,
                         matrix y, lk_error *error) {
  const argument arguments[] = {{DNNL_ARG_SRC, x.data}, {DNNL_ARG_DST, y.data}};
  lk_dnnl_spec spec;
  lk_dnnl_begin(cache, &spec, dnnl_eltwise, 0);
  add_matrix(&spec, DNNL_ARG_SRC, x);
  add_result(&spec, x, y);
  lk_dnnl_add_int(&spec, "algorithm", kind == RELU ? dnnl_eltwise_relu : dnnl_eltwise_gelu_erf);
  return get_and_run(cache, ACTIVATION, &spec, make_activation, stream, arguments, 2, error);
}

/* ---- multiplication ---- */

static dnnl_status_t make_multiply(const lk_dnnl_spec *spec, dnnl_engine_t engine,
                                   const_dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *out) {
  atomic_fetch_add(&built[MULTIPLY], 1);
  if (!can_be_made(spec, DNNL_ARG_SRC_0)) return dnnl_invalid_arguments;
  return dnnl_binary_primitive_desc_create(
      out, engine, dnnl_binary_mul, lk_dnnl_desc(spec, DNNL_ARG_SRC_0),
      lk_dnnl_desc(spec, DNNL_ARG_SRC_1), lk_dnnl_desc(spec, DNNL_ARG_DST), attr);
}

lk_status run_multiply(const lk_dnnl *cache, dnnl_stream_t stream, matrix a, matrix b, matrix y,
                       lk_error *error) {
  const argument arguments[] = {
      {DNNL_ARG_SRC_0, a.data}, {DNNL_ARG_SRC_1, b.data}, {DNNL_ARG_DST, y.data}};
  lk_dnnl_spec spec;
  lk_dnnl_begin(cache, &spec, dnnl_binary, 0);
  add_matrix(&spec, DNNL_ARG_SRC_0, a);
  add_matrix(&spec, DNNL_ARG_SRC_1, b);
  add_result(&spec, a, y);
  return get_and_run(cache, MULTIPLY, &spec, make_multiply, stream, arguments, 3, error);
}

/* ---- matmul ---- */

static uint64_t bytes_of(matrix m) {
  return (uint64_t)(m.rows * m.columns) * sizeof *m.data;
}

lk_status weights_open(const lk_dnnl *cache, matrix plain, weights *out, lk_error *error) {
  const dnnl_dims_t dims = {plain.rows, plain.columns};
  *out = (weights){.plain = plain};
  lk_status status =
      lk_dnnl_check(error, dnnl_memory_desc_create_with_tag(&out->desc, 2, dims, dnnl_f32, dnnl_ab),
                    "describe weights");
  if (status == LK_OK) {
    status = cache->api->constant_create(cache->context, plain.data, bytes_of(plain), 0,
                                         &out->constant, error);
  }
  if (status != LK_OK) weights_close(cache, out);
  return status;
}

void weights_close(const lk_dnnl *cache, weights *self) {
  cache->api->constant_release(self->constant);
  if (self->desc != NULL) (void)dnnl_memory_desc_destroy(self->desc);
  *self = (weights){0};
}

static dnnl_status_t make_matmul(const lk_dnnl_spec *spec, dnnl_engine_t engine,
                                 const_dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *out) {
  atomic_fetch_add(&built[MATMUL], 1);
  return dnnl_matmul_primitive_desc_create(out, engine, lk_dnnl_desc(spec, DNNL_ARG_SRC),
                                           lk_dnnl_desc(spec, DNNL_ARG_WEIGHTS), NULL,
                                           lk_dnnl_desc(spec, DNNL_ARG_DST), attr);
}

/* The primitive chooses how its weights lie; they are packed so once, for all sizes, executors and
 * threads that want the same. */
lk_status run_matmul(const lk_dnnl *cache, dnnl_stream_t stream, matrix x, const weights *w,
                     matrix y, lk_error *error) {
  const int64_t dims[] = {w->plain.rows, w->plain.columns};
  lk_dnnl_spec spec;
  lk_ref *primitive = NULL;
  lk_packed *packed = NULL;
  lk_dnnl_begin(cache, &spec, dnnl_matmul, 0);
  add_matrix(&spec, DNNL_ARG_SRC, x);
  lk_dnnl_add_any(&spec, DNNL_ARG_WEIGHTS, dnnl_f32, 2, dims);
  add_matrix(&spec, DNNL_ARG_DST, y);
  lk_status status = get(cache, MATMUL, &spec, make_matmul, &primitive, error);
  if (status == LK_OK) {
    status =
        lk_dnnl_pack(cache, w->constant, bytes_of(w->plain), w->desc,
                     lk_dnnl_wanted(cache, primitive, DNNL_ARG_WEIGHTS), stream, &packed, error);
  }
  if (status == LK_OK) {
    const argument arguments[] = {
        {DNNL_ARG_SRC, x.data},
        {DNNL_ARG_WEIGHTS, packed != NULL ? cache->api->packed_data(packed) : w->plain.data},
        {DNNL_ARG_DST, y.data}};
    status = run(cache, primitive, stream, arguments, 3, error);
  }
  cache->api->packed_release(packed);
  cache->api->ref_release(primitive);
  return status;
}
