/* The threads of operators: how they sleep and are woken, share a region, and give their places to guests.
 * Explored with: -DTHREADS=2 -DGUESTS=1 -DREGIONS=2 | -DTHREADS=2 -DGUESTS=2 -DREGIONS=2 -DMEETING | -DTHREADS=3 -DGUESTS=0 -DREGIONS=2 | -DTHREADS=3 -DGUESTS=1 -DREGIONS=2 -DMEETING
 *
 * Models plugin/team/team.c: wake, sleep_unless, take, run_left, finish, work, lk_team_run, lk_team_barrier,
 * lk_team_loan_open, lk_team_loan_close, lk_team_assist, team_end.
 * An owner starts regions of 2 to THREADS threads, in which the threads may wait for each other (a barrier) or not; MEETING: all
 * threads do, in each. Each
 * guest is of a loan of its own: the owner opens one, starts a region, closes it, and goes on, whether the guest has
 * come and gone or not; before the team ends, all guests have returned, which the host sees to.
 *
 * Shown: each share of a region is run once, while the region lasts; the owner returns when all are finished, and
 * returns; no wake-up is lost, so nobody sleeps for ever; guests return when their loan is closed.
 *
 * Left out: how long a thread looks before it sleeps. It may sleep after the first look in vain, or be as slow as it
 * likes before that. So also that a team's own thread looks shorter while it has a guest. Spinning in a barrier, and
 * for a loan to be opened, is waiting. Threads are all there at the beginning (lk_team_reserve).
 *
 * Memory order: what decides who sleeps and who runs is sequentially consistent in C too, and so in one order as here:
 *   wake-up     what is waited for is written, then `asleep` read; by the sleeper the other way round.
 *   publishing  `region` is written, then `has_guest` read; by a guest that leaves `has_guest`, then `asleep`.
 * Relaxed are
 *   taken       its first look. An old value makes the strong compare-exchange fail, or the look end: so a share may be
 *            left that could have been taken, by all but the owner, whose look is not old: whoever took one in an
 *            earlier region has told it by n_finished.
 *   n_finished, n_arrived = 0   before `region` is written, which carries them; nobody has a share then.
 *   region      read by its only writer.
 * fn and arg are written before `region`, and read by who has taken a share that is not finished. */
#include "sync.inc"

#ifndef REGIONS
#define REGIONS 3
#endif
#define PLACES (THREADS - 1)
/* seats: the owner's, then of each place its own thread's and its guest's */
#define OWNER 0
#define OWN(p) (1 + 2 * (p))
#define GUEST(p) (2 + 2 * (p))
#define SEATS (1 + 2 * PLACES)
#define NO_LOAN NONE

typedef seat {
  bool mutex;
  byte asleep; /* how many threads */
  cond woken
}
seat seats[SEATS];
byte region;              /* its count */
byte size_of[REGIONS + 1]; /* in the low bits of the number */
bool with_barrier[REGIONS + 1];
byte n_finished, n_arrived;
byte n_barriers;
bool ends;
byte taken[PLACES];
bool has_guest[PLACES];
#if GUESTS > 0
bool is_open[GUESTS], is_closed[GUESTS];
byte n_assistants[GUESTS];
byte n_returned;
#endif
/* what is to be shown */
byte lasting; /* region */
byte n_runs[THREADS]; /* of each share of it */

inline wake(s) {
  if
  :: seats[s].asleep != 0 ->
     atomic {
       !seats[s].mutex ->
#ifdef BROKEN_SEAT_FOR_ONE
       seats[s].asleep = 0;
       SIGNAL(seats[s].woken)
#else
       BROADCAST(seats[s].woken)
#endif
     }
  :: else
  fi
}

/* sleep_unless. Two threads sleep in one seat when a guest has not left yet and the next one has come: so all are
 * woken, and each looks for itself. Steps: what is done with the mutex up to where somebody without it may look. */
#ifdef BROKEN_SEAT_FOR_ONE
#define SLEEP_UNLESS(s, ready)                                                        \
  atomic { !seats[s].mutex -> seats[s].mutex = true; seats[s].asleep = 1 };           \
  atomic {                                                                            \
    if                                                                                \
    :: ready -> seats[s].asleep = 0                                                   \
    :: else                                                                           \
    fi;                                                                               \
    do                                                                                \
    :: seats[s].asleep != 0 -> WAIT(seats[s].woken, seats[s].mutex)                   \
    :: else -> break                                                                  \
    od;                                                                               \
    seats[s].mutex = false                                                            \
  }
#else
#ifdef BROKEN_NOT_LOOKED_AGAIN
#define AGAIN(ready) false
#else
#define AGAIN(ready) ready
#endif
#define SLEEP_UNLESS(s, ready)                                                        \
  atomic { !seats[s].mutex -> seats[s].mutex = true; seats[s].asleep++ };              \
  atomic {                                                                            \
    is_taken = AGAIN(ready);                                                          \
    do                                                                                \
    :: is_taken -> break                                                              \
    :: else -> WAIT(seats[s].woken, seats[s].mutex); is_taken = ready                 \
    od;                                                                               \
    is_taken = false;                                                                 \
    seats[s].asleep--;                                                                \
    seats[s].mutex = false                                                            \
  }
