/* The threads of operators: how they sleep and are woken, share a region, give their places to
 * guests, and go with their team from one master to the next.
 * Explored with: -DMASTERS=1 -DRUNS=2 -DLOANS=1 | -DTHREADS=3 -DMASTERS=1 -DRUNS=2 |
 *   -DMASTERS=1 -DRUNS=2 -DLOANS=2 -DMEETING |
 *   -DMASTERS=1 -DRUNS=2 -DLOANS=1 -DGUESTS=2 -DMEETING |
 *   -DTHREADS=3 -DMASTERS=1 -DRUNS=2 -DLOANS=1 -DMEETING |
 *   -DTHREADS=3 -DMASTERS=1 -DLOANS=1 -DGUESTS=2 -DREGIONS=0 | -DMASTERS=2 -DLOANS=1 |
 *   -DMASTERS=2 -DTEAMS=2 -DMEETING | -DMASTERS=2 -DTEAMS=2 -DKEPT=0 -DLOANS=1 -DREGIONS=0
 *
 * Models:
 *   base/team/team.c    take, run_left, finish, work, team_take, team_put, team_destroy,
 *                       lk_team_run, lk_team_loan_open, lk_team_loan_close, enter, leave,
 *                       lk_team_assist
 *   base/team/idle.c    lk_idle_take, lk_idle_put
 *   base/team/parker.c  lk_parker_unpark, lk_parker_park_unless
 * Each master makes RUNS runs. For each it takes a team, an idle one or a new one, starts REGIONS
 * regions of 2 to THREADS threads, in which the threads may wait for each other (a barrier of the
 * function's own) or not, and gives the team back; MEETING: all threads do, in each. There are
 * TEAMS teams at most; a master that would need one more waits for one. The first LOANS runs are
 * inside a loan, for which GUESTS guests come at some time, or too late.
 *
 * Shown: each share of a region is run once, while the region lasts; the master returns when all
 * are finished, and returns; no wake-up is lost, so nobody sleeps for ever, in a parker one at a
 * time; guests return when their loan is closed; a team has one master at a time and is given back
 * once; nobody touches it when it has ended, none is lost.
 *
 * Left out: how long a thread looks before it sleeps. It may sleep after the first look in vain, or
 * be as slow as it likes before that. So also that a team's own thread looks shorter while it has a
 * guest, or is idle. Spinning in a barrier, and for a loan to be opened, is waiting. Threads are
 * all there at the beginning of a team; idle teams are counted, not their threads; fork.
 *
 * Memory order: what decides who sleeps and who runs is sequentially consistent in C too, and so in
 * one order as here:
 *   wake-up     what is waited for is written, then `asleep` read; by the sleeper the other way
 *            round.
 *   publishing  `region` is written, then `has_guest` read; what has a guest is not published to
 *            before it has left, which it tells by `members`.
 *   handing over  `used_last`, or idle.c's mutex. By it a master, and by `members` who gives the
 *            team back, knows all that was written into the team.
 * Relaxed are
 *   taken       its first look. An old value makes the strong compare-exchange fail, or the look
 *            end: so a share may be left that could have been taken, by all but the master, whose
 *            look is not old: whoever took one in an earlier region has told it, or the master
 *            before it, by n_finished.
 *   n_finished = 0   before `region` is written, which carries them; nobody has a share
 *            then.
 *   region      read by its only writer.
 *   is_idle     decides only how soon a thread sleeps.
 * fn and arg are written before `region`, and read by who has taken a share that is not
 * finished. */
#include "sync.inc"

#ifndef MASTERS
#define MASTERS 2
#endif
#ifndef TEAMS
#define TEAMS 1
#endif
#ifndef KEPT
#define KEPT 1 /* idle teams, besides the one that was used last */
#endif
#ifndef RUNS
#define RUNS 1
#endif
#ifndef REGIONS
#define REGIONS 1
#endif
#ifndef LOANS
#define LOANS 0
#endif
#ifndef GUESTS
#define GUESTS 1
#endif
#define PLACES (THREADS - 1)
#define PLACE(t, p) ((t) * PLACES + (p))
/* parkers of a team: the master's, then of each place its own thread's and its guest's */
#define PARKERS (1 + 2 * PLACES)
#define MASTER(t) ((t) * PARKERS)
#define OWN(t, p) ((t) * PARKERS + 1 + 2 * (p))
#define GUEST(t, p) ((t) * PARKERS + 2 + 2 * (p))
/* a region's number: a count, and its threads in the low bits */
#define SIZE(r) ((r) & 3)
#define CLOSED 128

