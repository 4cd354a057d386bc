/* Steps of tasks by an engine that builds values: it offers, tensors are brought into the layouts
 * that it wants, and what it leaves of the post-ops follows as steps of their own. */
#include "ops/engine/value_steps.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/engine/weigh.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/integer_steps.h"
#include "ops/plan/layout.h"
#include "ops/plan/packing.h"

/* ---- the work, with what its node has besides ---- */

static bool is_input(const lk_task *task, uint32_t role) {
  return task->from[role].place == LK_PLACE_INPUT;
}

static bool is_node_output(const lk_task *task) {
  const lk_step_arg dst = task->from[LK_ROLE_DST];
  return dst.place == LK_PLACE_OUTPUT && dst.index == 0;
}

/* Works that only move elements: no post-op of their node is theirs, and all types stay as they
 * are. */
static bool is_move(const lk_task *task) {
  return task->work.kind == LK_WORK_REORDER || task->work.kind == LK_WORK_CONCAT;
}

/* Whether the node's post-ops follow on what the work computes. */
static bool has_post_ops(const lk_task *task) {
  return is_node_output(task) && !is_move(task);
}

/* Weights that are constant, which an engine may pack from their plain bytes: not what a view sees
 * in another layout. Other constants lie plain. */
static void note_constants(const lk_planner *planner, lk_task *task) {
  static const lk_role roles[] = {LK_ROLE_WEIGHTS, LK_ROLE_RECURRENT_WEIGHTS};
  for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
    const lk_role role = roles[i];
    if (!lk_work_has(&task->work, role) || !is_input(task, role)) continue;
    if (lk_task_is_view(task, role) && task->work.tensors[role].layout != LK_LAYOUT_PLAIN) continue;
    if (planner->node->constants[task->from[role].index].content != NULL) {
      task->work.constants |= 1U << role;
    }
  }
}

/* Whether all numbers are finite and above 0. */
static bool is_positive(const lk_tensor_desc *desc, const void *data) {
  const uint32_t dtype = desc->dtype;
  const uint32_t infinity = dtype == LK_F32 ? 0x7f800000 : dtype == LK_BF16 ? 0x7f80 : 0x7c00;
  if (dtype != LK_F32 && dtype != LK_BF16 && dtype != LK_F16) return false;
  for (int64_t i = 0; i < lk_elements(desc); i++) {
    const uint32_t bits =
        dtype == LK_F32 ? ((const uint32_t *)data)[i] : ((const uint16_t *)data)[i];
    if (bits - 1 >= infinity - 1) return false;
  }
  return true;
}

/* Slopes of PRelu by which an engine may multiply what is not below 0, too. */
static lk_status note_positive(lk_planner *planner, lk_task *task, lk_error *error) {
  const lk_work_post_op *first = &task->work.post_ops[0];
  const bool is_prelu = task->work.kind == LK_WORK_ELEMENT && task->work.n_post_ops > 0 &&
                        first->kind == LK_FUNCTION_PRELU;
  if (!is_prelu || first->operand == 0 || !is_input(task, first->operand)) return LK_OK;
  const uint32_t role = first->operand, index = task->from[role].index;
  lk_packed *plain = NULL;
  if (planner->node->constants[index].content == NULL) return LK_OK;
  LK_RETURN_NOT_OK(lk_planner_constant(planner, index, &plain, error));
  if (is_positive(&task->work.tensors[role], lk_packed_data(plain))) {
    task->work.positive = 1U << role;
  }
  lk_packed_release(plain);
  return LK_OK;
}

/* Zero points that are certain to be 0 are none: engines would have to expect others. */
static void leave_zeros(const lk_planner *planner, lk_task *task) {
  static const lk_role roles[] = {LK_ROLE_SRC_ZERO, LK_ROLE_WEIGHTS_ZERO, LK_ROLE_DST_ZERO};
  for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
    const bool is_there = lk_work_has(&task->work, roles[i]) && is_input(task, roles[i]);
    if (is_there && lk_integer_is_zero(planner, task->from[roles[i]].index)) {
      task->work.roles &= ~(1U << roles[i]);
    }
  }
}

