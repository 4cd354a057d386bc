/* The clocks of the accounts: in which order entries are looked at by who must make room.
 *
 * A clock has three circles. New entries go to the end of `fresh`, and what the hand has looked at
 * and left goes to the end of `again`. Each of the two is about in the order of the ticks that were
 * seen then, so the hand takes the older one of the two first entries. What is in use is `parked`,
 * so that the hand does not meet it again while that is so; from there it comes back to the
 * beginning, for what the hand has passed was older than the rest. A step costs the same however
 * many entries there are.
 *
 * An entry is in the clock of the cache, and in that of its quota if it has one, exactly while it
 * is counted (account.c). The caller of each holds `accounts`.
 */
#pragma once

#include "keys/cache/state.h"

void lk_clock_init(lk_clock *clock, lk_clock_owner owner);
void lk_clock_add(lk_clock *clock, lk_entry *entry);
void lk_clock_remove(const lk_clock *clock, lk_entry *entry);
void lk_clock_park(lk_clock *clock, lk_entry *entry);
void lk_clock_unpark(lk_clock *clock, lk_entry *entry);
/* One step of the hand: returns the oldest candidate, which goes to the end of `again`; or with
 * `parked` the first of these, which goes to their end. NULL: there is none. The caller holds
 * `tables` too. */
lk_entry *lk_clock_step(lk_clock *clock, bool parked);
/* Leaves candidates that the hand has come to and looked at, oldest first, about in order: behind
 * what is older among the last ones of `again`. What was parked stays where the step has put it:
 * its last user may have released it since. */
void lk_clock_leave(lk_clock *clock, lk_entry *const *entries, uint32_t count);
