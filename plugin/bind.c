/* op_bind: from an op and shapes, by name key, to a plan. */
#include <inttypes.h>
#include <stdio.h>

#include "base/prefetch.h"
#include "base/require.h"
#include "base/status.h"
#include "base/struct.h"
#include "base/team/float_state.h"
#include "base/tensor.h"
#include "keys/key_build.h"
#include "ops/engine/value.h"
#include "ops/plan/blocks.h"
#include "ops/plan/step_info.h"
#include "plugin/internal.h"
#include "plugin/table.h"

/* What the name key was made of, for the build. */
typedef struct bind_arg {
  lk_op *op;
  const lk_bind_desc *bind;
} bind_arg;

lk_status lk_bind_size_input(const lk_bind_desc *bind, uint32_t index, int64_t *out_elements,
                             lk_error *error) {
  const lk_tensor_desc *desc = &bind->inputs[index].desc;
  char what[32];
  /* Its name is for the sentence only, which few binds need. */
  if (lk_tensor_size(desc, "an input", out_elements, NULL, NULL) == LK_OK) return LK_OK;
  (void)snprintf(what, sizeof what, "input %u", index);
  return lk_tensor_size(desc, what, out_elements, NULL, error);
}

/* Whether input `index`, whose description has been sized, is a value that shapes depend on and
 * that is not there. */
static bool lacks_value(const lk_op *op, const lk_bind_desc *bind, uint32_t index) {
  return lk_op_is_shape_input(op, index) && op->comes_at_run[index] &&
         bind->inputs[index].data == NULL && lk_elements(&bind->inputs[index].desc) > 0;
}

static lk_layout wish_of(const lk_bind_desc *bind, uint32_t output) {
  return bind->wishes != NULL ? bind->wishes[output] : LK_LAYOUT_ANY;
}

static void destroy_body(void *value, void *user) {
  (void)user;
  lk_plan_body_destroy(value);
}

static bool lacks_values(const lk_op *op, const lk_bind_desc *bind) {
  for (uint32_t i = 0; i < op->node.n_inputs; i++) {
    if (lacks_value(op, bind, i)) return true;
  }
  return false;
}

static lk_plan_asks asks_of(const lk_op *op, const lk_bind_desc *bind) {
  return lk_engines_asks(op->executor->context->env.engines, bind->flags);
}

static lk_status build_body(lk_op *op, const lk_bind_desc *bind, lk_plan_use use,
                            lk_plan_body **out_body, lk_error *error) {
  lk_ops_env *env = &op->executor->context->env;
  const lk_plan_request request = {.inputs = bind->inputs,
                                   .wishes = bind->wishes,
                                   .in_place_input = bind->in_place_input,
                                   .use = use,
                                   .asks = asks_of(op, bind)};
  const lk_float_state host_float = lk_float_begin(); /* constants are packed */
  const lk_status status = lacks_values(op, bind)
                               ? lk_plan_defer(env, &op->node, &request, out_body, error)
                               : lk_plan_build(env, &op->node, &request, out_body, error);
  lk_float_end(host_float);
  LK_RETURN_NOT_OK(status);
  (*out_body)->node_serial = op->serial;
  return LK_OK;
}

/* For the cache. */
static lk_status build_plan(void *arg, const lk_key *key, lk_built *out, lk_error *error) {
  (void)key; /* it is complete given its node, which `arg` has */
  const bind_arg *from = arg;
  lk_plan_body *body = NULL;
  LK_RETURN_NOT_OK(build_body(from->op, from->bind, LK_PLAN_COMPARED, &body, error));
  *out = (lk_built){.value = body, .bytes = body->bytes, .destroy = destroy_body};
  return LK_OK;
}

/* Whether `body` is what this bind would find: the same node, shapes, layouts and wishes. Values of
 * shape inputs are not kept in a body, so an op that has any always looks up. */
static bool is_unchanged(const lk_op *op, const lk_bind_desc *bind, const lk_plan_body *body) {
  if (!body->is_compared) return false; /* nobody was to ask */
  if (body->node_serial != op->serial || op->has_shape_inputs) return false;
  if (body->in_place_input != bind->in_place_input || body->asks != asks_of(op, bind)) return false;
  for (uint32_t i = 0; i < body->n_inputs; i++) {
    if (!op->comes_at_run[i]) continue;
    if (!lk_tensor_desc_same(&lk_plan_inputs(body)[i], &bind->inputs[i].desc)) return false;
  }
  for (uint32_t i = 0; i < body->n_outputs; i++) {
    if (lk_plan_wishes(body)[i] != wish_of(bind, i)) return false;
  }
  return true;
}

