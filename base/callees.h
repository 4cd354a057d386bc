/* A list of callees, for the process: all are called when something happens. They enter and leave
 * at any time, on any thread. A callee that is being called leaves when that call has returned; the
 * others leave at once. Nothing is allocated, and no lock is held during a call. */
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fork.h"

/* The list's; it fits into `opaque` of what a host enters. Zero at first. */
typedef struct lk_callee {
  struct lk_callee *next, **link; /* `link` is NULL: it is in no list */
  void *owner;                    /* of whose events it is told */
  uint32_t n_calls;               /* that are on */
  uint32_t number;                /* in the order in which they have entered, from 1 */
} lk_callee;

/* The host's struct of `type` that has the callee in its `opaque`. */
#define LK_CALLEE_HOST(callee, type) ((type *)(void *)((char *)(callee)-offsetof(type, opaque)))

typedef struct lk_callees {
  pthread_mutex_t mutex; /* guards what follows */
  pthread_cond_t returned;
  lk_callee *first; /* the newest: there are few */
  uint32_t n_entered;
  lk_fork_entry over_fork;
} lk_callees;

void lk_callees_forget_calls(void *callees);

/* What a static variable `list` begins with. */
#define LK_CALLEES(list)                                                                           \
  {                                                                                                \
    .mutex = PTHREAD_MUTEX_INITIALIZER, .returned = PTHREAD_COND_INITIALIZER,                      \
    .over_fork = {.level = LK_FORK_LEAF,                                                           \
                  .mutex = &(list).mutex,                                                          \
                  .child = lk_callees_forget_calls,                                                \
                  .object = &(list)},                                                              \
  }

void lk_callees_enter(lk_callees *list, lk_callee *callee, void *owner);
/* Waits while it is called. Returns its owner; NULL: it has not entered. */
void *lk_callees_leave(lk_callees *list, lk_callee *callee);
/* Calls those of `owner`, or all where that is NULL, the newest first. */
void lk_callees_call(lk_callees *list, const void *owner,
                     void (*call)(lk_callee *callee, void *arg), void *arg);
