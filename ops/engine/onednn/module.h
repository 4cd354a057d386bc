/* The engine of oneDNN, as a module of its own: it stands on latchkey/engine.h and on oneDNN, and
 * on nothing else of the library. */
#pragma once

#include <latchkey/engine.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdbool.h>

#include "ops/engine/onednn/pool.h"

enum { LK_ONEDNN_STATE = 96 };

/* The engine of one context. */
typedef struct lk_onednn {
  dnnl_engine_t engine;
  const lk_engine_team *team;
  int threads;            /* for which works are cut, and bits depend on that */
  bool has_bf16, has_f16; /* instructions that compute them */
  bool is_bf16_twice;     /* as many bf16 as f32 in a time */
  bool has_avx2;
  bool has_vnni; /* and that add products of bytes exactly: those of AVX2 were not tried */
  char state[LK_ONEDNN_STATE];
} lk_onednn;

/* offer.c */
int lk_onednn_offer(void *self, const lk_work *work, uint32_t placed, lk_offer *inout_offer);

/* value.c: the functions of lk_engine of these names */
lk_status lk_onednn_build(void *self, const lk_work *work, lk_engine_value *out, lk_error *error);
void lk_onednn_destroy(void *self, void *value);
lk_status lk_onednn_pack(void *self, const void *value, uint32_t role, const void *plain,
                         void *packed, lk_error *error);
lk_status lk_onednn_slot_open(void *self, const void *value, void **out_slot, lk_error *error);
void lk_onednn_slot_close(void *self, const void *value, void *slot);
lk_status lk_onednn_run(void *self, const void *value, void *slot, void *const *pointers,
                        lk_error *error);
