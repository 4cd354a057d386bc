/* Where one thread waits for others: it spins for a while, then parks until another thread unparks
 * it. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* How long a thread spins: some pauses, about 50 us, and then some yields. The time between two
 * regions is mostly shorter, and waking a thread costs both sides about as much. Where more is sure
 * to come soon, as within a run, it is up to half a millisecond of yields. */
enum { LK_PARKER_PAUSES = 1500, LK_PARKER_YIELDS = 100, LK_PARKER_YIELDS_SOON = 1000 };

typedef struct lk_parker {
  pthread_mutex_t mutex;
  pthread_cond_t cond;
  atomic_bool asleep; /* written with the mutex */
} lk_parker;

void lk_parker_init(lk_parker *at);
void lk_parker_destroy(lk_parker *at);

void lk_parker_unpark(lk_parker *at);

/* Sleeps until lk_parker_unpark(), unless what is waited for is there already. `ready` is asked
 * after `asleep` is set, and whoever makes it true unparks afterwards. So one of the two sees the
 * other. */
void lk_parker_park_unless(lk_parker *at, bool (*ready)(const void *arg), const void *arg);

/* Call it after each look in vain, with a count that begins at 0. False: it is time to sleep. */
bool lk_parker_spin(int *n_looks, bool is_soon);
