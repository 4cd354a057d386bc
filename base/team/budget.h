/*
 * How many threads of this process compute at once: while a run has workers beside the host's thread that
 * runs it, never more than the processors, whoever they belong to and however many runs have been asked
 * for. A run asks before it begins and gives back when it ends; what does not fit waits for its turn, in
 * the order of arrival. Threads that sleep are not counted. Runs of one thread each, without workers, do
 * not wait for each other: the host has as many threads as it chose, and the kernel shares the processors
 * among them with less loss than who is woken for each run.
 *
 * A run can be good for two numbers of threads, `least` and `most`: its plans are built for one or the
 * other. It gets `most` while all who are inside could have as many, `least` in a crowd. A crowd ends
 * when some tens of runs in a row have met none, so that callers who meet now and then do not change
 * between both sets of plans, each with primitives and packed weights of its own.
 *
 * One budget for the process: it lies in the library that has the threads (liblkteam.so), and with an
 * oneDNN of the system in liblatchkey.so, to be asked by way of its table.
 */
#ifndef LK_BASE_TEAM_BUDGET_H
#define LK_BASE_TEAM_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/team/wait_limit.h"

typedef struct lk_budget_ask {
  int32_t least, most;            /* threads: 1 <= least <= most. More than the processors: alone */
  bool between;                   /* what lies between them is good too */
  bool fixed;                     /* only `most` is good */
  const volatile int32_t *cancel; /* not 0: waits no longer; seen within 5 ms. NULL: none */
  const volatile uint8_t *stop;   /* the same */
  uint64_t deadline_ns;           /* of CLOCK_MONOTONIC: waits until then; 0: none */
} lk_budget_ask;

enum { LK_BUDGET_CANCELLED = LK_WAIT_CANCELLED, LK_BUDGET_DEADLINE = LK_WAIT_DEADLINE };

/* The threads that are granted, 1 or more; or why it waits no longer, and nothing was granted. A thread
 * that is inside already, in a callback say, gets `least` (`most` if fixed) at once: it is counted,
 * and could wait for itself. */
int lk_budget_enter(const lk_budget_ask *ask);
/* What lk_budget_enter granted; on the same thread. */
void lk_budget_leave(int threads);

typedef struct lk_budget_state {
  int32_t processors;
  int32_t running; /* threads that are granted now */
  int32_t peak;    /* the most that were at once */
  int32_t waiting; /* runs that wait now */
  uint64_t waits;  /* runs that have had to wait */
} lk_budget_state;
lk_budget_state lk_budget_state_get(void);

int lk_budget_processors(void);
/* Whether all of them are granted: then nobody should look for work who has none. */
bool lk_budget_is_full(void);

/* How many there may be at once, from now on: those that are inside stay. Without it, the processors
 * that the process may use. */
void lk_budget_set_processors(int processors);
/* The same, unless somebody has set or proposed a number before: for what environments say. */
void lk_budget_propose_processors(int processors);

#endif
