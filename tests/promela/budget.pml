/* The budget: how many threads compute at once, and who waits for its turn.
 * Explored with: -DTHREADS=2 -DRUNS=2 -DSETS -DMOST=2 | -DTHREADS=3 -DMOST=2 |
 *   -DTHREADS=3 -DSINGLE | -DTHREADS=3 -DMOST=2 -DSETS -DPATIENT -DSINGLE
 *
 * Models:
 *   base/team/budget.c  try_to_grant, lk_budget_enter, enter_slowly, wait_for_turn, serve, give_up,
 *                       lk_budget_leave, choose
 * Each thread makes RUNS runs, each good for one or two numbers of threads from 1 to MOST; SINGLE:
 * for one. There are two processors, so who wants three is served alone; SETS: somebody sets them
 * to one, and then to three. A run that waits may give up at any time, and before it waits;
 * PATIENT: none does.
 *
 * Shown: what is granted at once is never more than the processors that there were at some time
 * since the last of them asked, but for one run that is alone, and for runs of one thread each;
 * nobody is granted anything while others wait that came before; nobody waits for what is free, nor
 * for ever; when all have left, the word says so.
 *
 * Left out: `between`, which gives a number between both; `fixed`, which is least = most here; runs
 * inside runs; fork. A crowd ends after one run, not 32. A deadline, a flag and a look after 5 ms
 * are one thing: a waiter that may give up comes at any time. Yielding before it sleeps is being
 * slow. Weak exchanges that fail for nothing try again.
 *
 * Memory order: all that decides is in the word, which is one atomic, or has the mutex. Relaxed are
 *   word         its first look: an old value makes the exchange fail, or takes the slow way, which
 *                looks again.
 *   n_processors read without the mutex on the fast way only: as if the run had asked before it was
 *                set. */
#include "sync.inc"

#ifndef RUNS
#define RUNS 1
#endif
#ifndef MOST
#define MOST 3
#endif
#define PROCESSORS 2
#define CROWD 1

/* the word */
#define RUNNING(word) ((word) & 7)
#define INSIDE(word) ((word) >> 3 & 3)
#define HAS_CROWD(word) ((word) >> 5 & CROWD)
#define HAS_QUEUE(word) ((word) >> 6)
#define QUEUE 64
#define WITHOUT(word, n) ((word) - (n) - 8)

byte word;
byte n_processors = PROCESSORS;
bool mutex; /* guards what follows */
byte queue[THREADS];
byte n_waiting;
byte granted[THREADS];
cond woken[THREADS];
/* what each asks for, read by whoever has the mutex */
byte least[THREADS], most[THREADS];
/* what is to be shown */
byte limit[THREADS]; /* most processors since it asked; 0: it does not ask */
byte has[THREADS];   /* what it was granted */
byte n_done;

/* Into n; changes now. In one step. */
inline try_to_grant(t, n_others, processors) {
  others = n_others;
  if
  :: others > 0 && ((others + 1) * most[t] > processors || RUNNING(now) + most[t] > processors) ->
     now = now | CROWD << 5
  :: else ->
     if
     :: least[t] < most[t] && HAS_CROWD(now) ->
        now = now - (1 << 5);
        others = (others > 0 -> others : 1)
     :: else -> others = 0
     fi
  fi;
  n = (least[t] < most[t] && others > 0 -> least[t] : most[t]);
  if
  :: RUNNING(now) > 0 && RUNNING(now) + n > processors &&
     (n > 1 || RUNNING(now) > INSIDE(now)) ->
     n = 0
  :: else -> now = now + n + 8
  fi;
  others = 0
}

/* t has n from now on; in one step */
inline note(t, n) {
  has[t] = n;
  for (others : 0 .. THREADS - 1) {
    sum = sum + has[others];
    if
    :: has[others] > 1 -> workers = true
    :: else
    fi
  }
  assert(sum == n || sum <= limit[t] || !workers);
  limit[t] = 0;
  sum = 0;
  workers = false;
  others = 0
}

/* Nobody waits for what is free. */
#define UNLOCK_SERVED                                                            \
  atomic {                                                                       \
    assert(n_waiting == 0 ||                                                     \
           RUNNING(word) > 0 && RUNNING(word) + most[queue[0]] > n_processors && \
             (RUNNING(word) > INSIDE(word) || least[queue[0]] > 1));             \
    mutex = false                                                                \
  }

/* with the mutex, while the mark is set; from now */
inline serve() {
  do
  :: n_waiting > 0 ->
     d_step {
       try_to_grant(queue[0], INSIDE(now) + n_waiting - 1, n_processors);
       if
       :: n > 0 ->
          limit[queue[0]] = n_processors;
          first = queue[0];
          n_waiting--;
          for (others : 1 .. THREADS - 1) { queue[others - 1] = queue[others] }
          queue[THREADS - 1] = 0;
          note(first, n);
          granted[first] = n;
          SIGNAL(woken[first]);
          first = 0
       :: else
       fi
     };
     if
     :: n == 0 -> break
     :: else
     fi
  :: else -> break
  od;
#ifdef BROKEN_MARK_OFF_TOO_EARLY
  word = now & ~QUEUE;
#else
  word = (now & ~QUEUE) | (n_waiting > 0 -> QUEUE : 0);
#endif
  atomic { now = 0; n = 0 }
}

