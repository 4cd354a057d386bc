/* Frames of a run plan: the slots that are taken and given without a lock, the end of an entry, and
 * of the pool.
 * Explored with: -DTHREADS=2 -DRUNS=2 | -DTHREADS=3 -DRUNS=1 -DMAX_IDLE=0 | -DTHREADS=3 -DRUNS=2 |
 * -DTHREADS=3 -DRUNS=1 -DMAX_IDLE=0 -DSLOTS=2 | -DTHREADS=3 -DRUNS=2 -DSLOTS=2
 *
 * Models:
 *   executor_glue/run/frame_pool.c  lk_lease_acquire, take_idle_lease, lk_lease_release, take_idle,
 *                                   take_from_another, lk_plan_entry_destroy,
 *                                   lk_frame_pool_destroy, release_pool
 *   executor_glue/run/execution_frame.c lk_execution_frame_leave_size,
 *                                   lk_execution_frame_count_runs, lk_execution_frame_detach
 *   executor_glue/run/size_log.c    lk_size_log_release, enter
 *   executor_glue/run/hot_slots.h   lk_hot_take, lk_hot_take_any, lk_hot_give
 * Runners have found one entry in the cache and run it; the cache drops it at any time, and whoever
 * has the last reference destroys it; the executor closes the pool when no run is on, and then ends
 * its program. Runs of another entry take an idle frame away from this one (take_from_another).
 *
 * Shown: a frame has one runner at a time, who sees all that those before him wrote there (see
 * sync.inc); none is leaked or freed twice; plan, entry and pool are freed once, the plan before
 * the program that it is of; no frame hands its runs to the record of the entry's size after that
 * has left the log. The record is freed as soon as the entry has released it: in the log, a build
 * of any other size may free it from then on.
 *
 * Left out: arenas, memory that fails, what another entry does with a frame, and an entry that is
 * not cached, whose frames are recycled under the mutex.
 *
 * Memory order. A slot is taken by an exchange that acquires and given by a compare-exchange that
 * releases: the frame's memory is handed over, which knows[] follows. Who sees it empty acquires
 * nothing. The give that fails is
 * relaxed: it does not touch what is there. There is no ABA in it: the give expects NULL, and what
 * NULL stands for is the same each time. take_idle is called with the mutex. All
 * else is guarded by the mutex, except `plan`, which is written when nobody runs. */
#ifndef RUNS
#define RUNS 1
#endif
#ifndef MAX_IDLE
#define MAX_IDLE 1
#endif
#define RUNNERS (THREADS - 1)
#define FRAMES (RUNNERS * RUNS)
#define CACHE RUNNERS
#define CLOSER (RUNNERS + 1)
#define THIEF (RUNNERS + 2)
#define KNOWERS (FRAMES + THREADS + 2) /* at least one each; place i: frame i */
#ifndef SLOTS
#define SLOTS 1
#endif
#define HOT(slot) (slot)
#define MUTEX SLOTS
#define REFS (SLOTS + 1)
#define CARRIERS (SLOTS + 2)
#include "sync.inc"

byte hot[SLOTS] = NONE;
bool mutex, in_use[FRAMES], is_there[FRAMES]; /* of frames */
byte idle; /* a set */
byte n_alive, n_frames;
bool has_record[FRAMES], record_freed; /* the frame counts its runs in the record of the size */
bool linked = true, entry_alive = true, plan = true, plan_freed, pool_alive = true, program_ended;
byte ending, pool_references = 2, entry_references = THREADS; /* the runners' and the cache's */
byte n_running = RUNNERS + 1;
cond is_idle;

#define OF(frame) (1 << (frame))
#define OWN(p) ((p) % SLOTS) /* of a runner: its slot */

inline free_frame(p, f) {
  d_step {
    assert(is_there[f] && !in_use[f]);
    assert(!has_record[f] || !record_freed); /* counts its last runs */
    KNOWS(p, OF(f));
    is_there[f] = false;
    n_alive--
  }
}

/* Any one of a set. */
inline choose(f, frames) {
  f = 0;
  do
  :: (frames & OF(f)) == 0 -> f++
  :: else -> break
  od
}

inline free_frames(p, frames) {
  do
  :: frames != 0 ->
     atomic { choose(one, frames); frames = frames & ~OF(one) };
     free_frame(p, one)
  :: else -> one = 0; break
  od
}

/* In one step. */
inline take_hot(p, slot, f) {
  f = hot[slot];
  hot[slot] = NONE;
#ifndef BROKEN_RELAXED_TAKE
  if
  :: f != NONE -> ACQUIRE(p, HOT(slot))
  :: else
  fi
#endif
}

inline take_idle(p, frames) {
  frames = idle;
  idle = 0;
#ifndef BROKEN_HOT_FORGOTTEN
  for (slot : 0 .. SLOTS - 1) {
    take_hot(p, slot, one);
    if
    :: one != NONE -> frames = frames | OF(one)
    :: else
    fi
  }
  slot = 0;
  one = 0
#endif
}

inline free_plan() {
  d_step { assert(!plan_freed && !program_ended); plan_freed = true }
}

inline release_record() {
  d_step { assert(!record_freed); record_freed = true }
}

inline release_pool(p) {
  LOCK_BY(p, mutex, MUTEX);
  d_step {
    assert(pool_alive);
    pool_references--;
    is_last = pool_references == 0
  };
  UNLOCK_BY(p, mutex, MUTEX);
  if
  :: is_last -> d_step { assert(pool_alive && !mutex && is_idle.waiting == 0); pool_alive = false }
  :: else
  fi
}

