/* Finds the run plan of a run, or builds it: once for its sizes, and where `auto` may choose once
 * more when they have come several times. */
#include "executor_glue/run/choose_plan.h"

#include "base/clock.h"
#include "base/status.h"
#include "executor_glue/run/build_run_plan.h"
#include "executor_glue/run/observe.h"
#include "executor_glue/run/watch.h"

/* Of those that are part of the key: the last one is which outputs are wanted. */
static uint32_t n_values(const lk_invocation *invocation) {
  return invocation->executor->program->n_by_value + (invocation->wants_all ? 0 : 1);
}

lk_status lk_build_entry(lk_invocation *invocation, const lk_entry_desc *entry,
                         lk_plan_entry **out_entry, lk_error *error) {
  lk_status status = LK_OK;
  lk_graph_executor *executor = invocation->executor;
  const lk_api *api = executor->program->api;
  const lk_run_plan_desc desc = {.inputs = invocation->inputs,
                                 .wanted = invocation->wanted,
                                 .workers = entry->workers,
                                 .is_kept = executor->run_plans,
                                 .flags = entry->flags,
                                 .implementations = executor->implementations,
                                 .node_counts = executor->node_counts,
                                 .node_keys = executor->node_keys,
                                 .bound = invocation->traced != NULL ? lk_observe_node : NULL,
                                 .bound_arg = invocation};
  lk_run_plan *plan = NULL;
  lk_thread_watch room;
  *out_entry = NULL;
  invocation->has_built = true;
  LK_RETURN_NOT_OK(lk_watch_thread_begin(api, &room, &invocation->stop, error));
  LK_TRY(lk_build_run_plan(executor->program, &desc, &plan, error));
  LK_TRY(lk_plan_entry_create(executor->pool, plan, entry->is_cached, out_entry, error));
  plan = NULL;

cleanup:
  api->thread_unwatch(&room);
  lk_run_plan_destroy(plan);
  return status;
}

/* As this run wants it. */
static lk_status build_entry(lk_invocation *invocation, bool is_cached, lk_plan_entry **out_entry,
                             lk_error *error) {
  const lk_entry_desc desc = {.is_cached = is_cached,
                              .workers = invocation->executor->workers,
                              .flags = invocation->recurs ? LK_BIND_RECURS : 0};
  LK_RETURN_NOT_OK(lk_build_entry(invocation, &desc, out_entry, error));
  if (invocation->recurs) lk_plan_entry_settle(*out_entry);
  return LK_OK;
}

static void destroy_entry(void *value, void *user) {
  (void)user;
  lk_plan_entry_destroy(value);
}

static lk_size_build size_of(const lk_invocation *invocation) {
  return (lk_size_build){.inputs = invocation->descs,
                         .values = invocation->values,
                         .n_inputs = (uint32_t)invocation->executor->program->graph->n_inputs,
                         .n_values = n_values(invocation)};
}

/* Notes that `entry` was built for the sizes of this run. */
static lk_status note_size(const lk_invocation *invocation, lk_plan_entry *entry, uint64_t begin_ns,
                           lk_error *error) {
  lk_size_build build = size_of(invocation);
  lk_size_record *size = NULL;
  build.begin_ns = begin_ns;
  build.end_ns = lk_now_ns();
  build.bytes = lk_plan_entry_plan(entry)->bytes;
  build.recurs = invocation->recurs;
  LK_RETURN_NOT_OK(lk_size_log_add(invocation->executor->sizes, &build, &size, error));
  lk_plan_entry_set_size(entry, size);
  return LK_OK;
}

/* A size whose plan was evicted keeps its choice, so that its results keep their bits. Without the
 * memory for what an engine builds, native computes. */
static lk_status build_as_before(lk_invocation *invocation, lk_plan_entry **out_entry,
                                 lk_error *error) {
  const lk_graph_executor *executor = invocation->executor;
  const lk_size_build size = size_of(invocation);
  if (invocation->recurs || !executor->is_auto || !lk_size_log_recurs(executor->sizes, &size)) {
    return build_entry(invocation, true, out_entry, error);
  }
  invocation->recurs = true;
  const lk_status status = build_entry(invocation, true, out_entry, error);
  if (status != LK_OUT_OF_MEMORY) return status;
  invocation->recurs = false;
  return build_entry(invocation, true, out_entry, error);
}

