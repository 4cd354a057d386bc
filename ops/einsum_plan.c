/* The steps of Einsum: two operands at a time, by a matrix product where their type has one and
 * they share labels that are summed, else by an element-wise product and a sum. */
#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/einsum.h"
#include "ops/kernel/strides.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/product_steps.h"
#include "ops/plan/reduction.h"

/* An operand by its labels: those of size 1, and those along which it is repeated, are left out.
 * A label that its term has twice is its diagonal. */
typedef struct view {
  lk_operand operand;
  uint32_t n;
  uint8_t labels[LK_MAX_RANK];
  int64_t strides[LK_MAX_RANK]; /* elements */
} view;

/* Labels in an order. */
typedef struct label_list {
  uint32_t n;
  uint8_t labels[2 * LK_MAX_RANK];
} label_list;

typedef struct contraction {
  lk_planner *planner;
  const int64_t *dims; /* by label */
  label_list output;
  uint32_t dtype;   /* that is computed in */
  bool *is_written; /* the output, by a step of its own */
} contraction;

/* ---- labels ---- */

static uint64_t bit_of(uint8_t label) {
  return UINT64_C(1) << label;
}
static uint64_t set_of(const view *self) {
  uint64_t set = 0;
  for (uint32_t i = 0; i < self->n; i++) set |= bit_of(self->labels[i]);
  return set;
}
static uint64_t set_of_list(const label_list *list) {
  uint64_t set = 0;
  for (uint32_t i = 0; i < list->n; i++) set |= bit_of(list->labels[i]);
  return set;
}

static int64_t stride_of(const view *self, uint8_t label) {
  for (uint32_t i = 0; i < self->n; i++) {
    if (self->labels[i] == label) return self->strides[i];
  }
  return 0;
}

static void append(label_list *list, const label_list *others, uint64_t set) {
  for (uint32_t i = 0; i < others->n; i++) {
    if ((set & bit_of(others->labels[i])) != 0) list->labels[list->n++] = others->labels[i];
  }
}

/* The labels of a view, the outermost first. */
static label_list order_of(const view *self) {
  label_list list = {0};
  for (uint32_t i = 0; i < self->n; i++) {
    uint32_t at = list.n++;
    for (; at > 0 && stride_of(self, list.labels[at - 1]) < self->strides[i]; at--) {
      list.labels[at] = list.labels[at - 1];
    }
    list.labels[at] = self->labels[i];
  }
  return list;
}

/* Those of `set`: first as the output has them, then as the view has them. */
static label_list choose_order(const contraction *self, const view *from, uint64_t set) {
  label_list list = {0};
  const label_list own = order_of(from);
  append(&list, &self->output, set);
  append(&list, &own, set & ~set_of_list(&list));
  return list;
}

/* Of labels that lie behind each other like one dimension: its size and stride. */
static bool merges(const contraction *self, const view *from, const label_list *list,
                   int64_t *out_size, int64_t *out_stride) {
  int64_t size = 1, stride = 0;
  for (uint32_t i = list->n; i-- > 0; size *= self->dims[list->labels[i]]) {
    const int64_t own = stride_of(from, list->labels[i]);
    if (i == list->n - 1) stride = own;
    if (own != stride * size) return false;
  }
  *out_size = size;
  *out_stride = stride;
  return true;
}

/* ---- operands ---- */

static lk_status describe(const contraction *self, const label_list *list, lk_tensor_desc *out,
                          lk_error *error) {
  *out = (lk_tensor_desc){.dtype = self->dtype, .rank = list->n};
  if (list->n > LK_MAX_RANK) {
    return lk_fail(error, LK_UNSUPPORTED,
                   "a product of two inputs with %" PRIu32 " labels, at most %d", list->n,
                   LK_MAX_RANK);
  }
  for (uint32_t i = 0; i < list->n; i++) out->dims[i] = self->dims[list->labels[i]];
  return lk_shape_check(out, "a product", error);
}

/* An operand that lies plainly in the order of `list`. */
static view view_of(const contraction *self, const lk_operand *operand, const label_list *list) {
  view made = {.operand = *operand, .n = list->n};
  int64_t stride = 1;
  for (uint32_t i = list->n; i-- > 0; stride *= self->dims[list->labels[i]]) {
    made.labels[i] = list->labels[i];
    made.strides[i] = stride;
  }
  return made;
}

