/* Turns: the queue of a run's steps, and the workers that take them.
 * Explored with: -DTHREADS=2 -DDIAMOND -DSTOPS | -DTHREADS=3 -DDIAMOND -DSTOPS |
 *   -DTHREADS=3 -DCHAINS -DSTOPS | -DTHREADS=3 -DFAN -DSTOPS
 *
 * Models:
 *   executor_glue/run/ready_queue.c  put, wake, sleep_until, next_in_queue, next_after, run_steps
 * All workers take turns at the four steps of one run: a DIAMOND, two CHAINS, or a FAN of three
 * after one. STOPS: each step may say that the run ends.
 *
 * Shown: each step runs once, after those that it waits for, and knows what they have written; none
 * is forgotten, unless a step has stopped the run; a place in the queue is written once and taken
 * by one; all workers return.
 *
 * Left out: how long a worker looks before it sleeps. It may sleep after the first look in vain, or
 * be as slow as it likes before that. A worker that comes when all is done is also one whose share
 * another one runs (base/team). The next run begins when all have returned (lk_team_run), as this
 * one did.
 *
 * Memory order: all atomics are sequentially consistent, and so in one order as here; but those
 * that begin a run, which lk_team_run publishes. What a step writes is not atomic: whoever runs one
 * that waits for it has acquired it from n_left, or from the place in the queue where somebody who
 * had put the step. */
#define KNOWERS THREADS
#define STEPS 4
#define LEFT(step) (step)
#define PLACE(place) (STEPS + (place))
#define CARRIERS (2 * STEPS)
#include "sync.inc"

/* bits: which steps a step waits for */
#ifdef DIAMOND
#define BEFORE(step) (step == 0 -> 0 : (step == 3 -> 6 : 1))
#define ROOTS 1
#endif
#ifdef CHAINS /* 0, 2 and 1, 3 */
#define BEFORE(step) (step == 2 -> 1 : (step == 3 -> 2 : 0))
#define ROOTS 2
#endif
#ifdef FAN
#define BEFORE(step) (step == 0 -> 0 : 1)
#define ROOTS 1
#endif
#define IS_BIT(bits, i) ((bits) >> (i) & 1)

byte n_left[STEPS];
byte queue[STEPS]; /* step + 1; 0: not there yet */
byte n_queued = ROOTS, n_taken, n_ended, n_asleep;
bool stopped, mutex;
/* a bit of each worker that waits for news: a broadcast is for these, not for who comes later */
byte blocked;
/* what is to be shown */
bool has_run[STEPS];

#define IS_OVER (n_ended == STEPS || stopped)

inline wake() {
  if
  :: n_asleep != 0 ->
#ifdef BROKEN_WOKEN_WITHOUT_MUTEX
     blocked = 0
#else
     atomic { !mutex -> blocked = 0 }
#endif
  :: else
  fi
}

inline put(step) {
  d_step { place = n_queued; n_queued++; assert(place < STEPS && queue[place] == 0) };
#ifdef BROKEN_WOKEN_BEFORE_PUT
  wake();
#endif
  d_step { RELEASE(w, PLACE(place)); queue[place] = step + 1; place = 0 };
#ifndef BROKEN_WOKEN_BEFORE_PUT
  wake()
#endif
}

inline sleep_until(place) {
#ifdef BROKEN_ASLEEP_COUNTED_LATE
  atomic { !mutex -> mutex = true };
  is_ready = queue[place] != 0 || IS_OVER;
  n_asleep++;
#else
  atomic { !mutex -> mutex = true; n_asleep++ };
  is_ready = queue[place] != 0 || IS_OVER;
#endif
  do
  :: is_ready -> break
  :: else ->
     d_step { blocked = blocked | 1 << w; mutex = false };
     !IS_BIT(blocked, w);
     LOCK(mutex);
     is_ready = queue[place] != 0 || IS_OVER
  od;
  atomic { is_ready = false; n_asleep--; mutex = false }
}

/* into step; found: is false when the run is over */
inline next_in_queue() {
  d_step { number = n_taken; n_taken++ };
  if
#ifndef BROKEN_TICKETS_WITHOUT_END
  :: number >= STEPS
#endif
  :: else ->
     assert(number < STEPS);
     do
     :: queue[number] != 0 ->
        d_step { ACQUIRE(w, PLACE(number)); step = queue[number] - 1; found = true };
        break
     :: else ->
        if
        :: IS_OVER -> break
        :: else -> sleep_until(number)
        fi
     od
  fi;
  number = 0
}

/* into next */
inline next_after() {
  do
  :: i < STEPS ->
     if
     :: IS_BIT(BEFORE(i), step) ->
#ifdef BROKEN_FIRST_NOT_COUNTED
        if
        :: found
        :: else -> is_ready = true
        fi;
#endif
        if
        :: !is_ready ->
           d_step {
             n_left[i]--;
             is_ready = n_left[i] == 0;
             RELEASE(w, LEFT(i));
             ACQUIRE(w, LEFT(i))
           }
        :: else
        fi;
        if
        :: is_ready && found -> is_ready = false; put(i)
        :: is_ready && !found -> is_ready = false; next = i; found = true
        :: else
        fi
     :: else
     fi;
     i++
  :: else -> break
  od;
  atomic { i = 0; step = next; next = 0 }
}

inline run_step() {
  d_step {
    assert(!has_run[step]);
    has_run[step] = true;
    KNOWS(w, BEFORE(step));
    ACCESS(w, step)
  }
}

proctype worker(byte w) {
  byte at, step, next, number, place, i;
  bool found, is_ready;
  do
  :: stopped -> break
  :: else ->
     if
     :: found
     :: else ->
        next_in_queue();
        if
        :: found
        :: else -> break
        fi
     fi;
     run_step();
#ifdef STOPS
     if
     :: skip
     :: stopped = true;
#ifndef BROKEN_STOP_NOT_TOLD
        wake();
#endif
        break
     fi;
#endif
     found = false;
     next_after();
     d_step { n_ended++; is_ready = n_ended == STEPS };
     if
     :: is_ready ->
        is_ready = false;
#ifndef BROKEN_END_NOT_TOLD
        wake()
#endif
     :: else
     fi
  od
}

init {
  byte i, j;
  atomic {
    for (i : 0 .. STEPS - 1) {
      for (j : 0 .. STEPS - 1) {
        if
        :: IS_BIT(BEFORE(i), j) -> n_left[i]++
        :: else
        fi
      }
      if
      :: i < ROOTS -> queue[i] = i + 1
      :: else
      fi
    }
    for (i : 0 .. THREADS - 1) { run worker(i) }
    i = 0;
    j = 0
  };
  _nr_pr == 1;
  assert(n_asleep == 0 && !mutex);
  for (i : 0 .. STEPS - 1) { assert(stopped || has_run[i]) }
}