#endif

inline take(p, r) {
  atomic {
    is_taken = taken[p] < r;
    if
    :: is_taken -> taken[p] = r
    :: else
    fi
  }
}

inline run_share(r, rank) {
  d_step {
    assert(lasting == r && rank < size_of[r]);
    n_runs[rank]++;
    assert(n_runs[rank] == 1)
  };
  if
  :: with_barrier[r] ->
     barrier = n_barriers;
     atomic { n_arrived++; is_taken = n_arrived == size_of[r] };
     if
     :: is_taken -> n_arrived = 0; n_barriers++
     :: else -> n_barriers != barrier
     fi;
     barrier = 0
  :: else
  fi;
  assert(lasting == r)
}

inline run_left(r) {
  q = 0;
  do
  :: q < PLACES && q + 1 < size_of[r] ->
     take(q, r);
     if
     :: is_taken -> run_share(r, q + 1); n++
     :: else
     fi;
     q++
  :: else -> q = 0; break
  od
}

/* work, of a place's own thread or of a guest in it */
inline work(p, at_seat, over) {
  do
  :: over -> break
  :: else ->
     r = region;
     if
     :: r != seen ->
        seen = r;
        is_taken = false;
        if
        :: p + 1 < size_of[r] -> take(p, r)
        :: else
        fi;
        if
        :: is_taken ->
           run_share(r, p + 1);
           n = 1;
           run_left(r);
#ifdef BROKEN_WOKEN_BEFORE_FINISHED
           wake(OWNER);
           n_finished = n_finished + n;
#else
           n_finished = n_finished + n;
           wake(OWNER);
#endif
           n = 0
        :: else
        fi
     :: else -> SLEEP_UNLESS(at_seat, (over || region != seen))
     fi
  od
}

proctype own(byte p) {
  byte r, seen, q, n, barrier;
  bool is_taken;
  work(p, OWN(p), ends)
}

#if GUESTS > 0
proctype guest(byte loan) {
  byte r, seen, q, n, barrier, p;
  bool is_taken;
  is_open[loan];
  d_step { p = n_assistants[loan]; n_assistants[loan]++ };
  has_guest[p] = true;
  work(p, GUEST(p), is_closed[loan]);
  has_guest[p] = false; /* also when the next one is there: then its region wakes the place's own thread */
#ifndef BROKEN_PLACE_LEFT_ASLEEP
  wake(OWN(p)); /* a region may have been published meanwhile, and woken the guest alone */
#endif
  n_returned++
}
#endif

/* lk_team_run */
inline run_region() {
  d_step {
    assert(lasting == 0);
    r++;
    lasting = r;
    for (q : 0 .. THREADS - 1) { n_runs[q] = 0 }
    q = 0;
    n_finished = 0;
    n_arrived = 0
  };
  if
  :: size_of[r] = THREADS
#if THREADS > 2 && !defined(MEETING)
  :: size_of[r] = 2
#endif
  fi;
  if
  :: with_barrier[r] = true
#ifndef MEETING
  :: with_barrier[r] = false
#endif
  fi;
#ifndef BROKEN_WOKEN_BEFORE_PUBLISHED
  region = r;
#endif
  do
  :: q < PLACES && q + 1 < size_of[r] ->
     if
     :: has_guest[q] -> wake(GUEST(q))
     :: else -> wake(OWN(q))
     fi;
     q++
  :: else -> q = 0; break
  od;
#ifdef BROKEN_WOKEN_BEFORE_PUBLISHED
  region = r;
#endif
  run_share(r, 0);
  n = 0;
  run_left(r);
  n = size_of[r] - 1 - n; /* that others have taken */
  do
#ifdef BROKEN_NOT_ALL_AWAITED
  :: n_finished > 0 || n == 0 -> break
#else
  :: n_finished == n -> break
#endif
  :: else -> SLEEP_UNLESS(OWNER, (n_finished == n))
  od;
  atomic {
    for (q : 0 .. THREADS - 1) { assert(n_runs[q] == (q < size_of[r] -> 1 : 0)) }
    lasting = 0;
    q = 0;
    n = 0;
    is_taken = false
  }
}

init {
  byte r, q, n, barrier, i;
  bool is_taken;
  atomic {
    for (i : 0 .. PLACES - 1) { run own(i) }
#if GUESTS > 0
    for (i : 0 .. GUESTS - 1) { run guest(i) }
#endif
    i = 0
  }
  do
  :: r < REGIONS ->
#if GUESTS > 0
     if
     :: i < GUESTS -> is_open[i] = true
     :: else
     fi;
#endif
     run_region();
#if GUESTS > 0
     if
     :: i < GUESTS -> /* lk_team_loan_close */
        is_closed[i] = true;
        do
        :: q < PLACES -> wake(GUEST(q)); q++
        :: else -> q = 0; break
        od;
        i++
     :: else
     fi
#endif
  :: else -> break
  od;
#if GUESTS > 0
  n_returned == GUESTS;
#endif
  /* team_end */
  ends = true;
  do
  :: q < PLACES -> wake(OWN(q)); q++
  :: else -> q = 0; break
  od;
  _nr_pr == 1
}