/* Post-ops of the node that have room in the work, behind its own. */
static void add_post_ops(const lk_planner *planner, lk_task *task) {
  const lk_op_node *node = planner->node;
  lk_work *work = &task->work;
  uint32_t n_operands = (uint32_t)__builtin_popcount(work->roles >> LK_ROLE_OPERAND);
  if (!has_post_ops(task)) return;
  for (uint32_t i = 0; i < node->n_post_ops && work->n_post_ops < LK_WORK_POST_OPS; i++) {
    const lk_post_op *from = &node->post_ops[i];
    lk_work_post_op *to = &work->post_ops[work->n_post_ops];
    *to = (lk_work_post_op){.kind = from->kind, .alpha = from->alpha, .beta = from->beta};
    if (from->input >= 0) {
      /* an operand has the order of the node's output, and not that of the work's */
      if (lk_task_is_view(task, LK_ROLE_DST)) return;
      if (n_operands == LK_WORK_OPERANDS) return;
      to->operand = LK_ROLE_OPERAND + n_operands++;
      lk_task_input(task, (lk_role)to->operand, (uint32_t)from->input,
                    &planner->inputs[from->input].desc);
    }
    work->n_post_ops++;
  }
}

/* Post-ops that an engine does not take leave the work, with their operands. */
static void keep_post_ops(lk_work *work, uint32_t count) {
  for (uint32_t i = count; i < work->n_post_ops; i++) {
    if (work->post_ops[i].operand != 0) work->roles &= ~(1U << work->post_ops[i].operand);
    work->post_ops[i] = (lk_work_post_op){0};
  }
  work->n_post_ops = count;
}

/* A task sets what it has, and a host's descriptions may have anything behind their rank; engines
 * may rely on it that the rest is 0. */
static void clear_absent(lk_work *work) {
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    lk_tensor_desc *desc = &work->tensors[role];
    if (!lk_work_has(work, role)) *desc = (lk_tensor_desc){0};
    desc->reserved = 0;
    for (uint32_t i = desc->rank; i < LK_MAX_RANK; i++) desc->dims[i] = 0;
  }
  memset(&work->post_ops[work->n_post_ops], 0,
         (LK_WORK_POST_OPS - work->n_post_ops) * sizeof work->post_ops[0]);
}

/* How tensors lie now, and which of them nobody can choose. */
static uint32_t find_layouts(lk_planner *planner, lk_task *task, lk_offer *offer) {
  uint32_t placed = 0;
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    if (!lk_work_has(&task->work, role)) continue;
    offer->layouts[role] = task->work.tensors[role].layout;
    if ((task->work.constants >> role & 1) != 0) {
      offer->layouts[role] = LK_LAYOUT_ANY;
    } else if (lk_task_is_placed(task, role)) {
      placed |= 1U << role;
    } else if (task->from[role].place == LK_PLACE_OUTPUT) {
      offer->layouts[role] = lk_planner_wish(planner, task->from[role].index, LK_LAYOUT_ANY);
    }
    task->work.tensors[role].layout = offer->layouts[role];
  }
  return placed;
}

static bool is_layout(const lk_work *work, uint32_t role, lk_layout layout) {
  lk_tensor_desc desc = work->tensors[role];
  desc.layout = layout;
  if (layout == LK_LAYOUT_ANY) return (work->constants >> role & 1) != 0;
  return lk_layout_fits(&desc);
}

/* ---- what an engine of a host's says is not trusted ---- */

static lk_status check_estimates(const lk_engine *engine, const lk_offer *offer, lk_error *error) {
  if (offer->run_ratio >= 0 && isfinite(offer->run_ratio) && offer->build_ns >= 0 &&
      isfinite(offer->build_ns)) {
    return LK_OK;
  }
  return lk_fail(error, LK_INTERNAL,
                 "failed to use an offer of engine '%s': it estimates a ratio of %g and %g ns to "
                 "build, numbers from 0 on are allowed",
                 engine->name, offer->run_ratio, offer->build_ns);
}

