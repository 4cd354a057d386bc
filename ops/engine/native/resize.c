/* The steps of a Resize: a table of taps, then the output. Nearest is one step for all dimensions.
 * Linear and cubic take one for two neighbouring dimensions, which is all that most models resize;
 * others follow through temporaries, first where most elements are lost, so that no temporary is
 * larger than the input or the output. */
#include "ops/kernel/sample/resize.h"

#include <stddef.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/engine/native/native.h"
#include "ops/kernel/sample/resize_nearest.h"
#include "ops/kernel/sample/resize_table.h"
#include "ops/kernel/sample/resize_types.h"
#include "ops/plan/moves.h"

_Static_assert((int)LK_INTERPOLATION_NEAREST == LK_RESIZE_NEAREST &&
                   (int)LK_INTERPOLATION_LINEAR == LK_RESIZE_LINEAR &&
                   (int)LK_INTERPOLATION_CUBIC == LK_RESIZE_CUBIC,
               "kernels interpolate as works do");
_Static_assert((int)LK_COORDINATES_HALF_PIXEL == LK_HALF_PIXEL &&
                   (int)LK_COORDINATES_PYTORCH_HALF_PIXEL == LK_PYTORCH_HALF_PIXEL &&
                   (int)LK_COORDINATES_ALIGN_CORNERS == LK_ALIGN_CORNERS &&
                   (int)LK_COORDINATES_ASYMMETRIC == LK_ASYMMETRIC &&
                   (int)LK_COORDINATES_HALF_PIXEL_SYMMETRIC == LK_HALF_PIXEL_SYMMETRIC &&
                   (int)LK_COORDINATES_TF_CROP_AND_RESIZE == LK_TF_CROP_AND_RESIZE &&
                   (int)LK_COORDINATES_TF_HALF_PIXEL_FOR_NN == LK_TF_HALF_PIXEL_FOR_NN,
               "kernels have the coordinates of works");
_Static_assert((int)LK_NEAREST_ROUND_PREFER_FLOOR == LK_PREFER_FLOOR &&
                   (int)LK_NEAREST_ROUND_PREFER_CEIL == LK_PREFER_CEIL &&
                   (int)LK_NEAREST_FLOOR == LK_FLOOR && (int)LK_NEAREST_CEIL == LK_CEIL &&
                   (int)LK_NEAREST_FLOOR_UP_CEIL_DOWN == LK_FLOOR_UP_CEIL_DOWN,
               "kernels round as works do");

enum { MOST_TAPS = 16 }; /* of two dimensions in one step; more are summed faster one by one */

/* What the steps of one node share. `of`: the axis of the table that a dimension has; -1: none. */
typedef struct resizing {
  lk_planner *planner;
  const lk_operand *from, *to;
  uint32_t rank;
  lk_stretch dims[LK_MAX_RANK]; /* in the order of memory */
  int32_t of[LK_MAX_RANK];
  lk_resize_table rule;
  lk_operand table;
} resizing;

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

static lk_status plan_table(resizing *self, lk_error *error) {
  lk_resize_table *table = &self->rule;
  for (uint32_t i = 0; i < self->rank; i++) {
    self->of[i] = self->dims[i].same ? -1 : (int32_t)table->count;
    if (!self->dims[i].same) table->axes[table->count++].stretch = self->dims[i];
  }
  LK_RETURN_NOT_OK(lk_resize_table_plan(table, error));
  const lk_tensor_desc desc = lk_tensor_desc_make(LK_U8, 1, &table->bytes);
  LK_RETURN_NOT_OK(lk_planner_temp(self->planner, &desc, &self->table, error));
  return lk_planner_kernel(self->planner, lk_resize_table_kernel, "resize_taps", table,
                           offsetof(lk_resize_table, axes) + table->count * sizeof table->axes[0],
                           &self->table, 1, error);
}

/* ---- nearest ---- */

