/* Single flight: one thread builds a key, the others wait; builds that ask for other keys; circles
 * of waiting.
 * Explored with: -DTHREADS=3 -DKEYS=1 | -DTHREADS=2 -DKEYS=2 -DASKS=2 -DDOWNWARDS -DWILLING |
 *   -DTHREADS=2 -DKEYS=2 -DASKS=2 | -DTHREADS=3 -DKEYS=2 -DDOWNWARDS -DWILLING |
 *   -DTHREADS=3 -DKEYS=2 -DRING -DWILLING | -DTHREADS=3 -DKEYS=3 -DRING -DWILLING |
 *   -DTHREADS=2 -DKEYS=1 -DASKS=2 -DDROPS=2 | -DTHREADS=3 -DKEYS=1 -DDROPS=1 |
 *   -DTHREADS=2 -DKEYS=2 -DDROPS=1 -DDOWNWARDS -DWILLING |
 *   -DTHREADS=3 -DKEYS=1 -DSTOPS=2 | -DTHREADS=2 -DKEYS=2 -DSTOPS=1
 *
 * Models:
 *   keys/cache/shared_mode.c  lk_shared_mode_get, was_stopped, find_entry, fly,
 *                             link_into_room
 *   keys/cache/flight.c       lk_flight_wait, begin_waiting, end_waiting, lk_flight_publish,
 *                             lk_flight_finish, release
 *   keys/cache/build.c        lk_build_check
 *   keys/cache/pending.c      lk_pending_drop
 *   keys/cache/drop.c         drop_shared
 * Each thread asks for some keys; a build may ask for another key or not, and then succeeds or
 * fails, whatever it got; a new entry may be kept at once, or be there for all who ask while its
 * builder makes room, and then be kept or not. WILLING: builds do not fail by themselves, and all
 * is kept. DOWNWARDS: a build asks for smaller keys only, so that there is no circle. DROPS: one
 * more thread drops keys so often. STOPS: so many builds are cancelled, each by the thread that
 * builds; a thread that waited for it asks again. RING: each thread asks for a key of its own, and
 * a build always for the next thread's.
 *
 * Shown: at no time two builds of one key, nor one of a key for which room is made; a key that is
 * kept is built once; who waits gets the builder's value, with a reference, or its error, before
 * room is made, but never that the builder was cancelled; no deadlock, whatever asks for what; no
 * LK_CYCLE where there is no circle; flights and entries are freed once, and not touched after
 * that; who asks after a drop gets no value whose build began before.
 *
 * Left out: fronts and eviction (front.pml), memory that fails. Each key has a shard of its own:
 * two keys in one shard share its lock, of which a thread never holds two. From taking the shard,
 * and in it `waiting`, to giving the shard back is one step: first locks are taken, then given, and
 * what they guard is not looked at without (Lipton, Reduction, 1975).
 *
 * Memory order: no atomics here but the entry's references (refs.pml). A flight is guarded by its
 * shard, `waiting` of the threads by the mutex of that name; `done` is written under both and read
 * under either. */
#define NO_FLIGHT NONE
#ifndef ASKS
#define ASKS 1
#endif
#include "sync.inc"
#define NEXT_STEP }; atomic {
#define FLIGHTS (THREADS * KEYS) /* at a time, as entries; freed ones are used again */
#define ENTRIES (THREADS * KEYS)

typedef flight_type {
  bool alive, done, failed, stopped, dropped;
  byte since; /* drops of the key before the build began */
  byte builder, users, value;
  cond finished
}
typedef entry_type {
  bool alive;
  byte refs, since /* as of its flight */
}
flight_type flights[FLIGHTS];
entry_type entries[ENTRIES];
bool shards[KEYS];
byte in_shard[KEYS];   /* an entry */
byte in_flights[KEYS]; /* a flight */
byte waits_for[THREADS];
byte n_building[KEYS];
bool was_kept[KEYS], is_making_room[KEYS];
byte n_drops[KEYS];
#ifdef STOPS
byte n_stops;
#endif

