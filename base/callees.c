#include "base/callees.h"

#include "base/list.h"

/* The threads that were in a call are not in the child of a fork. */
void lk_callees_forget_calls(void *callees) {
  lk_callees *list = callees;
  for (lk_callee *each = list->first; each != NULL; each = each->next) each->n_calls = 0;
  list->returned = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
}

void lk_callees_enter(lk_callees *list, lk_callee *callee, void *owner) {
  lk_fork_enter(&list->over_fork);
  pthread_mutex_lock(&list->mutex);
  *callee = (lk_callee){.owner = owner, .number = ++list->n_entered};
  LK_LIST_ADD(list->first, callee, next, link);
  pthread_mutex_unlock(&list->mutex);
}

void *lk_callees_leave(lk_callees *list, lk_callee *callee) {
  void *owner = NULL;
  pthread_mutex_lock(&list->mutex);
  if (callee->link != NULL) {
    while (callee->n_calls > 0) pthread_cond_wait(&list->returned, &list->mutex);
    LK_LIST_REMOVE(callee, next, link);
    callee->link = NULL;
    owner = callee->owner;
  }
  pthread_mutex_unlock(&list->mutex);
  return owner;
}

void lk_callees_call(lk_callees *list, const void *owner,
                     void (*call)(lk_callee *callee, void *arg), void *arg) {
  pthread_mutex_lock(&list->mutex);
  for (lk_callee *each = list->first; each != NULL; each = each->next) {
    if (owner != NULL && each->owner != owner) continue;
    each->n_calls++; /* so that it stays in the list while the lock is free */
    pthread_mutex_unlock(&list->mutex);
    call(each, arg);
    pthread_mutex_lock(&list->mutex);
    if (each->n_calls > 0) each->n_calls--; /* none are on where this thread has forked within it */
    pthread_cond_broadcast(&list->returned);
  }
  pthread_mutex_unlock(&list->mutex);
}
