/* Where one thread waits for others: it looks for a while, then sleeps until it is woken. */
#ifndef LK_BASE_TEAM_SEAT_H
#define LK_BASE_TEAM_SEAT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* How long a thread looks before it sleeps: about 50 us, then as many turns given to others. What is
 * between two regions of a run is mostly shorter, and waking a thread costs both sides about as much. */
enum { LK_SEAT_PAUSES = 1500, LK_SEAT_YIELDS = 100 };

typedef struct lk_seat {
  pthread_mutex_t mutex;
  pthread_cond_t cond;
  atomic_bool asleep; /* written with the mutex */
} lk_seat;

/* 0, or an errno. */
int lk_seat_init(lk_seat *at);
void lk_seat_destroy(lk_seat *at);

void lk_seat_wake(lk_seat *at);

/* Sleeps until lk_seat_wake(), unless what is waited for is there already: `ready` is asked after the
 * seat says that somebody sleeps there, and who makes it true wakes after that. So one of both sees
 * the other. */
void lk_seat_sleep_unless(lk_seat *at, bool (*ready)(const void *arg), const void *arg);

/* One more look in vain. False when it is time to sleep. */
bool lk_seat_look_again(int *n_looks);

#endif
