/* Outputs that oneDNN 3.14.1 may write past the caches: those of resampled images. The
 * instruction that does so faults where memory does not lie at a multiple of 64 bytes, and of
 * tensors of a host it need not. Such a run writes into scratch memory, and copies. */
#pragma once

#include "ops/engine/onednn/module.h"

typedef struct lk_past_cache {
  uint64_t bytes;   /* of dst; 0: it may lie anywhere */
  uint32_t pointer; /* of a run: its scratch memory */
  uint64_t offset;  /* in that, a multiple of 64 */
} lk_past_cache;

/* Of a primitive, behind `used` bytes of the scratch memory that pointer `pointer` of a run is. */
lk_past_cache lk_past_cache_of(const lk_work *work, uint32_t pointer, uint64_t used);
/* Whether the primitive is to write elsewhere than `dst`: to lk_past_cache_place. */
bool lk_past_cache_turns(const lk_past_cache *self, const void *dst);
void *lk_past_cache_place(const lk_past_cache *self, void *const *pointers);
/* From there, behind the primitive. A run that is to end leaves the rest of it. */
void lk_past_cache_copy(const lk_past_cache *self, const lk_onednn *engine, void *dst,
                        const void *place);