static lk_status check_bind(const lk_op *op, const lk_bind_desc *bind, lk_error *error) {
  if (bind->n_inputs > 0 && bind->inputs == NULL) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "inputs is NULL and its count is not 0, give both or neither");
  }
  if (bind->n_inputs != op->node.n_inputs || bind->n_outputs != op->node.n_outputs) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "it is given %u inputs and %u outputs, its node has %u and %u", bind->n_inputs,
                   bind->n_outputs, op->node.n_inputs, op->node.n_outputs);
  }
  const uint32_t known = LK_BIND_OWN | LK_BIND_ONCE | LK_BIND_RECURS | LK_BIND_ENGINE;
  if ((bind->flags & ~known) != 0) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "flags are 0x%x, only 0x1 (LK_BIND_OWN), 0x2 (LK_BIND_ONCE), 0x4 "
                   "(LK_BIND_RECURS) and 0x8 (LK_BIND_ENGINE) are allowed",
                   bind->flags);
  }
  const int32_t over = bind->in_place_input;
  if (over != -1 && (over < 0 || over >= 64 || (uint32_t)over >= op->node.n_operands ||
                     (op->node.class_->row.in_place_inputs >> over & 1) == 0)) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "it is to run in place over input %d, which the operator does not allow", over);
  }
  for (uint32_t i = 0; bind->wishes != NULL && i < bind->n_outputs; i++) {
    if (bind->wishes[i] != LK_LAYOUT_ANY && bind->wishes[i] > LK_LAYOUT_HEADS_INSIDE) {
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "output %u wishes for layout %u, plain, channels-last, heads inside or any", i,
                     bind->wishes[i]);
    }
  }
  return LK_OK;
}

/* The descriptions of inputs that come at run time, as far as keys and deferred plans rely on. */
static lk_status check_inputs(const lk_op *op, const lk_bind_desc *bind, lk_error *error) {
  for (uint32_t i = 0; i < op->node.n_inputs; i++) {
    if (!op->comes_at_run[i]) continue;
    if (bind->inputs[i].desc.rank > LK_MAX_RANK) {
      return lk_fail(error, LK_OUT_OF_RANGE, "input %u has rank %u, at most %d is supported", i,
                     bind->inputs[i].desc.rank, LK_MAX_RANK);
    }
    if (lk_op_is_shape_input(op, i)) {
      LK_RETURN_NOT_OK(lk_bind_size_input(bind, i, NULL, error));
    }
  }
  return LK_OK;
}

/* The part of the name key that changes from call to call. */
static void add_call(lk_key_builder *key, const lk_op *op, const lk_bind_desc *bind) {
  const lk_key_call call = lk_call_make(op->executor->context, bind->in_place_input, false);
  lk_key_add_call(key, &call);
  lk_engines_add_to_key(op->executor->context->env.engines, asks_of(op, bind), key);
  for (uint32_t i = 0; i < op->node.n_inputs; i++) {
    if (!op->comes_at_run[i]) continue; /* in the fixed part */
    /* without a value: a tensor record as of any other input, which no known value has; a value of
     * no elements is always known */
    if (lk_op_is_shape_input(op, i) && !lacks_value(op, bind, i)) {
      lk_key_add_value(key, LK_WORD_INPUT, i, &bind->inputs[i]);
    } else {
      lk_key_add_tensor(key, LK_WORD_INPUT, i, &bind->inputs[i].desc);
    }
  }
  for (uint32_t i = 0; i < op->node.n_outputs; i++) {
    if (wish_of(bind, i) == LK_LAYOUT_ANY) continue;
    const int64_t wish[] = {i, wish_of(bind, i)};
    lk_key_add_attr(key, LK_WORD_WISH, wish, 2);
  }
}

/* Finds the plan by its name key, or builds it. */
static lk_status look_up(lk_op *op, const lk_bind_desc *bind, lk_plan **out_plan, lk_error *error) {
  lk_status status = LK_OK;
  lk_ref *found = NULL;
  lk_key_builder builder;
  lk_key key;
  bind_arg arg = {op, bind};
  LK_RETURN_NOT_OK(lk_op_prefix(op, "bind", check_inputs(op, bind, error), error));
  /* hashed only when the cache has to look it up: what a thread asks for often follows an order */
  lk_key_begin_from(&builder, &op->executor->context->allocator, op->fixed);
  add_call(&builder, op, bind);
  LK_TRY(lk_key_finish_partial(&builder, &key, error));
  LK_TRY(lk_cache_get(op->executor->context->env.cache, op->executor->quota, &key, build_plan, &arg,
                      &found, NULL, error));
  *out_plan = (lk_plan *)found;
cleanup:
  lk_key_builder_destroy(&builder);
  return status;
}

