/* The steps of Einsum: two operands at a time, by a matrix product where their type has one and
 * they share labels that are summed, else by an element-wise product and a sum. */
#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/einsum.h"
#include "ops/kernel/strides.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/reduction.h"
#include "ops/plan/work.h"

/* An operand by its labels: those of size 1, and those along which it is repeated, are left out.
 * A label that its term has twice is its diagonal. */
typedef struct view {
  bool is_input; /* the operand is an input of the node, which was not taken: works take theirs */
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

static lk_status take(const contraction *self, view *inout, lk_error *error) {
  const uint32_t index = inout->operand.index;
  if (!inout->is_input) return LK_OK;
  inout->is_input = false;
  return lk_planner_input(self->planner, index, LK_LAYOUT_PLAIN, &inout->operand, error);
}

/* Makes it lie plainly in the order of `list`, which has its labels: by a copy if it does not. */
static lk_status make_plain(const contraction *self, view *inout, const label_list *list,
                            lk_error *error) {
  lk_operand to;
  lk_tensor_desc desc;
  int64_t size = 0, stride = 0;
  LK_RETURN_NOT_OK(take(self, inout, error));
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

/* An operand of it: matrices whose dimensions, as numpy.matmul has them, lie `strides` apart. Their
 * batch has at most as many labels as an input without the one that is summed. */
typedef struct matrices {
  uint32_t rank;
  int64_t dims[LK_MAX_RANK + 1], strides[LK_MAX_RANK + 1];
} matrices;

/* Brings an operand into an order in which `outer` and `inner` are one dimension each, unless they
 * are. */
static lk_status as_matrices(const contraction *self, view *inout, const label_list *batch,
                             const label_list *outer, const label_list *inner, bool is_plain,
                             lk_error *error) {
  int64_t size = 0, stride = 0;
  label_list order = *batch;
  if (!is_plain && merges(self, inout, outer, &size, &stride) &&
      merges(self, inout, inner, &size, &stride)) {
    return LK_OK;
  }
  append(&order, outer, ~UINT64_C(0));
  append(&order, inner, ~UINT64_C(0));
  return make_plain(self, inout, &order, error);
}

static void add_dim(matrices *self, int64_t size, int64_t stride) {
  self->dims[self->rank] = size;
  self->strides[self->rank++] = stride;
}

/* Labels of the batch that lie behind each other like one dimension in both operands are one. */
static void add_batch(const contraction *self, view *const views[2], const label_list *batch,
                      matrices out[2]) {
  for (uint32_t i = 0; i < batch->n; i++) {
    const uint8_t label = batch->labels[i];
    const int64_t size = self->dims[label], last = (int64_t)out[0].rank - 1;
    const int64_t strides[] = {stride_of(views[0], label), stride_of(views[1], label)};
    const bool follows = i > 0 && out[0].strides[last] == strides[0] * size &&
                         out[1].strides[last] == strides[1] * size;
    for (uint32_t j = 0; j < 2; j++) {
      if (!follows) add_dim(&out[j], size, strides[j]);
      if (follows) out[j].dims[last] *= size;
      out[j].strides[out[j].rank - 1] = strides[j];
    }
  }
}

static void add_merged(const contraction *self, const view *from, const label_list *list,
                       matrices *out) {
  int64_t size = 0, stride = 0;
  (void)merges(self, from, list, &size, &stride);
  add_dim(out, size, stride);
}

static bool find_order(const contraction *self, const matrices *of, lk_tensor_desc *out,
                       lk_matmul_order *out_order) {
  if (of->rank > LK_MAX_RANK) return false;
  *out = lk_tensor_desc_make(self->dtype, of->rank, of->dims);
  return lk_matmul_find_order(of->strides, out, out_order);
}

/* Describes the product. `is_plain`: of operands that lie plainly in its order; else as they lie,
 * where there is such a work. */
static lk_status describe_product(const contraction *self, view *const views[2],
                                  const product_labels *labels, bool is_plain, lk_work *work,
                                  bool *out_is_found, lk_error *error) {
  const label_list *outer[] = {&labels->rows, &labels->k};
  const label_list *inner[] = {&labels->k, &labels->columns};
  matrices of[2] = {0};
  for (uint32_t i = 0; i < 2; i++) {
    LK_RETURN_NOT_OK(
        as_matrices(self, views[i], &labels->batch, outer[i], inner[i], is_plain, error));
  }
  add_batch(self, views, &labels->batch, of);
  for (uint32_t i = 0; i < 2; i++) {
    add_merged(self, views[i], outer[i], &of[i]);
    add_merged(self, views[i], inner[i], &of[i]);
  }
  *out_is_found = find_order(self, &of[0], &work->tensors[LK_ROLE_SRC], &work->orders[0]) &&
                  find_order(self, &of[1], &work->tensors[LK_ROLE_WEIGHTS], &work->orders[1]);
  of[0].dims[of[0].rank - 1] = of[1].dims[of[1].rank - 1];
  if (*out_is_found) {
    work->tensors[LK_ROLE_DST] = lk_tensor_desc_make(self->dtype, of[0].rank, of[0].dims);
  }
  return LK_OK;
}

/* An operand as the work has described it. */
static void add_operand(lk_task *task, lk_role role, const view *from) {
  lk_operand operand = from->operand;
  operand.desc = task->work.tensors[role];
  if (from->is_input) {
    lk_task_view(task, role, LK_PLACE_INPUT, operand.index, &operand.desc);
  } else {
    lk_task_place(task, role, &operand);
  }
}

static lk_status multiply_matrices(const contraction *self, view *a, view *b,
                                   const product_labels *labels, bool is_last, view *out,
                                   lk_error *error) {
  view *const views[] = {a, b};
  lk_task task;
  lk_tensor_desc desc;
  label_list order = labels->batch;
  bool is_found = false;
  append(&order, &labels->rows, ~UINT64_C(0));
  append(&order, &labels->columns, ~UINT64_C(0));
  LK_RETURN_NOT_OK(describe(self, &order, &desc, error));
  lk_task_begin(&task, LK_WORK_PRODUCT);
  for (int is_plain = 0; !is_found; is_plain++) { /* the second way always is */
    LK_RETURN_NOT_OK(describe_product(self, views, labels, is_plain, &task.work, &is_found, error));
  }
  add_operand(&task, LK_ROLE_SRC, a);
  add_operand(&task, LK_ROLE_WEIGHTS, b);
  *out = (view){0};
  if (is_last && same_order(&order, &self->output)) {
    lk_task_view(&task, LK_ROLE_DST, LK_PLACE_OUTPUT, 0, &task.work.tensors[LK_ROLE_DST]);
    *self->is_written = true;
  } else {
    LK_RETURN_NOT_OK(lk_planner_temp(self->planner, &desc, &out->operand, error));
    *out = view_of(self, &out->operand, &order);
    add_operand(&task, LK_ROLE_DST, out);
  }
  return lk_plan_task(self->planner, &task, error);
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
  if (!lk_matmul_takes(self->dtype) || (shared & ~keep) == 0) {
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

static void see_input(const contraction *self, uint32_t index, view *out) {
  const lk_einsum *params = self->planner->node->params;
  const lk_tensor_desc *x = &self->planner->inputs[index].desc;
  int64_t strides[LK_MAX_RANK];
  uint8_t labels[LK_MAX_RANK];
  lk_tensor_desc plain = *x;
  plain.layout = LK_LAYOUT_PLAIN;
  *out = (view){.is_input = true, .operand = {LK_PLACE_INPUT, index, plain}};
  lk_einsum_labels(&params->terms[index], x->rank, labels);
  lk_strides(&plain, 1, strides);
  for (uint32_t i = 0; i < x->rank; i++) {
    uint32_t at = 0;
    if (x->dims[i] == 1) continue;
    while (at < out->n && out->labels[at] != labels[i]) at++;
    if (at == out->n) out->n++;
    out->labels[at] = labels[i];
    out->strides[at] += strides[i];
  }
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
static lk_status finish(const contraction *self, view *result, lk_error *error) {
  lk_operand to;
  if (*self->is_written) return LK_OK;
  LK_RETURN_NOT_OK(take(self, result, error));
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
  see_input(&self, 0, &result);
  if (last == 0) LK_RETURN_NOT_OK(sum_out(&self, &result, labels_from(&self, 1), true, error));
  for (uint32_t i = 1; i <= last; i++) {
    see_input(&self, i, &next);
    LK_RETURN_NOT_OK(
        contract(&self, result, next, labels_from(&self, i + 1), i == last, &result, error));
  }
  return finish(&self, &result, error);
}