inline destroy_entry(p) {
  LOCK_BY(p, mutex, MUTEX);
  d_step {
    assert(entry_alive && pool_alive);
    mine = plan;
    take_idle(p, frames);
    if
    :: mine -> assert(linked); linked = false; ending++
    :: else
    fi
  };
  UNLOCK_BY(p, mutex, MUTEX);
  if
  :: mine ->
     free_frames(p, frames);
     release_record();
     free_plan();
     LOCK_BY(p, mutex, MUTEX);
     d_step {
       ending--;
       if
       :: ending == 0 -> BROADCAST(is_idle)
       :: else
       fi
     };
     UNLOCK_BY(p, mutex, MUTEX)
  :: else
  fi;
  d_step { assert(entry_alive); entry_alive = false };
  release_pool(p)
}

inline release_entry(p) {
  atomic {
    entry_references--;
    ACQUIRE(p, REFS);
    RELEASE(p, REFS);
    is_last = entry_references == 0
  };
  if
  :: is_last -> destroy_entry(p)
  :: else
  fi
}

proctype runner(byte p) {
  byte n, at, one, f, frames, slot;
  bool is_last, mine;
  do
  :: n < RUNS ->
     n++;
     /* lk_lease_acquire */
     assert(entry_alive && plan && !plan_freed);
#ifdef BROKEN_TAKEN_IN_TWO_STEPS
     f = hot[OWN(p)];
     atomic { hot[OWN(p)] = NONE; ACQUIRE(p, HOT(OWN(p))) };
#else
     atomic { take_hot(p, OWN(p), f) };
#endif
     if
     :: f == NONE ->
        LOCK_BY(p, mutex, MUTEX);
        atomic {
          if
          :: idle != 0 -> choose(f, idle); idle = idle & ~OF(f)
          :: else
          fi
        };
        do
        :: atomic { f == NONE && slot < SLOTS -> take_hot(p, slot, f); slot++ }
        :: else -> slot = 0; break
        od;
        atomic {
          if
          :: f == NONE -> /* made; the room for it is no other thread's */
             f = n_frames;
             n_frames++;
             is_there[f] = true;
             has_record[f] = true;
             n_alive++;
             ACCESS(p, f)
          :: else
          fi
        };
        UNLOCK_BY(p, mutex, MUTEX)
     :: else
     fi;
     /* the run */
     atomic { assert(is_there[f] && !in_use[f]); in_use[f] = true; KNOWS(p, OF(f)); ACCESS(p, f) };
     in_use[f] = false;
     /* lk_lease_release */
#ifdef BROKEN_GIVEN_IN_TWO_STEPS
     if
     :: hot[OWN(p)] == NONE -> atomic { hot[OWN(p)] = f; RELEASE(p, HOT(OWN(p))); f = NONE }
#else
     if
     :: atomic {
          hot[OWN(p)] == NONE ->
          hot[OWN(p)] = f;
#ifndef BROKEN_RELAXED_GIVE
          RELEASE(p, HOT(OWN(p)));
#endif
          f = NONE
        }
#endif
     :: hot[OWN(p)] != NONE ->
        LOCK_BY(p, mutex, MUTEX);
        d_step {
          if
          :: n_alive <= MAX_IDLE -> idle = idle | OF(f); f = NONE
          :: else
          fi
        };
        UNLOCK_BY(p, mutex, MUTEX);
        if
        :: f != NONE -> free_frame(p, f)
        :: else
        fi
     fi
  :: else -> n = 0; break
  od;
  release_entry(p);
  n_running--
}

/* A run of another entry: takes a frame while this one may be running, and makes it its own. */
proctype thief(byte p) {
  byte one, frames, slot;
  LOCK_BY(p, mutex, MUTEX);
  d_step {
    if
    :: linked -> take_idle(p, frames)
    :: else
    fi;
    if
    :: frames != 0 ->
       choose(one, frames);
       frames = frames & ~OF(one);
       idle = frames;
#ifndef BROKEN_RECORD_LEFT_LATE
       assert(!record_freed);
       has_record[one] = false
#endif
    :: else -> one = NONE
    fi
  };
  UNLOCK_BY(p, mutex, MUTEX);
  if
  :: one != NONE -> free_frame(p, one)
  :: else
  fi;
  n_running--
}

proctype cache() {
  byte at, one, frames, slot;
  bool is_last, mine;
  release_entry(CACHE)
}

/* lk_frame_pool_destroy, and then the program's end */
init {
  byte at, one, frames, slot;
  bool is_last, mine;
  atomic {
    for (at : 0 .. RUNNERS - 1) { run runner(at) }
    at = 0;
    run thief(THIEF);
    run cache()
  }
  n_running == 0;
  LOCK_BY(CLOSER, mutex, MUTEX);
  if
  :: linked ->
     d_step {
       assert(entry_alive);
       linked = false;
       mine = plan;
       take_idle(CLOSER, frames);
#ifndef BROKEN_PLAN_STAYS
       plan = false
#endif
     };
     UNLOCK_BY(CLOSER, mutex, MUTEX);
     free_frames(CLOSER, frames);
     release_record();
     free_plan();
     LOCK_BY(CLOSER, mutex, MUTEX)
  :: else
  fi;
#ifndef BROKEN_ENDING_NOT_AWAITED
  do
  :: ending > 0 -> atomic { WAIT(is_idle, mutex); ACQUIRE(CLOSER, MUTEX) }
  :: else -> break
  od;
#endif
  UNLOCK_BY(CLOSER, mutex, MUTEX);
  release_pool(CLOSER);
  program_ended = true;
  _nr_pr == 1;
  d_step {
    assert(plan_freed && !entry_alive && !pool_alive);
    for (at : 0 .. FRAMES - 1) { assert(!is_there[at]) }
  }
}