inline free_flight(f) {
  d_step {
    assert(flights[f].alive && flights[f].users == 0 && flights[f].finished.waiting == 0);
    flights[f].alive = false;
    flights[f].done = false;
    flights[f].failed = false;
    flights[f].stopped = false;
    flights[f].dropped = false;
    flights[f].value = NONE;
    flights[f].finished.woken = 0
  }
}

/* release: the shard is locked, and unlocked after */
inline leave(f, k) {
  assert(flights[f].alive);
  flights[f].users--;
  if
  :: flights[f].users == 0 -> free_flight(f) /* after the lock, but nobody else has it */
  :: else
  fi;
  shards[k] = false
}

/* lk_flight_finish: the same */
inline finish_flight() {
#ifdef BROKEN_FAILED_STAYS
  if
  :: !failed -> in_flights[key] = NO_FLIGHT
  :: else
  fi;
#else
  if
  :: !flights[f].dropped -> in_flights[key] = NO_FLIGHT
  :: else
  fi;
#endif
  leave(f, key);
  f = 0
}

/* begin_waiting, without the note; the shard is locked */
inline wait_begin(f) {
  next = f;
  circle = false;
  do
  :: next == NO_FLIGHT -> break
  :: else ->
     assert(flights[next].alive); /* who waits is a user of it */
     if
#ifndef BROKEN_DONE_NOT_ASKED
     :: flights[next].done -> next = NO_FLIGHT
#endif
     :: else ->
        if
        :: flights[next].builder == self -> circle = true; next = NO_FLIGHT
        :: else ->
#ifdef BROKEN_NOT_FOLLOWED
           next = NO_FLIGHT
#else
           next = waits_for[flights[next].builder]
#endif
        fi
     fi
  od
}

