/* Parking a thread. Explored in tests/promela/team.pml. */
#include "base/team/parker.h"

#include <sched.h>

void lk_parker_init(lk_parker *at) {
  /* With default attributes neither can fail on Linux. */
  (void)pthread_mutex_init(&at->mutex, NULL);
  (void)pthread_cond_init(&at->cond, NULL);
}

void lk_parker_destroy(lk_parker *at) {
  pthread_cond_destroy(&at->cond);
  pthread_mutex_destroy(&at->mutex);
}

void lk_parker_unpark(lk_parker *at) {
  if (!atomic_load(&at->asleep)) return;
  pthread_mutex_lock(&at->mutex);
  atomic_store(&at->asleep, false);
  pthread_cond_signal(&at->cond);
  pthread_mutex_unlock(&at->mutex);
}

void lk_parker_park_unless(lk_parker *at, bool (*ready)(const void *arg), const void *arg) {
  pthread_mutex_lock(&at->mutex);
  atomic_store(&at->asleep, true);
  if (ready(arg)) atomic_store(&at->asleep, false);
  while (atomic_load(&at->asleep)) pthread_cond_wait(&at->cond, &at->mutex);
  pthread_mutex_unlock(&at->mutex);
}

bool lk_parker_spin(int *n_looks, bool is_soon) {
  const int yields = is_soon ? LK_PARKER_YIELDS_SOON : LK_PARKER_YIELDS;
  if (*n_looks >= LK_PARKER_PAUSES + yields) return false;
  if ((*n_looks)++ < LK_PARKER_PAUSES) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  } else {
    sched_yield();
  }
  return true;
}