/* `from` as `to`, which lies plainly in the order of `list`. */
static lk_status copy_to(const contraction *self, const view *from, const label_list *list,
                         const lk_operand *to, lk_error *error) {
  const int64_t size = (int64_t)lk_dtype_size(self->dtype);
  const view target = view_of(self, to, list);
  lk_copy copy = {.block = (size_t)size, .rank = list->n};
  for (uint32_t i = 0; i < list->n; i++) {
    copy.dims[i] = self->dims[list->labels[i]];
    copy.from[i] = stride_of(from, list->labels[i]) * size;
    copy.to[i] = target.strides[i] * size;
  }
  return lk_planner_copy(self->planner, &copy, &from->operand, to, error);
}

/* Makes it lie plainly in the order of `list`, which has its labels: by a copy if it does not. */
static lk_status make_plain(const contraction *self, view *inout, const label_list *list,
                            lk_error *error) {
  lk_operand to;
  lk_tensor_desc desc;
  int64_t size = 0, stride = 0;
  LK_RETURN_NOT_OK(describe(self, list, &desc, error));
  if (merges(self, inout, list, &size, &stride) && (stride == 1 || list->n == 0)) {
    to = inout->operand;
    to.desc = desc;
  } else {
    LK_RETURN_NOT_OK(lk_planner_temp(self->planner, &desc, &to, error));
    LK_RETURN_NOT_OK(copy_to(self, inout, list, &to, error));
  }
  *inout = view_of(self, &to, list);
  return LK_OK;
}

static bool same_order(const label_list *a, const label_list *b) {
  return a->n == b->n && memcmp(a->labels, b->labels, a->n) == 0;
}

/* Where a result with these labels goes: the output, if it is the last and in its order. */
static lk_status take_result(const contraction *self, const label_list *list, bool is_last,
                             lk_operand *out, lk_error *error) {
  lk_tensor_desc desc;
  LK_RETURN_NOT_OK(describe(self, list, &desc, error));
  if (!is_last || !same_order(list, &self->output)) {
    return lk_planner_temp(self->planner, &desc, out, error);
  }
  LK_RETURN_NOT_OK(lk_planner_output(self->planner, 0, LK_LAYOUT_PLAIN, out, error));
  out->desc = desc; /* without dimensions of 1 */
  *self->is_written = true;
  return LK_OK;
}

/* Sums over the labels that are not in `keep`. */
static lk_status sum_out(const contraction *self, view *inout, uint64_t keep, bool is_last,
                         lk_error *error) {
  static const lk_reduction sum = {LK_REDUCE_SUM, .divisor = 1};
  const label_list order = order_of(inout);
  label_list kept = {0};
  lk_operand to;
  uint32_t mask = 0;
  append(&kept, &order, keep);
  if (kept.n == order.n) return LK_OK;
  for (uint32_t i = 0; i < order.n; i++) {
    if ((keep & bit_of(order.labels[i])) == 0) mask |= 1U << i;
  }
  LK_RETURN_NOT_OK(make_plain(self, inout, &order, error));
  LK_RETURN_NOT_OK(take_result(self, &kept, is_last, &to, error));
  LK_RETURN_NOT_OK(lk_plan_reduce_step(self->planner, &inout->operand, &to, mask, &sum, error));
  *inout = view_of(self, &to, &kept);
  return LK_OK;
}

/* ---- two operands ---- */

/* Element-wise, over all labels that either has: those of `keep`, then those that are summed. */
static lk_status multiply(const contraction *self, view *a, view *b, uint64_t keep, bool is_last,
                          view *out, lk_error *error) {
  view *const views[] = {a, b};
  const uint64_t both[] = {set_of(a), set_of(b)};
  label_list order = choose_order(self, a, both[0] & keep), rest = {0};
  const label_list of_b = choose_order(self, b, both[1] & keep & ~both[0]);
  lk_chain chain;
  lk_operand to;
  append(&order, &of_b, keep);
  append(&rest, &self->output, set_of_list(&order)); /* in the order of the output */
  append(&rest, &order, ~set_of_list(&rest));
  order = rest;
  rest = order_of(a);
  append(&order, &rest, ~keep); /* what is summed, both have */
  LK_RETURN_NOT_OK(take_result(self, &order, is_last, &to, error));
  lk_chain_begin_at(self->planner, &to, &chain);
  for (int i = 0; i < 2; i++) {
    label_list own = {0};
    append(&own, &order, both[i]);
    LK_RETURN_NOT_OK(make_plain(self, views[i], &own, error));
    lk_tensor_desc *desc = &views[i]->operand.desc;
    desc->rank = order.n;
    for (uint32_t j = 0; j < order.n; j++) {
      const bool is_there = (both[i] & bit_of(order.labels[j])) != 0;
      desc->dims[j] = is_there ? self->dims[order.labels[j]] : 1;
    }
    const lk_element_value value = lk_chain_operand(&chain, &views[i]->operand);
    chain.value =
        i == 0 ? value : lk_element_binary(&chain.program, LK_ELEMENT_MUL, chain.value, value);
  }
  LK_RETURN_NOT_OK(lk_chain_step(&chain, error));
  *out = view_of(self, &to, &order);
  return sum_out(self, out, keep, is_last, error);
}

