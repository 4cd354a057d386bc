/* How many threads of this process compute at once. While any run has workers beside the host's
 * thread that runs it, they are never more than the processors, however many runs there are and
 * whoever made the threads. A run asks before it begins and gives back when it ends. A run that
 * does not fit waits for its turn, in the order of arrival. Threads that sleep are not counted.
 * Runs of one thread each, without workers, do not wait for each other: the host has as many
 * threads as it chose, and the kernel shares the processors among them at less cost than waking a
 * thread for each run.
 *
 * A run can use any number of threads from `least` to `most`. It gets `most` while all who are
 * inside could have as many, and a share of the processors in a crowd. A crowd ends when some tens
 * of runs in a row have met nobody: callers who meet again and again then run side by side with a
 * share each, which is faster than one after the other with all.
 *
 * There is one budget for the process: liblatchkey.so has it, and others reach it through the table
 * of functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/wait_limit.h"

typedef struct lk_budget_ask {
  /* Threads: 1 <= least <= most. A run that wants more than the processors waits until it is
   * alone. */
  int32_t least, most;
  lk_wait_limit limit;
} lk_budget_ask;

/* Returns how many threads are granted, 1 or more; or LK_WAIT_CANCELLED or LK_WAIT_DEADLINE, and
 * then nothing is granted. A thread that is inside already, in a callback say, gets `least` at
 * once: it is counted already, and would wait for itself. */
int lk_budget_enter(const lk_budget_ask *ask);
/* Gives back what lk_budget_enter granted, on the same thread. A thread that is not inside gives
 * nothing back. */
void lk_budget_leave(void);
/* What this thread has been granted; 0: it is not inside. */
int lk_budget_granted(void);

typedef struct lk_budget_state {
  int32_t processors;
  int32_t running; /* threads that are granted now */
  int32_t peak;    /* the most that were granted at once */
  int32_t waiting; /* runs that wait now */
  uint64_t waits;  /* runs that have had to wait */
} lk_budget_state;
lk_budget_state lk_budget_state_get(void);

int lk_budget_processors(void);
/* Whether all processors are granted: then a thread without work should not spin for it. */
bool lk_budget_is_full(void);

/* How many threads there may be at once from now on; what is granted already stays granted. At
 * first: the processors that the process may use. */
void lk_budget_set_processors(int processors);
/* The same, unless a number was set or proposed before: for environment variables. */
void lk_budget_propose_processors(int processors);

/* Who has said how many processors there are. */
typedef enum lk_budget_choice {
  LK_BUDGET_OF_PROCESS, /* nobody: those that the process may use */
  LK_BUDGET_PROPOSED,
  LK_BUDGET_SET
} lk_budget_choice;
lk_budget_choice lk_budget_chosen_by(void);
