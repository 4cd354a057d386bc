/* Values: what an engine has built for a work, as the cache keeps it, found by value key. */
#include "ops/engine/value.h"

#include "base/alloc.h"
#include "base/status.h"
#include "ops/engine/guard.h"
#include "ops/engine/value_key.h"

/* ---- building ---- */

typedef struct build_arg {
  const lk_allocator *allocator;
  const lk_engine_entry *entry;
  bool is_built;
} build_arg;

static void destroy_made(const lk_value *value) {
  lk_guard_begin();
  value->engine->destroy(value->engine->self, value->made.value);
  lk_guard_end();
}

static void destroy_value(void *of, void *user) {
  lk_value *value = of;
  if (!value->is_refused) destroy_made(value);
  lk_free(user, value);
}

static lk_status check_built(const lk_engine *engine, const lk_engine_value *made,
                             lk_error *error) {
  if (made->value != NULL && made->implementation != NULL) return LK_OK;
  return lk_fail(error, LK_INTERNAL,
                 "failed to build by engine '%s': it gave no value or no name of it, it must give "
                 "both",
                 engine->name);
}

static lk_status build_by(const lk_engine *engine, const lk_work *work, lk_value *value,
                          lk_error *error) {
  value->engine = engine;
  value->made = (lk_engine_value){.struct_size = sizeof value->made};
  lk_guard_begin();
  const lk_status status = engine->build(engine->self, work, &value->made, error);
  lk_guard_end();
  value->is_refused = status == LK_UNSUPPORTED;
  if (value->is_refused) value->made = (lk_engine_value){0};
  if (value->is_refused || status != LK_OK) return value->is_refused ? LK_OK : status;
  const lk_status checked = check_built(engine, &value->made, error);
  if (checked != LK_OK && value->made.value != NULL) destroy_made(value);
  return checked;
}

/* Sees the key and the engine that the key names, and nothing else. */
static lk_status build(void *arg, const lk_key *key, lk_built *out, lk_error *error) {
  build_arg *from = arg;
  lk_status status = LK_OK;
  lk_work work;
  lk_value *value = lk_calloc(from->allocator, 1, sizeof *value);
  if (value == NULL) return lk_fail_memory(error, "a value of an engine", sizeof *value);
  value->key = from->entry->key;
  LK_TRY(lk_value_key_read(key, &work, error));
  LK_TRY(build_by(&from->entry->engine, &work, value, error));
  from->is_built = !value->is_refused;
  *out = (lk_built){.value = value,
                    .bytes = sizeof *value + value->made.bytes,
                    .destroy = destroy_value,
                    .user = (void *)(uintptr_t)from->allocator};
  value = NULL;
cleanup:
  lk_free(from->allocator, value);
  return status;
}

lk_status lk_value_get(lk_ops_env *env, const lk_engine_entry *entry, const lk_work *work,
                       lk_ref **out_ref, bool *out_is_built, lk_error *error) {
  lk_status status = LK_OK;
  lk_key_builder builder;
  lk_key key;
  build_arg arg = {env->allocator, entry, false};
  *out_ref = NULL;
  lk_value_key_begin(&builder, env->allocator, &entry->key, work);
  LK_TRY(lk_key_finish(&builder, &key, error));
  LK_TRY(lk_cache_get(env->cache, NULL, &key, build, &arg, out_ref, NULL, error));
cleanup:
  *out_is_built = arg.is_built;
  lk_key_builder_destroy(&builder);
  return status;
}

/* ---- running ---- */

lk_status lk_value_open(const lk_value *value, void **out_slot, lk_error *error) {
  *out_slot = NULL;
  lk_guard_begin();
  const lk_status status =
      value->engine->slot_open(value->engine->self, value->made.value, out_slot, error);
  lk_guard_end();
  return status;
}

void lk_value_close(const lk_value *value, void *slot) {
  lk_guard_begin();
  value->engine->slot_close(value->engine->self, value->made.value, slot);
  lk_guard_end();
}

lk_status lk_value_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_value *value = ((const lk_value_params *)params)->value;
  return value->engine->run(value->engine->self, value->made.value, pointers[0], pointers + 1,
                            error);
}