typedef parker {
  bool mutex, asleep;
  cond woken
}
parker parkers[TEAMS * PARKERS];
byte region[TEAMS];
byte n_finished[TEAMS], n_arrived[TEAMS], n_barriers[TEAMS];
bool ends[TEAMS];
byte taken[TEAMS * PLACES];
bool has_guest[TEAMS * PLACES];
/* idle.c */
byte used_last = NONE, others = NONE;
byte next_idle[TEAMS];
byte n_idle; /* of `others` */
bool idle_mutex;
#if LOANS > 0
byte team_of[LOANS];
byte members[LOANS]; /* and CLOSED */
byte n_assistants[LOANS];
#endif
byte n_done; /* masters and guests */
/* what is to be shown */
bool alive[TEAMS], has_master[TEAMS];
byte n_living[TEAMS]; /* its own threads */
bool with_barrier[TEAMS];
byte lasting[TEAMS]; /* region */
byte n_runs[TEAMS * THREADS]; /* of each share of it */

/* ---- parkers ---- */

inline wake(t, s) {
  assert(alive[t]);
  if
  :: parkers[s].asleep ->
     atomic {
       !parkers[s].mutex ->
       assert(alive[t]);
       parkers[s].asleep = false;
       SIGNAL(parkers[s].woken)
     }
  :: else
  fi
}

/* Steps: what is done with the mutex up to where somebody without it may look. */
#ifdef BROKEN_NOT_LOOKED_AGAIN
#define AGAIN(ready) false
#else
#define AGAIN(ready) ready
#endif
#define SLEEP_UNLESS(t, s, ready)                \
  atomic {                                       \
    !parkers[s].mutex ->                         \
    assert(alive[t]);                            \
    parkers[s].mutex = true;                     \
    parkers[s].asleep = true                     \
  };                                             \
  atomic {                                       \
    if                                           \
    :: AGAIN(ready) -> parkers[s].asleep = false \
    :: else                                      \
    fi;                                          \
    do                                           \
    :: parkers[s].asleep ->                      \
       assert(parkers[s].woken.waiting == 0);    \
       WAIT(parkers[s].woken, parkers[s].mutex)  \
    :: else -> break                             \
    od;                                          \
    parkers[s].mutex = false                     \
  }

/* ---- shares ---- */

inline take(t, p, r) {
  atomic {
    is_taken = taken[PLACE(t, p)] < r;
    if
    :: is_taken -> taken[PLACE(t, p)] = r
    :: else
    fi
  }
}

inline run_share(t, r, rank) {
  d_step {
    assert(alive[t] && lasting[t] == r && rank < SIZE(r));
    n_runs[t * THREADS + rank]++;
    assert(n_runs[t * THREADS + rank] == 1)
  };
  if
  :: with_barrier[t] ->
     barrier = n_barriers[t];
     atomic { n_arrived[t]++; is_taken = n_arrived[t] == SIZE(r) };
     if
     :: is_taken -> n_arrived[t] = 0; n_barriers[t]++
     :: else -> n_barriers[t] != barrier
     fi;
     barrier = 0
  :: else
  fi;
  assert(lasting[t] == r)
}

inline run_left(t, r) {
  q = 0;
  do
  :: q < PLACES && q + 1 < SIZE(r) ->
     take(t, q, r);
     if
     :: is_taken -> run_share(t, r, q + 1); n++
     :: else
     fi;
     q++
  :: else -> q = 0; break
  od
}