/* ---- a plan of its own ---- */

static const lk_pattern *pattern_of(const lk_op *op) {
  return atomic_load_explicit(&op->pattern, memory_order_acquire);
}

/* Keeps what further plans have in common with this one. Another thread may have been first. */
static lk_status keep_pattern(lk_op *op, const lk_bind_desc *bind, const lk_plan_body *body,
                              lk_error *error) {
  lk_pattern *made = NULL, *none = NULL;
  if (!atomic_exchange_explicit(&op->was_bound, true, memory_order_relaxed)) return LK_OK;
  LK_RETURN_NOT_OK(lk_pattern_create(&op->node, body, bind->inputs, bind->wishes, &made, error));
  if (!atomic_compare_exchange_strong(&op->pattern, &none, made)) lk_pattern_destroy(made);
  return LK_OK;
}

/* From the pattern; NULL: it has to be built. */
static lk_status resize_body(lk_op *op, const lk_bind_desc *bind, const lk_pattern *pattern,
                             lk_plan_body **out_body, lk_error *error) {
  const lk_float_state host_float = lk_float_begin();
  const lk_status status = lk_pattern_resize(pattern, &op->node, bind->inputs, bind->wishes,
                                             bind->in_place_input, out_body, error);
  lk_float_end(host_float);
  if (*out_body != NULL) (*out_body)->node_serial = op->serial;
  return status;
}

static lk_status build_own(lk_op *op, const lk_bind_desc *bind, lk_plan_body **out_body,
                           lk_error *error) {
  LK_RETURN_NOT_OK(lk_op_prefix(op, "bind", check_inputs(op, bind, error), error));
  return build_body(op, bind, LK_PLAN_RUN, out_body, error);
}

static lk_status make_own(lk_op *op, const lk_bind_desc *bind, lk_plan **out_plan,
                          lk_error *error) {
  lk_status status = LK_OK;
  lk_plan_body *body = NULL;
  const bool is_native = asks_of(op, bind) == LK_ASKS_NATIVE;
  const lk_pattern *pattern = is_native ? pattern_of(op) : NULL;
  if (pattern != NULL) LK_TRY(resize_body(op, bind, pattern, &body, error));
  if (body == NULL) {
    LK_TRY(build_own(op, bind, &body, error));
    if (pattern == NULL && is_native) LK_TRY(keep_pattern(op, bind, body, error));
  }
  *out_plan = lk_plan_of_body(body);
  body = NULL;
cleanup:
  lk_plan_body_destroy(body);
  return status;
}

lk_status lk_op_bind(lk_op *op, const lk_bind_desc *bind, lk_plan **inout_plan, lk_error *error) {
  LK_REQUIRE("op_bind", error, inout_plan);
  lk_status status = LK_OK;
  lk_plan *former = *inout_plan;
  lk_bind_desc read; /* set only where it is needed: an unchanged bind is a few comparisons */
  *inout_plan = NULL;
  LK_TRY(LK_REQUIRED("op_bind", error, op, bind));
  if (bind->struct_size != sizeof *bind) { /* from another header */
    read = (lk_bind_desc)LK_BIND_DEFAULTS;
    LK_TRY(lk_struct_read(&read, sizeof read, bind, "a bind description", error));
    bind = &read;
  }
  LK_TRY(lk_op_prefix(op, "bind", check_bind(op, bind, error), error));
  if (former != NULL && is_unchanged(op, bind, lk_plan_get_body(former))) {
    *inout_plan = former;
    former = NULL;
  } else {
    lk_plan_release(former); /* first: what is built may need its room */
    former = NULL;
    const bool is_own = (bind->flags & LK_BIND_ONCE) != 0 ||
                        ((bind->flags & LK_BIND_OWN) != 0 &&
                         lk_engines_has_own_plans(op->executor->context->env.engines));
    LK_TRY(is_own ? make_own(op, bind, inout_plan, error) : look_up(op, bind, inout_plan, error));
  }
cleanup:
  lk_plan_release(former);
  return status;
}

/* ---- binds to come ---- */