static lk_status check_offer(const lk_engine *engine, const lk_work *work, uint32_t placed,
                             const lk_offer *offer, lk_error *error) {
  if (offer->n_post_ops > work->n_post_ops) {
    return lk_fail(error, LK_INTERNAL,
                   "failed to use an offer of engine '%s': it takes %u post-ops, the work has %u",
                   engine->name, offer->n_post_ops, work->n_post_ops);
  }
  LK_RETURN_NOT_OK(check_estimates(engine, offer, error));
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    const lk_layout layout = offer->layouts[role];
    if (!lk_work_has(work, role)) continue;
    const bool is_placed = (placed >> role & 1) != 0;
    if (is_placed ? layout == work->tensors[role].layout : is_layout(work, role, layout)) continue;
    /* a tensor of a post-op that it leaves */
    if (role >= LK_ROLE_OPERAND && layout == work->tensors[role].layout) continue;
    return lk_fail(
        error, LK_INTERNAL,
        "failed to use an offer of engine '%s': it wants the tensor of role %u in layout "
        "%u, which %s",
        engine->name, role, layout, is_placed ? "cannot be chosen" : "it cannot have");
  }
  return LK_OK;
}

static void set_layouts(lk_work *work, const lk_offer *offer) {
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    if (lk_work_has(work, role)) work->tensors[role].layout = offer->layouts[role];
  }
}

/* ---- f16 and bf16, which operators see as f32 ---- */

static uint32_t half_type(const lk_planner *planner, const lk_task *task, uint32_t role) {
  const lk_step_arg from = task->from[role];
  return lk_work_has(&task->work, role)
             ? lk_planner_half_type(planner, (lk_place)from.place, from.index)
             : (uint32_t)LK_DTYPE_NONE;
}

/* Tensors of the work as they are. False: none is of another type. */
static bool narrow(const lk_planner *planner, lk_task *task) {
  bool has_half = false;
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    const uint32_t dtype = half_type(planner, task, role);
    if (dtype == LK_DTYPE_NONE) continue;
    task->work.tensors[role].dtype = dtype;
    has_half = true;
  }
  return has_half;
}

/* Tensors of the plan, for the step of this task: an output stays as it was written. */
static void keep_halves(lk_planner *planner, const lk_task *task, bool is_kept) {
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    const lk_step_arg from = task->from[role];
    if (half_type(planner, task, role) == LK_DTYPE_NONE) continue;
    if (!is_kept && from.place == LK_PLACE_OUTPUT) continue;
    lk_planner_keep_half(planner, (lk_place)from.place, from.index, is_kept);
  }
}

/* Whether the step would leave nothing behind it: steps of post-ops want f32. */
static bool is_whole(const lk_planner *planner, const lk_task *task, uint32_t n_own) {
  return is_node_output(task) && task->work.n_post_ops - n_own == planner->node->n_post_ops;
}

/* An engine is not told that dst lies over an input. It may where both lie alike: then each element
 * is read before it is written, as lk_bind_desc says of the operators that can. */
static bool mixes_in_place(const lk_planner *planner, const lk_task *task) {
  const int32_t over = planner->body->in_place_input;
  const bool is_turned = lk_task_is_view(task, LK_ROLE_DST);
  const lk_layout layout = is_turned ? LK_LAYOUT_PLAIN : task->work.tensors[LK_ROLE_DST].layout;
  return over >= 0 && is_node_output(task) &&
         lk_lies_elsewhere_over(planner, (uint32_t)over, layout);
}

/* ---- operands ---- */

typedef struct pack_params {
  const lk_value *value;
  uint32_t role;
} pack_params;

static lk_status pack(const void *params, const void *plain, void *to, lk_error *error) {
  const pack_params *self = params;
  return lk_value_pack(self->value, self->role, plain, to, error);
}

/* There is no way back from packed bytes: the value, which knows them, may go before they do. */
static lk_status take_packed(lk_planner *planner, const lk_task *task, uint32_t role,
                             const lk_value *value, lk_operand *out_operand, lk_error *error) {
  const lk_packed_layout *packed = &value->made.packed[role];
  const lk_key_engine *key = &value->entry->key;
  const pack_params params = {value, role};
  const lk_packer packer = {pack, NULL, &params, sizeof params};
  const lk_weights_layout layout = {.numbers = {LK_PACKED_BY_ENGINE, key->name, key->state, role},
                                    .bytes = packed->layout,
                                    .n_bytes = (size_t)packed->layout_bytes};
  return lk_planner_packed(planner, task->from[role].index, &layout, (size_t)packed->bytes, &packer,
                           out_operand, error);
}