static lk_status plan_nearest(resizing *self, lk_error *error) {
  lk_resize_nearest_map map = {.block = lk_dtype_size(self->from->desc.dtype)};
  uint32_t rank = self->rank;
  /* The innermost dimension is copied in blocks when it keeps its length. */
  if (self->dims[rank - 1].same) map.block *= (size_t)self->dims[--rank].out;
  int64_t step = (int64_t)map.block;
  map.rank = rank;
  for (uint32_t i = rank; i-- > 0;) {
    map.dims[i] = self->dims[i].out;
    map.steps[i] = step;
    map.indices[i] = self->of[i] < 0 ? -1 : self->rule.axes[self->of[i]].indices;
    step *= self->dims[i].in;
  }
  lk_resize_nearest_plan(&map, lk_isa_get());
  const lk_operand operands[] = {*self->from, self->table, *self->to};
  return lk_planner_kernel(self->planner, lk_resize_nearest_kernel, "resize_nearest", &map,
                           sizeof map, operands, 3, error);
}

/* ---- linear and cubic ---- */

/* Dimensions that one step resizes: `last`, and also the one before it. */
typedef struct group {
  uint32_t last;
  bool is_pair;
  double ratio; /* of elements after and before */
} group;

/* Those that lose most elements first. Among equals the outermost: along it, whole rows are
 * summed. */
static uint32_t order_groups(const resizing *self, group groups[LK_MAX_RANK]) {
  uint32_t count = 0;
  for (uint32_t i = self->rank; i-- > 0;) {
    if (self->of[i] < 0) continue;
    const lk_resize_axis *axis = &self->rule.axes[self->of[i]], *before = axis - 1;
    group next = {.last = i, .ratio = (double)self->dims[i].out / (double)self->dims[i].in};
    next.is_pair = i > 0 && self->of[i - 1] >= 0 && before->taps <= MOST_TAPS / axis->taps;
    if (next.is_pair) {
      i--;
      next.ratio *= (double)self->dims[i].out / (double)self->dims[i].in;
    }
    uint32_t at = count++;
    for (; at > 0 && groups[at - 1].ratio >= next.ratio; at--) groups[at] = groups[at - 1];
    groups[at] = next;
  }
  return count;
}

static lk_resize_side side_of(const resizing *self, uint32_t dim) {
  const lk_resize_axis *axis = &self->rule.axes[self->of[dim]];
  return (lk_resize_side){.in = axis->stretch.in,
                          .out = axis->stretch.out,
                          .taps = axis->taps,
                          .indices = axis->indices,
                          .weights = axis->weights};
}

/* `lengths`: of the dimensions before this step. */
static lk_resize describe(const resizing *self, const group *of, const int64_t *lengths) {
  const uint32_t first = of->is_pair ? of->last - 1 : of->last;
  lk_resize resize = {.wide = self->rule.wide, .outer = 1, .inner = 1};
  for (uint32_t i = 0; i < first; i++) resize.outer *= lengths[i];
  for (uint32_t i = of->last + 1; i < self->rank; i++) resize.inner *= lengths[i];
  if (of->is_pair) {
    resize.y = side_of(self, first);
    resize.x = side_of(self, of->last);
  } else if (resize.inner > 1) {
    resize.y = side_of(self, first);
    resize.x = (lk_resize_side){.in = 1, .out = 1};
  } else { /* rows in a row */
    resize.y = (lk_resize_side){.in = resize.outer, .out = resize.outer};
    resize.x = side_of(self, first);
    resize.outer = 1;
  }
  return resize;
}

/* The two temporaries that the steps write by turns; those between them have more digits. */
static lk_status make_temps(const resizing *self, const group *groups, uint32_t count,
                            uint32_t wide, lk_operand temps[2], lk_error *error) {
  int64_t most = 0, length = lk_elements(&self->from->desc);
  for (uint32_t i = 0; i + 1 < count; i++) {
    for (uint32_t k = groups[i].is_pair ? 2 : 1; k-- > 0;) {
      const lk_stretch *s = &self->dims[groups[i].last - k];
      length = length / s->in * s->out;
    }
    if (length > most) most = length;
  }
  const lk_tensor_desc desc = lk_tensor_desc_make(wide, 1, &most);
  for (uint32_t i = 0; i < 2 && i + 1 < count; i++) {
    LK_RETURN_NOT_OK(lk_planner_temp(self->planner, &desc, &temps[i], error));
  }
  return LK_OK;
}

