/* Looks within a turn that may be long (team.h): at most so much is computed between two of them,
 * whatever the sizes are. What is counted is elements, not time; a loop that has fewer never asks,
 * and a loop that has more asks outside of its innermost one. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/team/team.h"

enum {
  LK_LOOK_EACH = 1 << 16, /* elements that take a nanosecond or two each: about 0.1 ms */
  LK_LOOK_FEW = 1 << 12,  /* those that take ten times as long and more */
  LK_LOOK_BYTES = 1 << 20 /* that are moved: as much */
};

/* The end of a part of a loop from `begin` to `end` that does not look within. */
static inline int64_t lk_look_part(int64_t begin, int64_t end, int64_t each) {
  return end - begin > each ? begin + each : end;
}

/* How many of `count` steps, of `of_step` elements each, to do between two looks; at least one. Few
 * need no division. */
static inline int64_t lk_look_steps(int64_t count, int64_t of_step, int64_t each) {
  if ((double)count * (double)of_step <= (double)each) return count;
  return of_step < each ? each / of_step : 1;
}

/* Whether to leave the rest undone, after `done` of many elements. Looks where that is a multiple
 * of `each` but 0: the steps of the caller's loop have to divide it. */
static inline bool lk_look_after(int64_t done, int64_t each) {
  return done != 0 && done % each == 0 && lk_team_is_stopped();
}

/* For what can fail: LK_CANCELLED or LK_DEADLINE where it is not wanted any more. `doing` is what
 * the thread does, "pack weights". */
lk_status lk_look_check(const char *doing, lk_error *error);
/* The same in a loop that can fail, after `done` of many elements, as lk_look_after. */
static inline lk_status lk_look_check_after(int64_t done, int64_t each, const char *doing,
                                            lk_error *error) {
  return done != 0 && done % each == 0 ? lk_look_check(doing, error) : LK_OK;
}
/* Copies any number of bytes, which may be 0. `doing`: as of lk_look_check, "copy weights". */
lk_status lk_look_copy(void *to, const void *from, size_t bytes, const char *doing,
                       lk_error *error);

/* Counts in `*done`, which begins with 0, for steps of any size: whether to leave the rest undone
 * after `more`, where `each` is done between two looks. */
static inline bool lk_look_more(int64_t *done, int64_t more, int64_t each) {
  *done += more;
  if (__builtin_expect(*done < each, 1)) return false;
  *done = 0;
  return lk_team_is_stopped();
}