/* What the op itself points to. */
static void prefetch_parts(const lk_op *op) {
  const lk_pattern *pattern = pattern_of(op);
  if (pattern != NULL) lk_pattern_prefetch(pattern);
  lk_prefetch(op->node.params, op->node.class_->params_size);
  lk_prefetch(op->comes_at_run, op->node.n_inputs);
}

static void prefetch_packed(const lk_op *op) {
  const lk_pattern *pattern = pattern_of(op);
  if (pattern != NULL) lk_pattern_prefetch_packed(pattern);
}

/* Each op comes by three times, one place nearer: what is read of it now was brought the time
 * before. */
void lk_ops_expect(lk_op *const *ops, uint32_t n_ops) {
  if (n_ops > 2 && ops[2] != NULL) lk_prefetch(ops[2], sizeof *ops[2]);
  if (n_ops > 1 && ops[1] != NULL) prefetch_parts(ops[1]);
  if (n_ops > 0 && ops[0] != NULL) prefetch_packed(ops[0]);
}

lk_status lk_plan_info_get(const lk_plan *plan, lk_plan_info *info, lk_error *error) {
  LK_REQUIRE("plan_info", error, plan, info);
  const lk_plan_body *body = lk_plan_get_body(plan);
  const lk_plan_expected expected = lk_plan_body_expected(body);
  const lk_plan_info filled = {.struct_size = sizeof filled,
                               .bytes = body->bytes,
                               .scratch_bytes = body->temp_bytes,
                               .alias_input = body->alias_input,
                               .n_steps = body->n_steps,
                               .n_reorders = body->n_reorders,
                               .n_values = body->n_values,
                               .implementation = lk_plan_main_kernel(body),
                               .known_when_run = lk_plan_is_deferred(body) ? 1U : 0U,
                               .flops = body->flops,
                               .n_blocks = body->n_blocks,
                               .is_cached = lk_plan_is_own(plan) ? 0U : 1U,
                               .expected_ns = expected.ns,
                               .is_expected_measured = expected.is_measured != 0 ? 1U : 0U};
  return lk_struct_write(info, &filled, sizeof filled, "plan info", error);
}

static lk_status check_index(const char *what, uint32_t index, uint32_t count, lk_error *error) {
  if (index < count) return LK_OK;
  return lk_fail(error, LK_OUT_OF_RANGE,
                 "failed to describe %s %u: the plan has %u, numbered from 0", what, index, count);
}

lk_status lk_plan_step(const lk_plan *plan, uint32_t index, lk_step_info *out, lk_error *error) {
  LK_REQUIRE("plan_step", error, plan, out);
  const lk_plan_body *body = lk_plan_get_body(plan);
  LK_RETURN_NOT_OK(check_index("step", index, body->n_steps, error));
  lk_step_info info = lk_step_describe(body, index);
  info.engine = lk_value_engine_of_step(body, index);
  return lk_struct_write(out, &info, sizeof info, "lk_step_info", error);
}

lk_status lk_plan_block(const lk_plan *plan, uint32_t index, lk_block *out, lk_error *error) {
  LK_REQUIRE("plan_block", error, plan, out);
  const lk_plan_body *body = lk_plan_get_body(plan);
  LK_RETURN_NOT_OK(check_index("block", index, body->n_blocks, error));
  const lk_block block = lk_plan_describe_block(body, index);
  return lk_struct_write(out, &block, sizeof block, "lk_block", error);
}

lk_status lk_plan_output(const lk_plan *plan, uint32_t index, lk_tensor_desc *out,
                         lk_error *error) {
  LK_REQUIRE("plan_output", error, plan, out);
  const lk_plan_body *body = lk_plan_get_body(plan);
  LK_RETURN_NOT_OK(check_index("output", index, body->n_outputs, error));
  *out = lk_plan_body_output(body, index);
  return LK_OK;
}

void lk_plan_retain(lk_plan *plan) {
  if (lk_plan_is_own(plan)) {
    atomic_fetch_add_explicit(&lk_plan_own_body(plan)->refs, 1, memory_order_relaxed);
  } else {
    lk_ref_retain((lk_ref *)plan);
  }
}

void lk_plan_release(lk_plan *plan) {
  if (!lk_plan_is_own(plan)) {
    lk_ref_release((lk_ref *)plan);
  } else if (atomic_fetch_sub(&lk_plan_own_body(plan)->refs, 1) == 1) {
    lk_plan_body_destroy(lk_plan_own_body(plan));
  }
}