static lk_status take(lk_planner *planner, const lk_task *task, uint32_t role,
                      const lk_value *value, lk_operand *out_operand, lk_error *error) {
  lk_layout layout = task->work.tensors[role].layout;
  if (layout == LK_LAYOUT_ANY) {
    if (value->made.packed[role].layout != NULL) {
      return take_packed(planner, task, role, value, out_operand, error);
    }
    layout = LK_LAYOUT_PLAIN;
  }
  return lk_task_take(planner, task, (lk_role)role, layout, out_operand, error);
}

/* ---- the step ---- */

enum { MOST_OPERANDS = LK_ROLES + 2 }; /* slot and scratch memory */

static lk_status take_scratch(lk_planner *planner, const lk_value *value, lk_operand *operands,
                              uint32_t *inout_n, lk_error *error) {
  const int64_t bytes = (int64_t)value->made.scratch_bytes;
  if (bytes == 0) return LK_OK;
  const lk_tensor_desc desc = lk_tensor_desc_make(LK_U8, 1, &bytes);
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, &operands[*inout_n], error));
  operands[(*inout_n)++].desc.dims[0] = 0; /* what it moves is no work of the step's */
  return LK_OK;
}

/* What the step computes: of products their own, which may be some of several; else what the node
 * does, where the work has its output. 0: nobody says. */
static double flops_of(const lk_planner *planner, const lk_task *task) {
  if (task->work.kind == LK_WORK_PRODUCT) return lk_matmul_flops(&task->work);
  return has_post_ops(task) ? planner->draft.flops : 0;
}

/* `n_own`: functions of the work that are none of the node's post-ops. */
static lk_status emit(lk_planner *planner, const lk_task *task, uint32_t n_own, lk_ref *ref,
                      lk_error *error) {
  const lk_value *value = lk_ref_value(ref);
  lk_operand operands[MOST_OPERANDS], dst = {0};
  uint32_t n = 1;
  LK_RETURN_NOT_OK(lk_planner_value(planner, ref, &operands[0], error));
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    if (!lk_work_has(&task->work, role)) continue;
    LK_RETURN_NOT_OK(take(planner, task, role, value, &operands[n], error));
    if (role == LK_ROLE_DST) dst = operands[n];
    n++;
  }
  LK_RETURN_NOT_OK(take_scratch(planner, value, operands, &n, error));
  const lk_value_params params = {value};
  LK_RETURN_NOT_OK(lk_planner_kernel(planner, lk_value_kernel, value->made.implementation, &params,
                                     sizeof params, operands, n, error));
  if (lk_task_is_view(task, LK_ROLE_DST)) {
    dst.desc = planner->outputs[0]; /* as the node has it, for its post-ops */
    dst.desc.layout = LK_LAYOUT_PLAIN;
  }
  const double flops = flops_of(planner, task);
  if (flops > 0) lk_planner_flops(planner, flops);
  if (!has_post_ops(task)) return LK_OK;
  return lk_plan_post_ops(planner, task->work.n_post_ops - n_own, &dst, error);
}

/* An empty tensor is no work of an engine's. */
static bool has_elements(const lk_work *work) {
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    if (lk_work_has(work, role) && lk_elements(&work->tensors[role]) == 0) return false;
  }
  return true;
}

/* Not at all, which is why. */
static lk_status leave(lk_engine_answer *answer, const char *reason) {
  answer->reason = reason;
  return LK_OK;
}

/* Where native was about to compute a work, it still can when there is no memory to build for it:
 * `*out_ref` is NULL. A run that is to end ends, and what an engine does wrong is told. */
static lk_status get_value(const lk_planner *planner, const lk_engine_entry *entry,
                           const lk_work *work, lk_ref **out_ref, bool *out_is_built,
                           lk_error *error) {
  const bool may_leave = planner->body->asks == LK_ASKS_CHEAPER;
  const lk_status status = lk_value_get(planner->env, entry, work, out_ref, out_is_built, error);
  return status == LK_OUT_OF_MEMORY && may_leave ? LK_OK : status;
}

