/* How many runs of one executor are on at once, and what becomes of one more. */
#ifndef LK_GRAPH_RUN_GATE_H
#define LK_GRAPH_RUN_GATE_H

#include <pthread.h>
#include <stdbool.h>

#include <latchkey/session.h>

#include "plugin/base/fork.h"
#include "plugin/team/patience.h"

typedef struct lk_run_gate {
  uint32_t most; /* 0: any number, nothing is counted */
  bool fails;    /* one more is refused; else it waits */
  lk_fork_entry fork;
  pthread_mutex_t mutex; /* guards what follows */
  uint32_t inside;
  uint64_t waits; /* runs that have waited */
  struct lk_run_waiter *first, **last;
} lk_run_gate;

void lk_run_gate_init(lk_run_gate *gate, uint32_t most, bool fails);
void lk_run_gate_destroy(lk_run_gate *gate);

/* LK_BUSY: refused. LK_DEADLINE, LK_CANCELLED: gave up waiting. Who waits is let in in the order of
 * arrival. */
lk_status lk_run_gate_enter(lk_run_gate *gate, const lk_patience *patience, lk_error *error);
void lk_run_gate_leave(lk_run_gate *gate);
uint64_t lk_run_gate_waits(lk_run_gate *gate);

#endif