static lk_status plan_groups(resizing *self, lk_error *error) {
  group groups[LK_MAX_RANK];
  lk_operand temps[2];
  int64_t lengths[LK_MAX_RANK] = {0};
  const uint32_t dtype = self->from->desc.dtype, wide = lk_resize_wide(dtype);
  const uint32_t count = order_groups(self, groups);
  for (uint32_t i = 0; i < self->rank; i++) lengths[i] = self->dims[i].in;
  LK_RETURN_NOT_OK(make_temps(self, groups, count, wide, temps, error));
  for (uint32_t i = 0; i < count; i++) {
    const bool first = i == 0, last = i + 1 == count;
    const lk_operand operands[] = {first ? *self->from : temps[(i - 1) % 2], self->table,
                                   last ? *self->to : temps[i % 2]};
    lk_resize resize = describe(self, &groups[i], lengths);
    resize.from_type = first ? dtype : wide;
    resize.to_type = last ? dtype : wide;
    lk_resize_plan(&resize, lk_isa_get());
    LK_RETURN_NOT_OK(lk_planner_kernel(self->planner, lk_resize_kernel, "resize", &resize,
                                       sizeof resize, operands, 3, error));
    for (uint32_t k = groups[i].is_pair ? 2 : 1; k-- > 0;) {
      lengths[groups[i].last - k] = self->dims[groups[i].last - k].out;
    }
  }
  return LK_OK;
}

/* ---- the extrapolation value ---- */

static lk_status plan_outside(resizing *self, float value, lk_error *error) {
  if (self->rule.rule.coordinates != LK_TF_CROP_AND_RESIZE) return LK_OK;
  lk_resize_outside step = {.rank = self->rank, .block = lk_dtype_size(self->to->desc.dtype)};
  lk_resize_element(self->to->desc.dtype, (double)value, step.value);
  for (uint32_t i = 0; i < self->rank; i++) {
    step.dims[i] = self->dims[i].out;
    step.outside[i] = self->of[i] < 0 ? -1 : self->rule.axes[self->of[i]].outside;
  }
  const lk_operand operands[] = {self->table, *self->to};
  return lk_planner_kernel(self->planner, lk_resize_outside_kernel, "resize_outside", &step,
                           sizeof step, operands, 2, error);
}

/* ---- works ---- */

static lk_resize_rule rule_of(const lk_work_resize *of) {
  return (lk_resize_rule){.mode = (lk_resize_mode)of->interpolation,
                          .coordinates = (lk_resize_coordinates)of->coordinates,
                          .rounding = (lk_resize_rounding)of->nearest,
                          .antialias = of->antialias != 0,
                          .exclude_outside = of->exclude_outside != 0,
                          .cubic = of->cubic};
}

static lk_stretch stretch_of(const lk_work *work, uint32_t dim) {
  const lk_work_resize *of = &work->resize;
  lk_stretch made = {.in = work->tensors[LK_ROLE_SRC].dims[dim],
                     .out = work->tensors[LK_ROLE_DST].dims[dim],
                     .up = of->up[dim],
                     .down = of->down[dim],
                     .start = of->start[dim],
                     .end = of->end[dim],
                     .rounded = (of->rounded >> dim & 1) != 0};
  made.same = made.in == made.out && made.up == made.down && made.start == 0 && made.end == 1;
  return made;
}

static lk_status plan(lk_planner *planner, const lk_task *task, lk_error *error) {
  const lk_work *work = &task->work;
  const lk_layout layout = lk_image_layout(planner, task->from[LK_ROLE_SRC].index);
  lk_stretch stretches[LK_MAX_RANK] = {{0}};
  lk_operand from, to;
  for (uint32_t i = 0; i < work->tensors[LK_ROLE_SRC].rank; i++) stretches[i] = stretch_of(work, i);
  LK_RETURN_NOT_OK(lk_task_take(planner, task, LK_ROLE_SRC, layout, &from, error));
  LK_RETURN_NOT_OK(lk_task_take(planner, task, LK_ROLE_DST, layout, &to, error));
  if (lk_elements(&to.desc) == 0) return LK_OK;
  resizing self = {.planner = planner, .from = &from, .to = &to};
  self.rank = collapse(&from.desc, stretches, self.dims);
  self.rule.rule = rule_of(&work->resize);
  self.rule.wide = lk_resize_wide(from.desc.dtype) == LK_F64;
  LK_RETURN_NOT_OK(plan_table(&self, error));
  LK_RETURN_NOT_OK(work->resize.interpolation == LK_INTERPOLATION_NEAREST
                       ? plan_nearest(&self, error)
                       : plan_groups(&self, error));
  return plan_outside(&self, work->resize.extrapolation, error);
}

const lk_planning lk_native_resize = {.plan = plan};
