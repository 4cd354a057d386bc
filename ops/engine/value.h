/* Values: what an engine has built for a work, as the cache keeps it, found by value key. */
#pragma once

#include "ops/engine/engines.h"

typedef struct lk_value {
  const lk_engine_entry *entry;
  lk_engine_value made;
  bool is_refused; /* the engine cannot build it, which is kept, so that nobody asks again */
} lk_value;

/* The value for the work: found or built, once, however many threads ask. `*out_is_built`: by this
 * call. */
lk_status lk_value_get(lk_ops_env *env, const lk_engine_entry *entry, const lk_work *work,
                       lk_ref **out_ref, bool *out_is_built, lk_error *error);

/* Packs the constant of `role` for it, from plain bytes at any address. */
lk_status lk_value_pack(const lk_value *value, uint32_t role, const void *plain, void *packed,
                        lk_error *error);

/* ---- for frames: what changes while a value runs ---- */

lk_status lk_value_open(const lk_value *value, void **out_slot, lk_error *error);
void lk_value_close(const lk_value *value, void *slot);

/* The kernel of a step that runs a value. `params`: an lk_value_params; pointers: the slot, then
 * what lk_engine.run gets. */
typedef struct lk_value_params {
  const lk_value *value;
} lk_value_params;
lk_status lk_value_kernel(const void *params, void *const *pointers, lk_error *error);

/* Who computes a step of a plan: "native", "host" (an operator of the host's own), or the name of
 * the engine whose value it runs, which lives as long as the engines. */
const char *lk_value_engine_of_step(const lk_plan_body *body, uint32_t index);