proctype asker(byte self) {
  byte key, n, f, i, depth, asked_at;
  byte next = NO_FLIGHT, entry = NONE;
  byte stack[KEYS]; /* what this thread builds, outermost first */
  byte flying[KEYS];
  bool circle, failed, stopped, makes_room;

next_key:
  if
  :: n == ASKS -> n = 0; goto end
  :: else ->
     atomic {
       n++;
       key = 0;
#ifdef RING
       key = self % KEYS;
#else
       do
       :: key + 1 < KEYS -> key++
       :: break
       od
#endif
     }
  fi;

ask:
  atomic { /* lk_build_check */
    entry = NONE;
    failed = false;
    circle = false;
    asked_at = n_drops[key];
    i = 0;
    do
    :: i < depth -> circle = circle || stack[i] == key; i++
    :: else -> break
    od;
    i = 0
  };
  if
  :: circle ->
     failed = true;
     circle = false;
     goto answered
  :: else
  fi;
  atomic {
    LOCK(shards[key]);
    if
    :: in_shard[key] != NONE ->
       entry = in_shard[key];
       entries[entry].refs++;
       UNLOCK(shards[key]);
       goto answered
    :: else
    fi;
#ifdef BROKEN_UNLOCKED_BEFORE_FLIGHT
    UNLOCK(shards[key]);
    NEXT_STEP
    LOCK(shards[key]);
#endif
    f = in_flights[key];
    if
#ifndef BROKEN_PUBLISHED_NOT_SEEN
    :: f != NO_FLIGHT && flights[f].value != NONE -> /* built, and there for all */
       entry = flights[f].value;
       assert(entries[entry].alive && entries[entry].refs > 0);
       entries[entry].refs++;
       UNLOCK(shards[key]);
       f = 0;
       goto answered
#endif
    :: f != NO_FLIGHT && flights[f].value == NONE -> goto wait
    :: else -> /* flight_create */
       f = 0;
       do
       :: flights[f].alive -> f++
       :: else -> break
       od;
       flights[f].alive = true;
       flights[f].builder = self;
       flights[f].users = 1;
       flights[f].since = n_drops[key];
       in_flights[key] = f;
       UNLOCK(shards[key]);
       stack[depth] = key;
       flying[depth] = f;
       depth++;
       f = 0;
       /* lk_build; a build whose key was dropped is not counted */
       n_building[key]++;
       assert(n_building[key] == 1);
       assert(!was_kept[key] && !is_making_room[key])
    fi
  };

  if
#ifndef RING
  :: true /* asks for nothing */
#endif
#ifdef DOWNWARDS
  :: key > 0 -> key--; goto ask
#else
  :: atomic {
       true ->
#ifdef RING
       key = (key + 1) % KEYS
#else
       key = 0;
       do
       :: key + 1 < KEYS -> key++
       :: break
       od
#endif
     };
     goto ask
#endif
  fi;

built:
  atomic {
    depth--;
    key = stack[depth];
    f = flying[depth];
    asked_at = flights[f].since;
    stack[depth] = 0;
    flying[depth] = 0;
    entry = NONE
  };
  if
#ifndef WILLING
  :: failed = true
#endif
  :: d_step {
       failed = false;
       entry = 0;
       do
       :: entries[entry].alive -> entry++
       :: else -> break
       od;
       entries[entry].alive = true;
       entries[entry].since = flights[f].since;
       entries[entry].refs = 1
     }
#ifdef WILLING
  :: failed /* what it asked for was an error */
#endif
#ifdef STOPS
  :: d_step { n_stops < STOPS -> n_stops++; failed = true; stopped = true }
#endif
  fi;
  /* the end of fly */
  atomic {
    LOCK(shards[key]);
    assert(flights[f].alive && !flights[f].done);
    if
    :: !flights[f].dropped -> assert(in_flights[key] == f); n_building[key]--
    :: else
    fi;
    makes_room = false;
    if
#ifdef BROKEN_DROPPED_IS_KEPT
    :: !failed -> in_shard[key] = entry; entries[entry].refs++; was_kept[key] = true
#else
    :: !failed && !flights[f].dropped ->
       in_shard[key] = entry;
       entries[entry].refs++;
       was_kept[key] = true
#endif
    :: !failed && !flights[f].dropped -> is_making_room[key] = true; makes_room = true
    :: failed || flights[f].dropped
    fi;
    flights[f].failed = failed; /* lk_flight_publish */
    flights[f].stopped = stopped;
    stopped = false;
    flights[f].value = entry;
    if
#ifndef BROKEN_NO_REFERENCES_FOR_WAITERS
    :: !failed -> entries[entry].refs = entries[entry].refs + flights[f].users - 1
#endif
    :: else
    fi;
    flights[f].done = true;
#ifdef BROKEN_ONE_WOKEN
    SIGNAL(flights[f].finished);
#else
    BROADCAST(flights[f].finished);
#endif
    if
    :: makes_room ->
#ifdef BROKEN_FLIGHT_ENDS_BEFORE_ROOM
       in_flights[key] = NO_FLIGHT;
#endif
       UNLOCK(shards[key])
    :: else -> finish_flight(); goto answered
    fi
  };
  atomic { /* link_into_room */
    LOCK(shards[key]);
    if
    :: !flights[f].dropped -> is_making_room[key] = false
    :: else
    fi;
    if
    :: !flights[f].dropped -> in_shard[key] = entry; entries[entry].refs++; was_kept[key] = true
#ifndef WILLING
    :: true /* it will never fit */
#else
    :: flights[f].dropped
#endif
    fi;
    finish_flight();
    goto answered
  };

wait:
  atomic {
#ifndef BROKEN_CIRCLE_NOT_SOUGHT
    wait_begin(f);
#endif
#ifdef BROKEN_NOT_NOTED_AT_ONCE
    NEXT_STEP
#endif
    if
    :: circle ->
#ifdef DOWNWARDS
       assert(false);
#endif
       UNLOCK(shards[key]);
       failed = true;
       circle = false;
       f = 0;
       goto answered
    :: else -> waits_for[self] = f
    fi;
    flights[f].users++;
    do
    :: !flights[f].done -> WAIT(flights[f].finished, shards[key])
    :: else -> break
    od;
    entry = flights[f].value;
    failed = flights[f].failed;
    stopped = flights[f].stopped;
    assert(failed == (entry == NONE));
#ifdef BROKEN_LEFT_BEFORE_WAIT_END
    leave(f, key);
    NEXT_STEP
    waits_for[self] = NO_FLIGHT;
#else
    waits_for[self] = NO_FLIGHT; /* end_waiting */
    leave(f, key);
#endif
    f = 0;
    if
#ifndef BROKEN_STOP_IS_TOLD
    :: stopped -> stopped = false; goto ask
#endif
    :: else
    fi
  };

answered:
  assert(!stopped);
  assert(failed || (entries[entry].alive && entries[entry].refs > 0));
  assert(failed || depth > 0 || entries[entry].since >= asked_at);
  /* used, and released */
  if
  :: !failed ->
     d_step {
       assert(entries[entry].alive && entries[entry].refs > 0);
       entries[entry].refs--;
       if
       :: entries[entry].refs == 0 -> entries[entry].alive = false
       :: else
       fi;
       entry = NONE
     }
  :: else
  fi;
  if
  :: depth > 0 -> goto built
  :: else -> d_step { failed = false; key = 0 }; goto next_key
  fi;

end:
  skip
}