/* of a place's own thread or of a guest in it */
inline work(t, p, s, over) {
  do
  :: over -> break
  :: else ->
     assert(alive[t]);
     r = region[t];
     if
     :: r != seen ->
        seen = r;
        is_taken = false;
        if
        :: p + 1 < SIZE(r) -> take(t, p, r)
        :: else
        fi;
        if
        :: is_taken ->
           run_share(t, r, p + 1);
           n = 1;
           run_left(t, r);
#ifdef BROKEN_WOKEN_BEFORE_FINISHED
           wake(t, MASTER(t));
           n_finished[t] = n_finished[t] + n;
#else
           n_finished[t] = n_finished[t] + n;
           wake(t, MASTER(t));
#endif
           n = 0
        :: else
        fi
     :: else -> SLEEP_UNLESS(t, s, (over || region[t] != seen))
     fi
  od
}

proctype own(byte t, p) {
  byte r, seen, q, n, barrier;
  bool is_taken;
  work(t, p, OWN(t, p), ends[t]);
  n_living[t]--
}

/* ---- teams ---- */

inline team_destroy(t) {
  d_step {
    assert(alive[t] && !has_master[t] && lasting[t] == 0);
    ends[t] = true
  };
  do
  :: q < PLACES -> wake(t, OWN(t, q)); q++
  :: else -> q = 0; break
  od;
#ifndef BROKEN_NOT_JOINED
  n_living[t] == 0;
#endif
  alive[t] = false
}

/* lk_idle_take, into t; NONE: none is idle */
inline idle_take(t) {
#ifdef BROKEN_TAKEN_IN_TWO_STEPS
  t = used_last;
  used_last = NONE;
#else
  d_step { t = used_last; used_last = NONE };
#endif
  if
  :: t == NONE ->
     atomic {
       !idle_mutex ->
       t = others;
       if
       :: t != NONE -> others = next_idle[t]; n_idle--
       :: else
       fi
     }
  :: else
  fi
}

/* team_put. Changes surplus, which nobody uses at this time. */
inline team_put(t) {
  d_step {
    assert(alive[t] && has_master[t]);
    has_master[t] = false;
    surplus = used_last;
    used_last = t
  };
  if
  :: surplus != NONE ->
     atomic {
       !idle_mutex ->
       if
       :: n_idle < KEPT -> next_idle[surplus] = others; others = surplus; n_idle++; surplus = NONE
       :: else
       fi
     };
     if
     :: surplus != NONE -> team_destroy(surplus)
     :: else
     fi
  :: else
  fi;
  surplus = 0
}

/* team_take, into t */
inline team_take(t) {
  do
  :: idle_take(t);
     if
     :: t != NONE -> break
     :: else -> t = 0
     fi;
     do
     :: t < TEAMS && alive[t] -> t++
     :: else -> break
     od;
     atomic {
       if
       :: t < TEAMS && !alive[t] ->
          alive[t] = true;
          ends[t] = false;
          region[t] = 0;
          for (q : 0 .. PLACES - 1) {
            taken[PLACE(t, q)] = 0;
            n_living[t]++;
            run own(t, q)
          }
          q = 0;
          break
       :: else -> used_last != NONE || others != NONE
       fi
     }
  od;
  atomic { assert(alive[t] && !has_master[t]); has_master[t] = true }
}

/* ---- regions ---- */

/* lk_team_run */
inline run_region(t) {
  d_step {
    assert(lasting[t] == 0 && has_master[t]);
    r = (region[t] & ~3) + 4;
    for (q : 0 .. THREADS - 1) { n_runs[t * THREADS + q] = 0 }
    q = 0;
    n_finished[t] = 0;
    n_arrived[t] = 0
  };
  if
  :: r = r + THREADS
#if THREADS > 2 && !defined(MEETING)
  :: r = r + 2
#endif
  fi;
  if
  :: with_barrier[t] = true
#ifndef MEETING
  :: with_barrier[t] = false
#endif
  fi;
  lasting[t] = r;
#ifndef BROKEN_WOKEN_BEFORE_PUBLISHED
  region[t] = r;
#endif
  do
  :: q < PLACES && q + 1 < SIZE(r) ->
     if
     :: has_guest[PLACE(t, q)] -> wake(t, GUEST(t, q))
     :: else -> wake(t, OWN(t, q))
     fi;
     q++
  :: else -> q = 0; break
  od;
#ifdef BROKEN_WOKEN_BEFORE_PUBLISHED
  region[t] = r;
#endif
  run_share(t, r, 0);
  n = 0;
  run_left(t, r);
  n = SIZE(r) - 1 - n; /* that others have taken */
  do
#ifdef BROKEN_NOT_ALL_AWAITED
  :: n_finished[t] > 0 || n == 0 -> break
#else
  :: n_finished[t] == n -> break
#endif
  :: else -> SLEEP_UNLESS(t, MASTER(t), (n_finished[t] == n))
  od;
  atomic {
    for (q : 0 .. THREADS - 1) { assert(n_runs[t * THREADS + q] == (q < SIZE(r) -> 1 : 0)) }
    lasting[t] = 0;
    q = 0;
    n = 0;
    r = 0;
    is_taken = false
  }
}

