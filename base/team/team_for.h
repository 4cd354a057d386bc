/* Loops whose turns do not depend on each other. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Does the turns `begin` to `end` - 1. */
typedef void lk_team_for_fn(const void *arg, int64_t begin, int64_t end);

/* Does the turns 0 to `count` - 1: with `shared`, all threads of a region at once, each the same
 * number of turns in a row (the first ones one more); else this thread alone. */
void lk_team_for(int64_t count, bool shared, lk_team_for_fn *turns, const void *arg);
