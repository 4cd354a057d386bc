/* Poolings of f32 with windows of 3 x 3, one element apart, in plain layout, as networks of the
 * Inception family have them. What neighbours of a line come to is kept for three windows. */
#pragma once

#include "ops/kernel/reduce/pool_window.h"

/* Whether this is the better way. */
bool lk_pool_rolls(const lk_pool *self);

/* Lines of some planes; the turns `begin` to `end` - 1 of them. */
int64_t lk_pool_rolling_turns(const lk_pool *self);
void lk_pool_rolling(const lk_pool *self, const float *from, float *to, int64_t begin, int64_t end);
