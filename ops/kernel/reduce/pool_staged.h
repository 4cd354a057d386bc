/* Poolings of f32 in two stages: columns of windows first, and then along lines, from a buffer in
 * the first-level cache, in which the padding is too. So the borders cost no more than the rest,
 * and a window of m lines and n columns m + n loads. */
#pragma once

#include "ops/kernel/reduce/pool_window.h"

/* Sets `is_staged` where that is the better way, and the blocks. */
void lk_pool_stage(lk_pool *self);

/* Blocks of outputs; the turns `begin` to `end` - 1 of them. */
int64_t lk_pool_staged_turns(const lk_pool *self);
void lk_pool_staged(const lk_pool *self, const float *from, float *to, int64_t begin, int64_t end);