/* `is_half`: with tensors of f16 and bf16 as they are, all or nothing. */
static lk_status plan_by(lk_planner *planner, const lk_engine_entry *entry, const lk_task *given,
                         bool is_half, lk_engine_answer *answer, lk_error *error) {
  const lk_engine *engine = &entry->engine;
  const lk_plan_asks asks = (lk_plan_asks)planner->body->asks;
  const uint32_t n_own = given->work.n_post_ops;
  lk_status status = LK_OK;
  lk_task task = *given;
  lk_ref *ref = NULL;
  bool is_built = false;
  leave_zeros(planner, &task);
  clear_absent(&task.work);
  note_constants(planner, &task);
  LK_RETURN_NOT_OK(note_positive(planner, &task, error));
  add_post_ops(planner, &task);
  answer->n_post_ops = task.work.n_post_ops - n_own;
  if (is_half && !(is_whole(planner, &task, n_own) && narrow(planner, &task))) return LK_OK;
  lk_offer offer = {.struct_size = sizeof offer, .n_post_ops = task.work.n_post_ops};
  const uint32_t placed = find_layouts(planner, &task, &offer);
  const lk_offer before = offer; /* the layouts of now */
  if (!has_elements(&task.work)) return leave(answer, "a tensor has no elements");
  const bool is_offered = engine->offer(engine->self, &task.work, placed, &offer) == 1;
  answer->reason = offer.reason;
  if (!is_offered) return LK_OK;
  LK_RETURN_NOT_OK(check_offer(engine, &task.work, placed, &offer, error));
  const bool is_part = offer.n_post_ops < task.work.n_post_ops;
  if (offer.n_post_ops < n_own || (is_half && is_part)) return LK_OK;
  keep_post_ops(&task.work, offer.n_post_ops);
  set_layouts(&task.work, &offer);
  answer->taken_post_ops = offer.n_post_ops - n_own;
  if (lk_engines_notes(planner->env->engines, asks)) {
    LK_RETURN_NOT_OK(lk_weigh(planner, entry, &task.work, &before, &offer, &answer->choice, error));
    answer->is_offered = true;
    answer->tensor_bytes = lk_work_bytes(&task.work);
    if (asks == LK_ASKS_CHEAPER && !answer->choice.is_engine) {
      return leave(answer, answer->choice.reason);
    }
  }
  if (mixes_in_place(planner, &task)) {
    return leave(answer, "it is written over an input that lies otherwise");
  }
  LK_TRY(get_value(planner, entry, &task.work, &ref, &is_built, error));
  if (ref == NULL) {
    answer->reason = "there was no memory to build for it";
    goto cleanup;
  }
  const lk_value *value = lk_ref_value(ref);
  if (value->is_refused) {
    const bool is_reference = value->made.is_reference != 0;
    answer->reason = is_reference ? "there is only a slow reference implementation"
                                  : "there is no implementation";
    answer->is_reference = is_reference;
    if (is_built && is_reference) answer->references++;
    goto cleanup;
  }
  if (is_half) keep_halves(planner, &task, true);
  status = emit(planner, &task, n_own, ref, error);
  if (is_half) keep_halves(planner, &task, false);
  answer->is_planned = status == LK_OK;
  answer->built_bytes = value->made.bytes;
  answer->leaves_part = is_part;
  if (!is_part) answer->reason = NULL;
cleanup:
  lk_ref_release(ref);
  return status;
}

/* Where f16 or bf16 are left as they are, f32 is asked for, and that is a part that was left. Where
 * the engine has an offer for them that takes more time than native, f32 would take more still. */
lk_status lk_plan_value(lk_planner *planner, const lk_engine_entry *entry, const lk_task *task,
                        lk_engine_answer *out_answer, lk_error *error) {
  *out_answer = (lk_engine_answer){0};
  if (!lk_planner_is_widened(planner) || is_move(task)) {
    return plan_by(planner, entry, task, false, out_answer, error);
  }
  LK_RETURN_NOT_OK(plan_by(planner, entry, task, true, out_answer, error));
  const bool is_dearer = out_answer->is_offered && planner->body->asks == LK_ASKS_CHEAPER;
  if (out_answer->is_planned || is_dearer) return LK_OK;
  const char *reason = out_answer->reason;
  *out_answer = (lk_engine_answer){.references = out_answer->references};
  LK_RETURN_NOT_OK(plan_by(planner, entry, task, false, out_answer, error));
  out_answer->leaves_part = true;
  if (out_answer->reason == NULL) out_answer->reason = reason;
  return LK_OK;
}