/* `entry` stays the caller's where this succeeds, else it is gone. */
static lk_status note_build(const lk_invocation *invocation, lk_plan_entry *entry,
                            uint64_t begin_ns, lk_error *error) {
  const lk_status status = note_size(invocation, entry, begin_ns, error);
  if (status == LK_OK) {
    atomic_fetch_add(&invocation->executor->builds, 1);
  } else {
    lk_plan_entry_destroy(entry);
  }
  return status;
}

static lk_status build_noted(lk_invocation *invocation, lk_plan_entry **out_entry,
                             lk_error *error) {
  lk_plan_entry *entry = NULL;
  const uint64_t begin = lk_now_ns();
  *out_entry = NULL;
  LK_RETURN_NOT_OK(build_as_before(invocation, &entry, error));
  LK_RETURN_NOT_OK(note_build(invocation, entry, begin, error));
  *out_entry = entry;
  return LK_OK;
}

static lk_status build_cached(void *arg, const lk_key *key, lk_built *out, lk_error *error) {
  (void)key;
  lk_invocation *invocation = arg;
  lk_plan_entry *entry = invocation->made; /* it is built already */
  invocation->made = NULL;
  if (entry == NULL) LK_RETURN_NOT_OK(build_noted(invocation, &entry, error));
  *out = (lk_built){
      .value = entry, .bytes = lk_plan_entry_plan(entry)->bytes, .destroy = destroy_entry};
  return LK_OK;
}

/* What is this run's in the key of its plan. */
static lk_key_desc describe(const lk_invocation *invocation) {
  return (lk_key_desc){.struct_size = sizeof(lk_key_desc),
                       .kind = LK_KEY_RUN,
                       .name = invocation->executor->name,
                       .n_tensors = (uint32_t)invocation->executor->program->graph->n_inputs,
                       .n_values = n_values(invocation),
                       .tensors = invocation->descs,
                       .values = invocation->values};
}

static lk_status find(lk_invocation *invocation, lk_error *error) {
  lk_graph_executor *executor = invocation->executor;
  const lk_program *program = executor->program;
  const lk_api *api = program->api;
  int hit = 0;
  const lk_key_desc desc = describe(invocation);
  LK_RETURN_NOT_OK(api->get_or_create_like(program->context, program->executor, executor->run_key,
                                           &desc, build_cached, invocation, &invocation->ref, &hit,
                                           error));
  invocation->entry = api->ref_value(invocation->ref);
  invocation->has_waited = hit == 0 && !invocation->has_built;
  return LK_OK;
}

/* Without the memory for what an engine builds, native computes. */
static lk_status find_recurring(lk_invocation *invocation, lk_error *error) {
  invocation->recurs = true;
  const lk_status status = find(invocation, error);
  if (status != LK_OUT_OF_MEMORY) return status;
  invocation->recurs = false;
  return find(invocation, error);
}

/* In per-thread mode of this thread alone. */
static lk_status drop(lk_invocation *invocation, lk_error *error) {
  const lk_program *program = invocation->executor->program;
  const lk_api *api = program->api;
  const lk_key_desc desc = describe(invocation);
  lk_key *key = NULL;
  LK_RETURN_NOT_OK(api->key_create(program->context, program->executor, &desc, &key, error));
  const lk_status status = api->cache_drop(program->context, program->executor, key, NULL, error);
  api->key_destroy(program->context, key);
  return status;
}

/* Puts `invocation->made` into the cache. Between the two calls another thread may have built a
 * plan for sizes that are new to it, which goes, too. Somebody may always come between: then that
 * one stays. */
static lk_status replace(lk_invocation *invocation, lk_error *error) {
  enum { MOST_TRIES = 3 };
  for (int i = 0; i < MOST_TRIES && invocation->made != NULL; i++) {
    lk_release_plan(invocation);
    LK_RETURN_NOT_OK(drop(invocation, error));
    LK_RETURN_NOT_OK(find(invocation, error));
  }
  return LK_OK;
}

/* Sets `invocation->made` to a plan for a size that recurs. Or to NULL, where `former` is as good,
 * since native computes all in both, and nobody has asked for a choice, with which profiles show
 * what was expected. */