#ifdef DROPS
/* lk_cache_drop in shared mode: one step, with the shard locked */
proctype dropper() {
  byte key, n, entry;
  do
  :: n == DROPS -> break
  :: else ->
     atomic {
       n++;
       key = 0;
       do
       :: key + 1 < KEYS -> key++
       :: break
       od
     };
     atomic {
       LOCK(shards[key]);
       if
       :: in_flights[key] != NO_FLIGHT -> /* lk_pending_drop */
          if
          :: !flights[in_flights[key]].done -> n_building[key]--
          :: else -> is_making_room[key] = false
          fi;
          flights[in_flights[key]].dropped = true;
#ifndef BROKEN_DROPPED_IS_FOUND
          in_flights[key] = NO_FLIGHT
#endif
       :: else
       fi;
       if
       :: in_shard[key] != NONE ->
          entry = in_shard[key];
          in_shard[key] = NONE;
          entries[entry].refs--;
          if
          :: entries[entry].refs == 0 -> entries[entry].alive = false
          :: else
          fi
       :: else
       fi;
       was_kept[key] = false;
       n_drops[key]++;
       UNLOCK(shards[key]);
       entry = 0
     }
  od
}
#endif

init {
  byte i;
  atomic {
    for (i : 0 .. KEYS - 1) { in_shard[i] = NONE; in_flights[i] = NO_FLIGHT }
    for (i : 0 .. THREADS - 1) { waits_for[i] = NO_FLIGHT }
    for (i : 0 .. FLIGHTS - 1) { flights[i].value = NONE }
    for (i : 0 .. THREADS - 1) { run asker(i) }
#ifdef DROPS
    run dropper();
#endif
    i = 0
  }
  _nr_pr == 1;
  d_step {
    for (i : 0 .. KEYS - 1) {
      assert(in_flights[i] == NO_FLIGHT && n_building[i] == 0);
      if
      :: in_shard[i] != NONE -> entries[in_shard[i]].refs--; entries[in_shard[i]].alive = false
      :: else
      fi
    }
    for (i : 0 .. FLIGHTS - 1) { assert(!flights[i].alive) }
    for (i : 0 .. ENTRIES - 1) { assert(!entries[i].alive && entries[i].refs == 0) }
  }
}
