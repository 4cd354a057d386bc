/* The steps of a Resize that oneDNN has no primitive for. Nearest is one step. Linear and cubic are
 * separable: one pass for each dimension, through temporaries, first where most elements are lost;
 * so no temporary is larger than the input or the output. */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/resize.h"
#include "ops/resize.h"

/* Dimensions in the order of memory; neighbours that are not resized are one. */
static uint32_t collapse(const lk_tensor_desc *desc, const lk_stretch *stretches,
                         lk_stretch out[LK_MAX_RANK]) {
  uint32_t order[LK_MAX_RANK], count = 0, rank = 0;
  const bool channels_last = desc->layout == LK_LAYOUT_CHANNELS_LAST;
  for (uint32_t i = 0; i < desc->rank; i++) {
    if (!(channels_last && i == 1)) order[count++] = i;
  }
  if (channels_last) order[count++] = 1;
  for (uint32_t i = 0; i < count; i++) {
    const lk_stretch *s = &stretches[order[i]];
    if (s->same && rank > 0 && out[rank - 1].same) {
      out[rank - 1].in *= s->in;
      out[rank - 1].out *= s->out;
    } else {
      out[rank++] = *s;
    }
  }
  return rank;
}

/* A table of `head` bytes and `count` elements of `size` bytes, zeroed. */
static lk_status make_table(lk_planner *planner, size_t head, int64_t count, size_t size,
                            void **out_table, size_t *out_bytes, lk_error *error) {
  *out_table = NULL;
  int64_t bytes = 0;
  if (__builtin_mul_overflow(count, (int64_t)size, &bytes) ||
      __builtin_add_overflow(bytes, (int64_t)head, &bytes)) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to resize: tables of %" PRId64 " x %zu bytes, too large", count, size);
  }
  *out_bytes = (size_t)bytes;
  *out_table = lk_calloc(planner->env->allocator, 1, *out_bytes);
  return *out_table != NULL ? LK_OK : lk_fail_memory(error, "resize tables", *out_bytes);
}

/* ---- nearest ---- */

static lk_status plan_nearest(lk_planner *planner, const lk_resize_rule *rule,
                              const lk_stretch *dims, uint32_t rank, const lk_operand *from,
                              const lk_operand *to, lk_error *error) {
  lk_resize_gather head = {.rank = rank, .block = lk_dtype_size(from->desc.dtype)};
  /* The innermost dimension is copied in blocks when it keeps its length. */
  if (dims[rank - 1].same) {
    head.block *= (size_t)dims[rank - 1].out;
    head.rank = --rank;
  }
  int64_t step = (int64_t)head.block, count = 0;
  for (uint32_t i = rank; i-- > 0;) {
    head.dims[i] = dims[i].out;
    head.steps[i] = step;
    head.first[i] = dims[i].same ? -1 : count;
    /* No overflow: the output's bytes fit in 63 bits, and there are at most 8 dimensions. */
    if (!dims[i].same) count += dims[i].out;
    step *= dims[i].in;
  }
  lk_status status = LK_OK;
  void *table = NULL;
  size_t bytes = 0;
  LK_TRY(make_table(planner, sizeof head, count, sizeof head.offsets[0], &table, &bytes, error));
  lk_resize_gather *gather = table;
  *gather = head;
  for (uint32_t i = 0; i < rank; i++) {
    for (int64_t x = 0; x < dims[i].out && !dims[i].same; x++) {
      gather->offsets[head.first[i] + x] = lk_resize_nearest(rule, &dims[i], x) * head.steps[i];
    }
  }
  const lk_operand operands[] = {*from, *to};
  LK_TRY(lk_planner_kernel(planner, lk_resize_gather_kernel, "resize_nearest", gather, bytes,
                           operands, 2, error));
cleanup:
  lk_free(planner->env->allocator, table);
  return status;
}

/* ---- linear and cubic ---- */

static lk_status plan_pass(lk_planner *planner, const lk_resize_rule *rule, const lk_stretch *s,
                           const lk_resize_pass *head, const lk_operand operands[2],
                           lk_error *error) {
  lk_status status = LK_OK;
  const lk_allocator *allocator = planner->env->allocator;
  const size_t size = head->wide ? sizeof(double) : sizeof(float);
  void *table = NULL, *scratch = NULL;
  size_t bytes = 0, scratch_bytes = 0;
  int64_t row = 0;
  if (__builtin_mul_overflow(head->capacity, (int64_t)size, &row) ||
      __builtin_add_overflow(row, (int64_t)sizeof(lk_resize_window), &row)) {
    row = INT64_MAX; /* too large in any case */
  }
  LK_TRY(make_table(planner, sizeof *head, head->out, (size_t)row, &table, &bytes, error));
  LK_TRY(make_table(planner, 0, head->capacity, sizeof(double), &scratch, &scratch_bytes, error));
  double *weights = scratch;
  lk_resize_pass *pass = table;
  *pass = *head;
  char *row_at = (char *)(pass->windows + pass->out);
  for (int64_t x = 0; x < pass->out; x++, row_at += (size_t)pass->capacity * size) {
    pass->windows[x] = lk_resize_weigh(rule, s, x, weights);
    for (int64_t t = 0; t < pass->windows[x].count; t++) {
      if (pass->wide) {
        ((double *)(void *)row_at)[t] = weights[t];
      } else {
        ((float *)(void *)row_at)[t] = (float)weights[t];
      }
    }
  }
  LK_TRY(lk_planner_kernel(planner, lk_resize_pass_kernel, "resize_pass", pass, bytes, operands, 2,
                           error));
cleanup:
  lk_free(allocator, scratch);
  lk_free(allocator, table);
  return status;
}

