/* Loops whose turns do not depend on each other. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Does the turns `begin` to `end` - 1. */
typedef void lk_team_for_fn(const void *arg, int64_t begin, int64_t end);

/* Does the turns 0 to `count` - 1, each once: with `shared`, all threads of a region at once, in
 * calls of `turns` with some turns in a row; else this thread alone, in one call. */
void lk_team_for(int64_t count, bool shared, lk_team_for_fn *turns, const void *arg);
