/* What an offer takes, and what native takes: measured, or else estimated, maybe by what was
 * measured of the size class. */
#include "ops/engine/weigh.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "base/step_cost.h"
#include "base/tensor.h"
#include "ops/engine/size_class.h"
#include "ops/engine/value_key.h"
#include "ops/plan/layout.h"
#include "ops/plan/matmul_shape.h"

static uint64_t bytes_of(const lk_tensor_desc *desc) {
  return (uint64_t)lk_elements(desc) * lk_dtype_size(desc->dtype);
}

uint64_t lk_work_bytes(const lk_work *work) {
  uint64_t bytes = 0;
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    if (lk_work_has(work, role)) bytes += bytes_of(&work->tensors[role]);
  }
  return bytes;
}

/* Of this machine's threads, and of no machine in particular otherwise. */
static double cost(const lk_ops_env *env, double flops, double bytes) {
  return lk_step_cost_shared(lk_step_cost(flops, bytes), env->threads);
}

/* Of works that are heavy; 0: it is no such work. */
static double flops_of(const lk_planner *planner, const lk_work *work) {
  const lk_work_attention *of = &work->attention;
  switch (work->kind) {
  case LK_WORK_PRODUCT:
    return lk_matmul_flops(work);
  case LK_WORK_CONV:
  case LK_WORK_CONV_TRANSPOSED: /* the node's arithmetic is theirs */
    return planner->draft.flops;
  case LK_WORK_ATTENTION:
    return 2 * (double)of->batch * (double)of->heads * (double)of->queries * (double)of->keys *
           (double)(of->size + of->v_size);
  default:
    return 0;
  }
}

static double native_cost(const lk_planner *planner, const lk_work *work) {
  double elements = 0;
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    if (!lk_work_has(work, role)) continue;
    const double count = (double)lk_elements(&work->tensors[role]);
    if (count > elements) elements = count;
  }
  return cost(planner->env, fmax(flops_of(planner, work), elements), (double)lk_work_bytes(work));
}

/* Of tensors that do not lie as they are wanted. */
static double reorder_cost(const lk_planner *planner, const lk_work *work, const lk_offer *given,
                           const lk_offer *wanted) {
  double sum = 0;
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    const lk_tensor_desc *desc = &work->tensors[role];
    const lk_layout from = given->layouts[role], to = wanted->layouts[role];
    if (!lk_work_has(work, role) || from == LK_LAYOUT_ANY || to == LK_LAYOUT_ANY) continue;
    if (lk_layout_same_bytes(desc, from, to)) continue;
    sum += cost(planner->env, 0, 2 * (double)bytes_of(desc));
  }
  return sum;
}

double lk_weigh_reorders(const lk_plan_body *body, uint32_t work) {
  double sum = 0;
  for (uint32_t i = 0; i < body->n_steps; i++) {
    const lk_step *step = &lk_plan_steps(body)[i];
    if (step->work != work || strcmp(step->kind, LK_REORDER_KIND) != 0) continue;
    sum += cost(body->env, 0, step->bytes);
  }
  return sum;
}

typedef bool find_times_fn(lk_tuning *tuning, const lk_key *key, lk_tuned *out_times);

/* `*out_times` has a count of 0 where nothing is known. */
static lk_status find_times(const lk_planner *planner, const lk_engine_entry *entry,
                            const lk_work *work, find_times_fn *find, lk_tuned *out_times,
                            lk_error *error) {
  lk_status status = LK_OK;
  lk_key_builder builder;
  lk_key key;
  *out_times = (lk_tuned){0};
  lk_value_key_begin(&builder, planner->env->allocator, entry->value_keys, work);
  LK_TRY(lk_key_finish(&builder, &key, error));
  (void)find(lk_engines_tuning(planner->env->engines), &key, out_times);
cleanup:
  lk_key_builder_destroy(&builder);
  return status;
}

/* The work is the offer's, as it would be in the key of its value. */
static lk_status find_measured(const lk_planner *planner, const lk_engine_entry *entry,
                               const lk_work *work, lk_choosing *of, lk_error *error) {
  lk_tuned times;
  lk_work of_class;
  if (lk_tuning_is_empty(lk_engines_tuning(planner->env->engines))) return LK_OK;
  LK_RETURN_NOT_OK(find_times(planner, entry, work, lk_tuning_find, &times, error));
  if (times.count > 0) {
    of->measured_native_ns = times.native_ns / times.count;
    of->measured_engine_ns = times.engine_ns / times.count;
    return LK_OK;
  }
  lk_size_class(work, &of_class);
  LK_RETURN_NOT_OK(find_times(planner, entry, &of_class, lk_tuning_find_class, &times, error));
  if (times.count > 0) {
    of->class_native_ns = times.native_ns / times.count;
    of->class_engine_ns = times.engine_ns / times.count;
  }
  return LK_OK;
}

lk_status lk_weigh(const lk_planner *planner, const lk_engine_entry *entry, const lk_work *work,
                   const lk_offer *given, const lk_offer *offer, lk_choice *out_choice,
                   lk_error *error) {
  lk_choosing of = {.native_ns = native_cost(planner, work),
                    .run_ratio = offer->run_ratio,
                    .reorder_ns = reorder_cost(planner, work, given, offer),
                    .build_ns = offer->build_ns};
  LK_RETURN_NOT_OK(find_measured(planner, entry, work, &of, error));
  *out_choice = lk_choose(&of);
  return LK_OK;
}