/* Dimensions to resize, those that lose most elements first. Among equals the outermost: along it,
 * whole rows are summed. */
static uint32_t order_passes(const lk_stretch *dims, uint32_t rank, uint32_t order[LK_MAX_RANK]) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < rank; i++) {
    if (dims[i].same) continue;
    uint32_t at = count++;
    const double ratio = (double)dims[i].out / (double)dims[i].in;
    for (; at > 0; at--) {
      const lk_stretch *before = &dims[order[at - 1]];
      if ((double)before->out / (double)before->in <= ratio) break;
      order[at] = order[at - 1];
    }
    order[at] = i;
  }
  return count;
}

/* A pass reads what the one before it wrote: two temporaries in turn, as far as there are passes
 * between. The first and the last may convert elements. */
static lk_status plan_passes(lk_planner *planner, const lk_resize_rule *rule,
                             const lk_stretch *dims, uint32_t rank, const lk_operand *from,
                             const lk_operand *to, lk_error *error) {
  const uint32_t type = from->desc.dtype, wide = lk_resize_wide(type);
  const bool converts = type != wide;
  const int64_t in_count = lk_elements(&from->desc), out_count = lk_elements(&to->desc);
  uint32_t order[LK_MAX_RANK];
  const uint32_t n_resized = order_passes(dims, rank, order);
  const uint32_t n_passes = n_resized + (converts ? 2 : 0);
  int64_t most = 0, length = in_count;
  if (converts) most = in_count > out_count ? in_count : out_count;
  for (uint32_t i = 0; i + 1 < n_resized; i++) {
    length = length / dims[order[i]].in * dims[order[i]].out;
    if (length > most) most = length;
  }
  const lk_tensor_desc desc = lk_tensor_desc_make(wide, 1, &most);
  lk_operand temps[2];
  for (uint32_t i = 0; i < 2 && i + 1 < n_passes; i++) {
    LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, &temps[i], error));
  }
  int64_t lengths[LK_MAX_RANK] = {0};
  for (uint32_t i = 0; i < rank; i++) lengths[i] = dims[i].in;
  for (uint32_t i = 0; i < n_passes; i++) {
    const bool first = i == 0, last = i + 1 == n_passes;
    const lk_operand operands[] = {first ? *from : temps[(i - 1) % 2], last ? *to : temps[i % 2]};
    if (converts && (first || last)) {
      const lk_resize_convert convert = {
          .dtype = type, .narrows = last, .count = last ? out_count : in_count};
      LK_RETURN_NOT_OK(lk_planner_kernel(planner, lk_resize_convert_kernel, "resize_convert",
                                         &convert, sizeof convert, operands, 2, error));
      continue;
    }
    const uint32_t axis = order[converts ? i - 1 : i];
    lk_resize_pass head = {
        .wide = wide == LK_F64, .outer = 1, .in = dims[axis].in, .out = dims[axis].out, .inner = 1};
    for (uint32_t k = 0; k < axis; k++) head.outer *= lengths[k];
    for (uint32_t k = axis + 1; k < rank; k++) head.inner *= lengths[k];
    head.capacity = lk_resize_capacity(rule, &dims[axis]);
    lengths[axis] = head.out;
    LK_RETURN_NOT_OK(plan_pass(planner, rule, &dims[axis], &head, operands, error));
  }
  return LK_OK;
}

/* ---- the extrapolation value ---- */

static lk_status plan_outside(lk_planner *planner, const lk_resize_rule *rule, float value,
                              const lk_stretch *dims, uint32_t rank, const lk_operand *to,
                              lk_error *error) {
  if (rule->coordinates != LK_TF_CROP_AND_RESIZE) return LK_OK;
  lk_resize_outside head = {.rank = rank, .block = lk_dtype_size(to->desc.dtype)};
  lk_resize_element(to->desc.dtype, (double)value, head.value);
  int64_t count = 0;
  for (uint32_t i = 0; i < rank; i++) {
    head.dims[i] = dims[i].out;
    head.first[i] = dims[i].same ? -1 : count;
    if (!dims[i].same) count += dims[i].out;
  }
  lk_status status = LK_OK;
  void *table = NULL;
  size_t bytes = 0;
  LK_TRY(make_table(planner, sizeof head, count, sizeof(bool), &table, &bytes, error));
  lk_resize_outside *outside = table;
  *outside = head;
  bool any = false;
  for (uint32_t i = 0; i < rank; i++) {
    for (int64_t x = 0; x < dims[i].out && !dims[i].same; x++) {
      bool *at = &outside->outside[head.first[i] + x];
      *at = lk_resize_is_outside(rule, &dims[i], x);
      any = any || *at;
    }
  }
  if (any) {
    LK_TRY(lk_planner_kernel(planner, lk_resize_outside_kernel, "resize_outside", outside, bytes,
                             to, 1, error));
  }
cleanup:
  lk_free(planner->env->allocator, table);
  return status;
}

lk_status lk_resize_plan_kernels(lk_planner *planner, const lk_resize_params *params,
                                 const lk_stretch *stretches, const lk_operand *from,
                                 const lk_operand *to, lk_error *error) {
  lk_stretch dims[LK_MAX_RANK] = {{0}};
  const uint32_t rank = collapse(&from->desc, stretches, dims);
  const lk_resize_rule *rule = &params->rule;
  LK_RETURN_NOT_OK(rule->mode == LK_RESIZE_NEAREST
                       ? plan_nearest(planner, rule, dims, rank, from, to, error)
                       : plan_passes(planner, rule, dims, rank, from, to, error));
  return plan_outside(planner, rule, params->extrapolation, dims, rank, to, error);
}
