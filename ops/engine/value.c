/* Values: what an engine has built for a work, as the cache keeps it, found by value key. */
#include "ops/engine/value.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/given.h"
#include "base/status.h"
#include "ops/engine/guard.h"
#include "ops/engine/value_key.h"
#include "ops/kernel/host.h"

/* ---- building ---- */

typedef struct build_arg {
  const lk_ops_env *env;
  const lk_engine_entry *entry;
  bool is_built;
} build_arg;

static const lk_engine *engine_of(const lk_value *value) {
  return &value->entry->engine;
}

static void destroy_made(const lk_value *value) {
  const lk_engine *engine = engine_of(value);
  lk_guard_begin();
  engine->destroy(engine->self, value->made.value);
  lk_guard_end();
}

/* Of a value that was accepted. */
static void give_up(const lk_ops_env *env, const lk_value *value) {
  destroy_made(value);
  lk_memory_budget_give_back(env->memory, value->made.bytes);
}

static void destroy_value(void *of, void *user) {
  lk_value *value = of;
  const lk_ops_env *env = user;
  if (!value->is_refused) give_up(env, value);
  lk_free(env->allocator, value);
}

/* What an engine of a host's returns is not trusted: a status, with a sentence. */
static lk_status settle(const lk_engine *engine, const char *did, lk_status given,
                        lk_error *error) {
  if (given == LK_OK) return LK_OK;
  const char *text = error != NULL ? error->message : "";
  if (!lk_is_status(given)) {
    return lk_fail(error, LK_INTERNAL, "failed to %s by engine '%s': it returned %d, no lk_status",
                   did, engine->name, (int)given);
  }
  if (error != NULL && text[0] == '\0') {
    return lk_fail(error, given, "failed to %s by engine '%s': it gave no reason", did,
                   engine->name);
  }
  return given;
}

#define MOST_BYTES (UINT64_C(1) << 47) /* of a tensor, and so of what works on them */

static lk_status check_built(const lk_engine *engine, const lk_engine_value *made,
                             lk_error *error) {
  if (made->value == NULL || made->implementation == NULL) {
    return lk_fail(error, LK_INTERNAL,
                   "failed to build by engine '%s': it gave no value or no name of it, it must "
                   "give both",
                   engine->name);
  }
  if (made->bytes > MOST_BYTES || made->scratch_bytes > MOST_BYTES) {
    return lk_fail(error, LK_INTERNAL,
                   "failed to build by engine '%s': its value takes %" PRIu64 " bytes and %" PRIu64
                   " for a run, at most %" PRIu64 " are allowed",
                   engine->name, made->bytes, made->scratch_bytes, MOST_BYTES);
  }
  return LK_OK;
}

/* Of a value that the engine has built. */
static lk_status accept(const lk_ops_env *env, lk_value *value, lk_error *error) {
  LK_RETURN_NOT_OK(check_built(engine_of(value), &value->made, error));
  if (lk_memory_budget_charge(env->memory, value->made.bytes)) return LK_OK;
  return lk_fail_memory(error, "a value of an engine", (size_t)value->made.bytes);
}

static void refuse(lk_value *value) {
  value->is_refused = true;
  value->made = (lk_engine_value){.is_reference = value->made.is_reference};
}

static lk_status build_by(const lk_ops_env *env, const lk_work *work, lk_value *value,
                          lk_error *error) {
  const lk_engine *engine = engine_of(value);
  if (error != NULL) error->message[0] = '\0';
  value->made = (lk_engine_value){.struct_size = sizeof value->made};
  lk_guard_begin();
  lk_status status = engine->build(engine->self, work, &value->made, error);
  lk_guard_end();
  if (status == LK_UNSUPPORTED) {
    refuse(value);
    return LK_OK;
  }
  LK_RETURN_NOT_OK(settle(engine, "build", status, error));
  status = accept(env, value, error);
  if (status != LK_OK) {
    if (value->made.value != NULL) destroy_made(value);
  } else if (value->made.is_reference != 0) {
    give_up(env, value); /* a slow one: native computes it sooner */
    refuse(value);
  }
  return status;
}

/* Sees the key and the engine that the key names, and nothing else. */
static lk_status build(void *arg, const lk_key *key, lk_built *out, lk_error *error) {
  build_arg *from = arg;
  lk_status status = LK_OK;
  lk_work work;
  const lk_allocator *allocator = from->env->allocator;
  lk_value *value = lk_calloc(allocator, 1, sizeof *value);
  if (value == NULL) return lk_fail_memory(error, "a value of an engine", sizeof *value);
  value->entry = from->entry;
  LK_TRY(lk_value_key_read(key, &work, error));
  LK_TRY(build_by(from->env, &work, value, error));
  from->is_built = true;
  *out = (lk_built){.value = value,
                    .bytes = sizeof *value + value->made.bytes,
                    .destroy = destroy_value,
                    .user = (void *)(uintptr_t)from->env};
  value = NULL;
cleanup:
  lk_free(allocator, value);
  return status;
}

lk_status lk_value_get(lk_ops_env *env, const lk_engine_entry *entry, const lk_work *work,
                       lk_ref **out_ref, bool *out_is_built, lk_error *error) {
  lk_status status = LK_OK;
  lk_key_builder builder;
  lk_key key;
  build_arg arg = {env, entry, false};
  *out_ref = NULL;
  lk_value_key_begin(&builder, env->allocator, entry->value_keys, work);
  LK_TRY(lk_key_finish_partial(&builder, &key, error));
  LK_TRY(lk_cache_get(env->cache, NULL, &key, build, &arg, out_ref, NULL, error));
cleanup:
  *out_is_built = arg.is_built;
  lk_key_builder_destroy(&builder);
  return status;
}

/* ---- packing ---- */

lk_status lk_value_pack(const lk_value *value, uint32_t role, const void *plain, void *packed,
                        lk_error *error) {
  const lk_engine *engine = engine_of(value);
  if (error != NULL) error->message[0] = '\0';
  lk_guard_begin();
  const lk_status status =
      engine->pack(engine->self, value->made.value, role, plain, packed, error);
  lk_guard_end();
  return settle(engine, "pack a constant", status, error);
}

/* ---- running ---- */

lk_status lk_value_open(const lk_value *value, void **out_slot, lk_error *error) {
  const lk_engine *engine = engine_of(value);
  *out_slot = NULL;
  if (error != NULL) error->message[0] = '\0';
  lk_guard_begin();
  const lk_status status = engine->slot_open(engine->self, value->made.value, out_slot, error);
  lk_guard_end();
  return settle(engine, "open a slot", status, error);
}

void lk_value_close(const lk_value *value, void *slot) {
  const lk_engine *engine = engine_of(value);
  lk_guard_begin();
  engine->slot_close(engine->self, value->made.value, slot);
  lk_guard_end();
}

lk_status lk_value_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_value *value = ((const lk_value_params *)params)->value;
  const lk_engine *engine = engine_of(value);
  if (error != NULL) error->message[0] = '\0';
  const lk_status status =
      engine->run(engine->self, value->made.value, pointers[0], pointers + 1, error);
  return settle(engine, "run", status, error);
}

const char *lk_value_engine_of_step(const lk_plan_body *body, uint32_t index) {
  const lk_step *step = &lk_plan_steps(body)[index];
  if (step->kernel == lk_host_kernel) return "host";
  if (step->kernel != lk_value_kernel) return "native";
  return engine_of(((const lk_value_params *)step->params)->value)->name;
}