/* The labels of a matrix product. */
typedef struct product_labels {
  label_list batch, rows, columns, k;
} product_labels;

/* Brings an operand into an order in which `outer` and `inner` are one dimension each, unless they
 * are, and says where these lie. */
static lk_status as_matrices(const contraction *self, view *inout, const label_list *batch,
                             const label_list *outer, const label_list *inner, int64_t sizes[2],
                             int64_t strides[2], lk_error *error) {
  if (!merges(self, inout, outer, &sizes[0], &strides[0]) ||
      !merges(self, inout, inner, &sizes[1], &strides[1])) {
    label_list order = *batch;
    append(&order, outer, ~UINT64_C(0));
    append(&order, inner, ~UINT64_C(0));
    LK_RETURN_NOT_OK(make_plain(self, inout, &order, error));
    (void)merges(self, inout, outer, &sizes[0], &strides[0]);
    (void)merges(self, inout, inner, &sizes[1], &strides[1]);
  }
  return LK_OK;
}

static lk_status multiply_matrices(const contraction *self, view *a, view *b,
                                   const product_labels *labels, bool is_last, view *out,
                                   lk_error *error) {
  int64_t a_sizes[2] = {0}, a_strides[2], b_sizes[2] = {0}, b_strides[2];
  lk_operand to;
  label_list order = labels->batch;
  append(&order, &labels->rows, ~UINT64_C(0));
  append(&order, &labels->columns, ~UINT64_C(0));
  LK_RETURN_NOT_OK(
      as_matrices(self, a, &labels->batch, &labels->rows, &labels->k, a_sizes, a_strides, error));
  LK_RETURN_NOT_OK(as_matrices(self, b, &labels->batch, &labels->k, &labels->columns, b_sizes,
                               b_strides, error));
  LK_RETURN_NOT_OK(take_result(self, &order, is_last, &to, error));
  lk_matmul matmul = {.rows = a_sizes[0],
                      .columns = b_sizes[1],
                      .k = a_sizes[1],
                      .a_row = a_strides[0],
                      .a_k = a_strides[1],
                      .b_k = b_strides[0],
                      .b_column = b_strides[1],
                      .c_row = b_sizes[1],
                      .batch_rank = labels->batch.n};
  int64_t matrices = matmul.rows * matmul.columns;
  for (uint32_t i = labels->batch.n; i-- > 0;) {
    const uint8_t label = labels->batch.labels[i];
    matmul.batch[i] =
        (lk_matmul_batch){self->dims[label], stride_of(a, label), stride_of(b, label), matrices};
    matrices *= self->dims[label];
  }
  *out = view_of(self, &to, &order);
  return lk_plan_product(self->planner, &matmul, &a->operand, &b->operand, &to, error);
}

/* The output's order is that of a product, or of one with the operands the other way round. Of one
 * row or one column, it is both; what the inputs' order says is then as good. */
static bool goes_backwards(const contraction *self, const product_labels *labels) {
  if (labels->rows.n == 0 || labels->columns.n == 0) return false;
  label_list order = labels->batch;
  append(&order, &labels->columns, ~UINT64_C(0));
  append(&order, &labels->rows, ~UINT64_C(0));
  return same_order(&order, &self->output);
}

