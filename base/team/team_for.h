/* Loops whose turns do not depend on each other. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Does the turns `begin` to `end` - 1. */
typedef void lk_team_for_fn(const void *arg, int64_t begin, int64_t end);

/* Does the turns 0 to `count` - 1, each once: with `shared`, all threads of a region at once, in
 * calls of `turns` with some turns in a row; else this thread alone, in order, in one call, or in
 * several where it watches something (lk_team_watch). What that stops leaves turns undone. */
void lk_team_for(int64_t count, bool shared, lk_team_for_fn *turns, const void *arg);
/* The same for turns that are long and look themselves (lk_team_is_stopped). They are not called
 * once more often for what is watched. */
void lk_team_for_looking(int64_t count, bool shared, lk_team_for_fn *turns, const void *arg);
