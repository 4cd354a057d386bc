/* Threads that share the work of one operator: a region, as the OpenMP specification (5.2, chapter
 * 10) calls a function that every thread of a team calls, each with a number of its own from 0 on.
 *
 * An OpenMP runtime neither knows when a run ends nor who else wants the processors: its threads
 * spin for milliseconds after every region, against the threads of a host that spin as well. So
 * kernels compute on these threads instead, which
 *
 *   - spin shortly and then sleep;
 *   - let threads of the host take their places for a while (a loan), so that host and
 *     library do not run two teams on the same processors;
 *   - do the work of those that the system cannot start.
 *
 * A thread that starts regions takes a team for a run (lk_team_begin to lk_team_end) or else for
 * that region: one that is idle, or a new one. So there are as many threads as runs that want them
 * have needed at once, however many threads the host has.
 *
 * Thread rule: every function acts on the team of the thread that calls it, except lk_team_assist.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* How many threads a region of this thread gets that asks for 0: what lk_team_set_threads said,
 * else the processors that this process may use. */
int lk_team_threads(void);
void lk_team_set_threads(int threads);

/* Around a run: what team its regions need stays with this thread in between, and regions get
 * `threads`. Returns what lk_team_end gets, for the time after it: what lk_team_threads() was.
 * Pairs may lie in each other. */
int lk_team_begin(int threads);
void lk_team_end(int before);

/* Calls `fn` on `threads` threads at once (0: lk_team_threads()), this one with number 0 among
 * them, and returns when all are done. On this thread alone inside another region, and where
 * threads cannot be started. */
void lk_team_run(void (*fn)(void *arg), void *arg, int threads);

/* Inside a region: the number of this thread, and of how many. Outside: 0 of 1. */
int lk_team_rank(void);
int lk_team_size(void);

/* The regions of more than one thread that this thread has started so far. */
uint64_t lk_team_regions(void);

/* ---- stopping ---- */

/* From now on, loops of this thread (team_for.h) look at `stop` between some of their turns, also
 * on the threads that share them, and leave the rest undone once it is reached; with NULL, no
 * longer. It must live until then. Returns what was set before. */
struct lk_stop *lk_team_watch(struct lk_stop *stop);
bool lk_team_is_watched(void);
/* Looks at it: whether what this thread computes is wanted no more. What the host runs here while
 * it is asked is not watched. A few nanoseconds where nothing is. */
bool lk_team_is_stopped(void);
/* Why it is, as lk_stop_look says, as of the last look. */
int lk_team_why_stopped(void);

/* ---- times ---- */

/* What the regions of a thread took, while it measures. A share is what one number of a region
 * does, whichever thread does it. */
typedef struct lk_team_times {
  uint64_t region_ns; /* from their beginnings to their ends */
  uint64_t share_ns;  /* the sum of all their shares; atomic while a region runs */
} lk_team_times;

/* From now on, what regions of this thread take is added to `times`; with NULL, no longer. Regions
 * inside of those are part of their shares. Returns what was set before. */
lk_team_times *lk_team_measure(lk_team_times *times);

/* ---- loans ----
 *
 * A host with threads of its own lends them for a run: one of its threads opens the loan and runs,
 * the others assist until it closes. Who assists in a place, does the work that the team's own
 * thread in that place would have done, which sleeps meanwhile. Nobody waits for assistants that do
 * not come. The memory is the host's, zeroed before anybody calls, until all have returned. */
typedef struct lk_team_loan {
  uint64_t opaque[2];
} lk_team_loan;

/* Takes a team for this thread that takes assistants, `threads` with this one at most; none where
 * this thread has a team already. */
void lk_team_loan_open(lk_team_loan *loan, int threads);
/* Outside any region of this thread, and as many lk_team_begin as there were. */
void lk_team_loan_close(lk_team_loan *loan);
/* From another thread: works until the loan is closed; waits for one that is not open yet, and
 * returns at once from one that has taken no team. How many shares of regions it did. Its
 * floating-point state is as before. */
uint64_t lk_team_assist(lk_team_loan *loan);