static lk_status build_other(lk_invocation *invocation, const lk_plan_entry *former, bool is_asked,
                             lk_error *error) {
  lk_plan_entry *entry = NULL;
  const uint64_t begin = lk_now_ns();
  invocation->recurs = true;
  LK_RETURN_NOT_OK(build_entry(invocation, true, &entry, error));
  const bool is_native =
      lk_plan_entry_plan(entry)->n_values == 0 && lk_plan_entry_plan(former)->n_values == 0;
  if (is_native && !is_asked) {
    lk_plan_entry_destroy(entry);
    return LK_OK;
  }
  LK_RETURN_NOT_OK(note_build(invocation, entry, begin, error));
  invocation->made = entry;
  return LK_OK;
}

/* The former plan serves all others until the new one is there, and whoever has it to the end. */
static lk_status build_recurring(lk_invocation *invocation, bool is_asked, lk_error *error) {
  lk_plan_entry *former = invocation->entry;
  lk_ref *held = invocation->ref;
  const lk_api *api = invocation->executor->program->api;
  const bool has_claimed = invocation->is_due;
  invocation->is_due = false;
  api->ref_retain(held); /* of `former` */
  lk_status status = build_other(invocation, former, is_asked, error);
  const bool is_other = invocation->made != NULL;
  if (is_other) status = replace(invocation, error);
  if (status == LK_OK && is_other) {
    lk_plan_entry_replace(former); /* by `made`, or by what another thread has built */
  } else if (status == LK_OK) {
    lk_plan_entry_settle(former);
  } else if (has_claimed) {
    lk_plan_entry_end_claim(former, true);
  }
  api->ref_release(held);
  lk_plan_entry_destroy(invocation->made);
  invocation->made = NULL;
  return status;
}

lk_status lk_build_recurring(lk_invocation *invocation, lk_error *error) {
  return build_recurring(invocation, true, error);
}

/* Where another run has claimed the plan, too: what that one builds comes too late for this one.
 * Without the memory for it the former plan stays. */
static lk_status choose_now(lk_invocation *invocation, lk_error *error) {
  LK_RETURN_NOT_OK(find_recurring(invocation, error));
  if (!invocation->recurs || lk_plan_entry_stage(invocation->entry) == LK_PLAN_SETTLED) {
    return LK_OK;
  }
  const lk_status status = lk_build_recurring(invocation, error);
  if (status != LK_OUT_OF_MEMORY) return status;
  lk_release_plan(invocation);
  invocation->recurs = false;
  return find(invocation, error);
}

/* A size that is fixed recurs. Where there was no memory for such a plan, uses of native's are
 * counted as those of a size that is open. */
static lk_status find_auto(lk_invocation *invocation, lk_error *error) {
  if (invocation->chooses) return choose_now(invocation, error);
  LK_RETURN_NOT_OK(invocation->executor->is_static ? find_recurring(invocation, error)
                                                   : find(invocation, error));
  invocation->is_due = lk_plan_entry_claim(invocation->entry);
  return LK_OK;
}

void lk_settle_run(lk_invocation *invocation, lk_status status) {
  lk_error ignored; /* the run has ended well, and the former plan stays */
  if (!invocation->is_due) return;
  if (status == LK_OK) {
    (void)build_recurring(invocation, false, &ignored);
  } else {
    invocation->is_due = false;
    lk_plan_entry_end_claim(invocation->entry, false);
  }
}

lk_status lk_choose_plan(lk_invocation *invocation, lk_error *error) {
  lk_graph_executor *executor = invocation->executor;
  if (!executor->run_plans) return build_entry(invocation, false, &invocation->entry, error);
  LK_RETURN_NOT_OK(executor->is_auto ? find_auto(invocation, error) : find(invocation, error));
  const bool is_hit = !invocation->has_built && !invocation->has_waited;
  if (is_hit) lk_tally_add(&executor->counts, LK_COUNT_HITS);
  return LK_OK;
}

void lk_release_plan(lk_invocation *invocation) {
  if (invocation->ref != NULL) {
    invocation->executor->program->api->ref_release(invocation->ref);
  } else {
    lk_plan_entry_destroy(invocation->entry);
  }
  invocation->ref = NULL;
  invocation->entry = NULL;
}