inline give_up() {
  d_step {
    for (others : 0 .. THREADS - 2) {
      if
      :: queue[others] == t -> first = 1
      :: else
      fi;
      if
      :: first -> queue[others] = queue[others + 1]
      :: else
      fi
    }
    queue[THREADS - 1] = 0;
    others = 0;
    first = 0;
    n_waiting--;
    limit[t] = 0
  };
#ifndef BROKEN_GIVEN_UP_UNSERVED
  now = word;
  serve()
#endif
}

/* Granted nothing: it has given up. */
inline wait_for_turn() {
  if
#ifndef PATIENT
  :: limit[t] = 0;
     if
#ifndef BROKEN_MARK_LEFT
     :: n_waiting == 0 -> now = word; serve()
#endif
     :: else
     fi
#endif
  :: d_step { queue[n_waiting] = t; n_waiting++ };
     UNLOCK_SERVED;
     LOCK(mutex);
     do
     :: granted[t] > 0 -> break
     :: else ->
        if
#ifndef PATIENT
        :: give_up(); break
#endif
        :: WAIT(woken[t], mutex)
        fi
     od;
     granted[t] = 0
  fi
}

inline enter_slowly() {
  LOCK(mutex);
  bits = word;
  do
  :: d_step {
       now = bits;
#ifdef BROKEN_ENTERED_PAST_QUEUE
       try_to_grant(t, INSIDE(now), n_processors);
#else
       if
       :: !HAS_QUEUE(now) -> try_to_grant(t, INSIDE(now), n_processors)
       :: else
       fi;
#endif
       if
       :: n == 0 -> now = now | QUEUE
       :: else
       fi
     };
     d_step {
       is_done = word == bits;
       if
       :: is_done ->
          word = now;
          if
          :: n > 0 -> assert(n_waiting == 0); note(t, n)
          :: else
          fi
       :: else -> bits = word
       fi
     };
     if
     :: is_done -> break
     :: else -> n = 0
     fi
  od;
  atomic { is_done = false; bits = 0; now = 0 };
  if
  :: n > 0 -> n = 0
  :: else -> wait_for_turn()
  fi;
  UNLOCK_SERVED
}

inline enter() {
  bits = word;
  do
  :: d_step {
       n = 0;
       now = bits;
       if
       :: !HAS_QUEUE(now) -> try_to_grant(t, INSIDE(now), n_processors)
       :: else
       fi
     };
     if
     :: n == 0 -> break
     :: else
     fi;
     d_step {
       is_done = word == bits;
       if
       :: is_done -> word = now; assert(n_waiting == 0); note(t, n)
       :: else -> bits = word
       fi
     };
     if
     :: is_done -> break
     :: else
     fi
  od;
  atomic { bits = 0; now = 0 };
  if
  :: is_done -> atomic { is_done = false; n = 0 }
  :: else -> enter_slowly()
  fi
}

inline exchange_without() {
  d_step {
    is_done = word == bits;
    if
    :: is_done -> word = WITHOUT(word, had)
    :: else -> bits = word
    fi
  }
}

inline leave() {
  d_step { bits = word; had = has[t]; has[t] = 0 };
  do
#ifndef BROKEN_LEFT_PAST_QUEUE
  :: HAS_QUEUE(bits) -> break
#endif
  :: else ->
     exchange_without();
     if
     :: is_done -> break
     :: else
     fi
  od;
  if
  :: is_done
  :: else ->
     LOCK(mutex);
#ifndef BROKEN_MARK_NOT_ASKED_AGAIN
     bits = word;
     do
     :: HAS_QUEUE(bits) -> break
     :: else ->
        exchange_without();
        if
        :: is_done -> break
        :: else
        fi
     od;
#endif
     if
     :: is_done
     :: else -> now = WITHOUT(bits, had); serve()
     fi;
     UNLOCK_SERVED
  fi;
  atomic { is_done = false; bits = 0; had = 0 }
}

proctype runner(byte t) {
  byte i, bits, now, n, others, sum, had, first;
  bool is_done, workers;
  do
  :: i < RUNS ->
     atomic {
       select(n : 1 .. MOST);
       most[t] = n;
#ifdef SINGLE
       least[t] = n;
#else
       select(had : 1 .. n);
       least[t] = had;
       had = 0;
#endif
       n = 0;
       limit[t] = n_processors
     };
     enter();
     if
     :: has[t] > 0 -> leave()
     :: else
     fi;
     i++
  :: else -> break
  od;
  n_done++
}

#ifdef SETS
inline set_processors(processors) {
  LOCK(mutex);
  d_step {
    n_processors = processors;
    for (others : 0 .. THREADS - 1) {
      if
      :: limit[others] > 0 && limit[others] < processors -> limit[others] = processors
      :: else
      fi
    }
    others = 0;
    now = word
  };
#ifndef BROKEN_SET_UNSERVED
  if
  :: HAS_QUEUE(now) -> serve()
  :: else -> now = 0
  fi;
#endif
  UNLOCK_SERVED
}

proctype setter() {
  byte now, n, others, sum, first;
  bool workers;
  set_processors(1);
  set_processors(PROCESSORS + 1);
  n_done++
}
#endif

init {
  byte i;
  atomic {
    for (i : 0 .. THREADS - 1) { run runner(i) }
#ifdef SETS
    run setter();
#endif
    i = 0
  };
  _nr_pr == 1;
  assert(RUNNING(word) == 0 && INSIDE(word) == 0 && !HAS_QUEUE(word) && n_waiting == 0 && !mutex)
}