/* ---- loans ---- */

#if LOANS > 0
inline leave(l, t) {
  atomic { members[l]--; is_taken = members[l] == CLOSED };
#ifdef BROKEN_LOAN_LET_GO_EARLY
  /* lk_team_loan_close gives the team back. The next region may wake a guest that leaves, and the
   * place's own thread sleeps on; or the next guest comes, and two sleep in a parker that wakes
   * one. */
  is_taken = false;
#endif
  if
  :: is_taken -> is_taken = false; team_put(t)
  :: else
  fi
}

/* lk_team_assist */
proctype guest(byte l) {
  byte r, seen, q, n, barrier, p, t, surplus;
  bool is_taken;
  if
  :: team_of[l] != NONE -> t = team_of[l]
  :: members[l] >= CLOSED -> goto done
  fi;
  atomic {
    if
#ifndef BROKEN_CLOSED_LOAN_ENTERED
    :: members[l] >= CLOSED -> goto done
#endif
    :: else -> members[l]++
    fi
  };
  d_step { p = n_assistants[l]; n_assistants[l]++ };
  if
  :: p + 1 < THREADS ->
     has_guest[PLACE(t, p)] = true;
     work(t, p, GUEST(t, p), members[l] >= CLOSED);
#ifdef BROKEN_GONE_BEFORE_TOLD
     leave(l, t);
     has_guest[PLACE(t, p)] = false;
     goto done;
#endif
     has_guest[PLACE(t, p)] = false
  :: else
  fi;
  leave(l, t);
done:
  n_done++
}

inline loan_open(l, t) {
  members[l] = 1;
  team_of[l] = t
}

inline loan_close(l, t) {
  members[l] = members[l] | CLOSED;
#ifndef BROKEN_GUESTS_NOT_WOKEN
  do
  :: q < PLACES -> wake(t, GUEST(t, q)); q++
  :: else -> q = 0; break
  od;
#endif
  leave(l, t);
#ifdef BROKEN_LOAN_LET_GO_EARLY
  team_put(t)
#endif
}
#endif

proctype master(byte m) {
  byte r, q, n, barrier, t, surplus, i, j;
  bool is_taken;
  do
  :: i < RUNS ->
     team_take(t);
#if LOANS > 0
     if
     :: m * RUNS + i < LOANS -> loan_open(m * RUNS + i, t)
     :: else
     fi;
#endif
     do
     :: j < REGIONS -> run_region(t); j++
     :: else -> j = 0; break
     od;
#if LOANS > 0
     if
     :: m * RUNS + i < LOANS -> loan_close(m * RUNS + i, t)
     :: else -> team_put(t)
     fi;
#else
     team_put(t);
#endif
     t = 0;
     i++
  :: else -> break
  od;
  n_done++
}

init {
  byte i, j, q, t;
  atomic {
#if LOANS > 0
    for (i : 0 .. LOANS - 1) {
      team_of[i] = NONE;
      for (j : 1 .. GUESTS) { run guest(i) }
    }
#endif
    for (i : 0 .. MASTERS - 1) { run master(i) }
    i = 0
  };
  n_done == MASTERS + LOANS * GUESTS;
  do
  :: idle_take(t);
     if
     :: t != NONE -> team_destroy(t)
     :: else -> break
     fi
  od;
  _nr_pr == 1;
  for (i : 0 .. TEAMS - 1) { assert(!alive[i]) }
}