static lk_status contract(const contraction *self, view a, view b, uint64_t keep, bool is_last,
                          view *out, lk_error *error) {
  LK_RETURN_NOT_OK(sum_out(self, &a, keep | set_of(&b), false, error));
  LK_RETURN_NOT_OK(sum_out(self, &b, keep | set_of(&a), false, error));
  const uint64_t of_a = set_of(&a), of_b = set_of(&b), shared = of_a & of_b;
  const bool has_product = self->dtype == LK_F32 || lk_matmul_plain_takes(self->dtype);
  if (!has_product || (shared & ~keep) == 0) {
    return multiply(self, &a, &b, keep, is_last, out, error);
  }
  product_labels labels = {.batch = choose_order(self, &a, shared & keep),
                           .rows = choose_order(self, &a, of_a & ~of_b),
                           .columns = choose_order(self, &b, of_b & ~of_a),
                           .k = choose_order(self, &b, shared & ~keep)};
  if (!is_last || !goes_backwards(self, &labels)) {
    return multiply_matrices(self, &a, &b, &labels, is_last, out, error);
  }
  const label_list rows = labels.rows;
  labels.rows = labels.columns;
  labels.columns = rows;
  return multiply_matrices(self, &b, &a, &labels, is_last, out, error);
}

/* ---- all of them ---- */

static lk_status take_input(const contraction *self, uint32_t index, view *out, lk_error *error) {
  const lk_einsum *params = self->planner->node->params;
  const lk_tensor_desc *x = &self->planner->inputs[index].desc;
  int64_t strides[LK_MAX_RANK];
  uint8_t labels[LK_MAX_RANK];
  *out = (view){0};
  LK_RETURN_NOT_OK(lk_planner_input(self->planner, index, LK_LAYOUT_PLAIN, &out->operand, error));
  lk_einsum_labels(&params->terms[index], x->rank, labels);
  lk_strides(&out->operand.desc, 1, strides);
  for (uint32_t i = 0; i < x->rank; i++) {
    uint32_t at = 0;
    if (x->dims[i] == 1) continue;
    while (at < out->n && out->labels[at] != labels[i]) at++;
    if (at == out->n) out->n++;
    out->labels[at] = labels[i];
    out->strides[at] += strides[i];
  }
  return LK_OK;
}

/* The labels that the output and the inputs from `first` on have. */
static uint64_t labels_from(const contraction *self, uint32_t first) {
  const lk_einsum *params = self->planner->node->params;
  uint64_t set = set_of_list(&self->output);
  for (uint32_t i = first; i < params->n_terms; i++) {
    const uint32_t rank = self->planner->inputs[i].desc.rank;
    uint8_t labels[LK_MAX_RANK];
    lk_einsum_labels(&params->terms[i], rank, labels);
    for (uint32_t j = 0; j < rank; j++) set |= bit_of(labels[j]);
  }
  return set;
}

/* Writes what is left, unless it is the output already. */
static lk_status finish(const contraction *self, const view *result, lk_error *error) {
  lk_operand to;
  if (*self->is_written) return LK_OK;
  LK_RETURN_NOT_OK(lk_planner_output(self->planner, 0, LK_LAYOUT_PLAIN, &to, error));
  return copy_to(self, result, &self->output, &to, error);
}

lk_status lk_einsum_plan(lk_planner *planner, lk_error *error) {
  const lk_einsum *params = planner->node->params;
  const lk_tensor_desc *to = &planner->outputs[0];
  bool is_written = false;
  contraction self = {.planner = planner,
                      .is_written = &is_written,
                      .dims = ((const lk_einsum_sizes *)planner->found)->dims,
                      .dtype = to->dtype};
  uint8_t labels[LK_MAX_RANK];
  view result, next;
  for (uint32_t i = 0; i < params->n_terms; i++) {
    if (lk_elements(&planner->inputs[i].desc) == 0) {
      return lk_plan_sum_of_nothing(planner, -1, error);
    }
  }
  lk_einsum_labels(&params->output, to->rank, labels);
  for (uint32_t i = 0; i < to->rank; i++) {
    if (to->dims[i] != 1) self.output.labels[self.output.n++] = labels[i];
  }
  const uint32_t last = params->n_terms - 1;
  LK_RETURN_NOT_OK(take_input(&self, 0, &result, error));
  if (last == 0) LK_RETURN_NOT_OK(sum_out(&self, &result, labels_from(&self, 1), true, error));
  for (uint32_t i = 1; i <= last; i++) {
    LK_RETURN_NOT_OK(take_input(&self, i, &next, error));
    LK_RETURN_NOT_OK(
        contract(&self, result, next, labels_from(&self, i + 1), i == last, &result, error));
  }
  return finish(&self, &result, error);
}
