/* Fronts: how a thread looks up, lists and drops handles of entries that another thread unlinks,
 * and how it ends.
 * Explored with: -DLOOKERS=1 -DLOOKS=3 | -DLOOKERS=1 -DEVICTORS=2 | -DLOOKERS=2 -DROUNDS=1
 *
 * Models:
 *   keys/cache/cache.c         look, use
 *   keys/cache/shared_mode.c   lk_shared_mode_get, find_entry
 *   keys/cache/front.c         lk_front_take, list, lk_fronts_leave, leave
 *   keys/cache/entry.c         lk_entry_add_handle, lk_entry_next_front, remove_handle,
 *                              lk_ref_release
 *   keys/cache/evict.c         run_round, lk_drop_all
 *   keys/cache/walk.c          lk_entry_evict, unlink_from_shard
 *   keys/cache/thread_table.c  table_destroy, lk_thread_table_remove
 * All in shared mode. The design has no generation numbers: a front holds handles of its own, each
 * with a reference to its entry. Whoever unlinks an entry goes through its handles, each of which
 * knows the front that may list it, and takes them out of these fronts and no others.
 *
 * Shown: no entry, handle or table is touched after it is freed, none is freed twice, none is left
 * over; when all is quiet, no front lists an entry that is not linked; references end at 0; no
 * deadlock.
 *
 * Left out: all keys but one, so a front and a shard hold one at most (a front that is full and
 * flushed is a choice made at any time); builds (flight.pml); which entry is chosen: here any, used
 * or not (refs.pml has the choice); ticks, hits and what is expected next, which are under the busy
 * flag or numbers that nothing follows from. What the shard guards is one step; what the busy flag
 * does is not, for others look whether it is set.
 *
 * Memory order. Steps here are sequentially consistent. In C, what is not atomic is guarded: a
 * front by its busy flag (exchange acquire, store release), the list of handles by the shard's
 * mutex, the fronts' being there by `tables`. Left are
 *   linked   relaxed. Its writers hold the shard. lk_front_take reads it first without any lock: an
 *            old 1 costs a handle. It is read again under the shard, where the handle is added, and
 *            under the busy flag. There, if whoever unlinks has had this front, its release of busy
 *            makes the 0 visible; if not, it is still to come: the handle was added before, or the
 *            shard's mutex has made the 0 visible when it was to be.
 *   front    of a handle; relaxed. Written by who holds the busy flag, or is the front's thread and
 *            has listed nothing. Read with `tables`, under which fronts end: what is not NULL is
 *            there. An old one costs a look into a front that does not list the entry.
 *   refs     additions relaxed: made by who has a reference, or holds what keeps one (the shard,
 *            the busy flag). Subtractions acquire and release: refs.pml follows what they carry. */
#include "sync.inc"

#ifndef LOOKERS
#define LOOKERS 1
#endif
#ifndef LOOKS
#define LOOKS 2
#endif
#ifndef EVICTORS
#define EVICTORS 1
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#define ENTRIES 2
#define HANDLES (LOOKERS * LOOKS)

typedef entry_type {
  bool alive, linked;
  byte refs
}
typedef handle_type {
  bool alive, added; /* added: among the entry's handles */
  byte refs, entry, front
}
typedef front_type {
  bool busy, alive;
  byte handle
}
entry_type entries[ENTRIES];
handle_type handles[HANDLES];
front_type fronts[LOOKERS];
byte n_entries, n_handles;
byte in_shard = NONE;
bool tables, shard;
byte n_quiet; /* lookers and evictors that are done */
bool may_end; /* lookers whose threads outlive the rest may end now */

inline drop_entry(e) {
  d_step {
    assert(entries[e].alive && entries[e].refs > 0);
    entries[e].refs--;
    if
    :: entries[e].refs == 0 ->
       assert(!entries[e].linked);
       entries[e].alive = false
    :: else
    fi
  }
}

inline drop_handle(h) {
  atomic {
    assert(handles[h].alive && handles[h].refs > 0);
    handles[h].refs--;
    is_last = handles[h].refs == 0;
    held = handles[h].entry
  }
  if
  :: is_last -> /* lk_ref_release */
     is_last = false;
#ifdef BROKEN_FREED_BEFORE_REMOVED
     handles[h].alive = false;
#endif
     atomic { LOCK(shard); handles[h].added = false; UNLOCK(shard) };
     d_step { handles[h].alive = false };
#ifndef BROKEN_HANDLE_WITHOUT_REFERENCE
     drop_entry(held)
#endif
  :: else
  fi
}

/* lk_entry_add_handle. The handle goes at once where it is not among them. */
inline add_handle(h) {
  atomic {
    LOCK(shard);
    if
#ifndef BROKEN_LISTED_BEFORE_ADDED
    :: !entries[handles[h].entry].linked -> handles[h].refs = 0
#endif
    :: else -> handles[h].added = true
    fi;
    UNLOCK(shard)
  }
}

/* lk_thread_table_remove, of a front that the caller holds. */
inline unlist(f, garbage) {
  assert(handles[fronts[f].handle].alive);
  garbage = fronts[f].handle;
#ifndef BROKEN_FRONT_STAYS_NOTED
  handles[garbage].front = NONE;
#endif
  fronts[f].handle = NONE
}

/* lk_fronts_leave; the caller holds `tables` */
inline leave_fronts(e) {
  do
  :: atomic { /* lk_entry_next_front */
       LOCK(shard);
       h = 0;
       do
       :: h < HANDLES && !(handles[h].added && handles[h].entry == e) -> h++
       :: else -> break
       od;
       f = NONE;
       if
       :: h < HANDLES -> handles[h].added = false; f = handles[h].front
       :: else
       fi;
       UNLOCK(shard)
     };
     if
     :: h == HANDLES -> h = 0; f = 0; break
     :: h < HANDLES && f != NONE ->
        assert(fronts[f].alive);
#ifndef BROKEN_LEAVE_NOT_BUSY
        LOCK(fronts[f].busy);
#endif
        atomic {
          assert(fronts[f].alive);
          h = fronts[f].handle;
          if
          :: h != NONE ->
             assert(handles[h].alive && entries[handles[h].entry].alive);
             if
             :: handles[h].entry == e -> unlist(f, swept[f])
             :: else
             fi
          :: else
          fi;
          h = 0;
#ifndef BROKEN_LEAVE_NOT_BUSY
          UNLOCK(fronts[f].busy)
#endif
        }
     :: else
     fi
  od
}

inline drop_swept() {
  f = 0;
  do
  :: f < LOOKERS ->
     if
     :: swept[f] != NONE -> drop_handle(swept[f]); swept[f] = NONE
     :: else
     fi;
     f++
  :: else -> break
  od;
  f = 0
}

/* table_destroy */
inline end_front(i) {
#ifndef BROKEN_END_WITHOUT_TABLES
  LOCK(tables);
#endif
  LOCK(fronts[i].busy);
  mine = NONE;
  if
#ifndef BROKEN_END_KEEPS_HANDLES
  :: fronts[i].handle != NONE -> d_step { unlist(i, mine) }
#endif
  :: else
  fi;
#ifndef BROKEN_END_WITHOUT_TABLES
  UNLOCK(tables);
#endif
  if
  :: mine != NONE -> drop_handle(mine)
  :: else
  fi;
  fronts[i].alive = false
}

/* One thread that looks the key up, uses what it gets, and ends. */
proctype looker(byte i) {
  byte n, e, h, mine, held, flushed = NONE;
  bool is_last;
  do
  :: n < LOOKS ->
     d_step { n++; mine = NONE; e = NONE };
     /* look */
     if
     :: atomic { !fronts[i].busy -> fronts[i].busy = true };
        mine = fronts[i].handle;
#ifdef BROKEN_LOOK_LEAVES_FIRST
        UNLOCK(fronts[i].busy);
#endif
        if
        :: mine != NONE ->
           d_step {
             assert(handles[mine].alive && handles[mine].refs > 0);
             handles[mine].refs++;
             e = handles[mine].entry
           }
        :: else
        fi;
        UNLOCK(fronts[i].busy)
     :: fronts[i].busy /* somebody takes an entry out: the shard has it too */
     fi;
     if
     :: mine == NONE ->
        atomic {
          LOCK(shard);
          if
          :: in_shard != NONE ->
             e = in_shard;
             assert(entries[e].alive && entries[e].refs > 0);
             entries[e].refs++
          :: in_shard == NONE && n_entries < ENTRIES -> /* built, and linked for all */
             e = n_entries;
             n_entries++;
             entries[e].alive = true;
             entries[e].linked = true;
             entries[e].refs = 2;
             in_shard = e
          :: else /* a miss */
          fi;
          UNLOCK(shard)
        };
        /* lk_front_take */
        if
        :: e != NONE && entries[e].linked ->
           d_step {
             mine = n_handles;
             n_handles++;
             handles[mine].alive = true;
             handles[mine].refs = 1;
             handles[mine].entry = e;
             handles[mine].front = i
           };
#ifdef BROKEN_HANDLE_WITHOUT_REFERENCE
           drop_entry(e);
#endif
#ifndef BROKEN_LISTED_BEFORE_ADDED
           add_handle(mine);
#endif
           if
           :: handles[mine].refs == 0 -> /* no longer linked: freed, and `self` stays */
              d_step { handles[mine].alive = false; mine = NONE }
           :: else ->
              if
              :: atomic { !fronts[i].busy -> fronts[i].busy = true };
                 if
                 :: fronts[i].handle != NONE -> d_step { unlist(i, flushed) }
                 :: true
                 fi;
                 if
#ifdef BROKEN_LINKED_NOT_ASKED_AGAIN
                 :: fronts[i].handle == NONE ->
#else
                 :: entries[e].linked && fronts[i].handle == NONE ->
#endif
                    fronts[i].handle = mine;
#ifndef BROKEN_FRONT_WITHOUT_REFERENCE
                    handles[mine].refs++
#endif
                 :: else -> handles[mine].front = NONE
                 fi;
                 UNLOCK(fronts[i].busy)
              :: fronts[i].busy -> handles[mine].front = NONE
              fi;
#ifdef BROKEN_LISTED_BEFORE_ADDED
              add_handle(mine);
#endif
              if
              :: flushed != NONE -> drop_handle(flushed); flushed = NONE
              :: else
              fi
           fi
        :: else
        fi
     :: else
     fi;
     /* used, and released */
     if
     :: e != NONE -> assert(entries[e].alive)
     :: else
     fi;
     if
     :: mine != NONE -> drop_handle(mine)
     :: mine == NONE && e != NONE -> drop_entry(e)
     :: else
     fi
  :: else -> d_step { n = 0; e = 0; mine = 0; held = 0 }; break
  od;
  n_quiet++;
  if
  :: true
  :: may_end
  fi;
  end_front(i)
}

/* Unlinks what is there, ROUNDS times. */
proctype evictor() {
  byte n, e, f, h, held;
  byte swept[LOOKERS];
  bool is_last;
  for (f : 0 .. LOOKERS - 1) { swept[f] = NONE }
  f = 0;
  do
  :: n < ROUNDS ->
     n++;
#ifndef BROKEN_NO_TABLES_LOCK
     LOCK(tables);
#endif
     atomic {
       LOCK(shard);
       e = in_shard;
       /* lk_entry_tick and lk_entry_users walk its handles */
       for (h : 0 .. HANDLES - 1) {
         assert(!(e != NONE && handles[h].added && handles[h].entry == e) || handles[h].alive)
       }
       h = 0;
       UNLOCK(shard)
     };
     if
     :: e != NONE ->
        LOCK(shard);
        d_step {
          assert(entries[e].alive && in_shard == e);
          in_shard = NONE
        };
#ifndef BROKEN_UNLINKED_AFTER_FRONTS
        entries[e].linked = false;
#endif
        UNLOCK(shard);
#ifndef BROKEN_FRONTS_FORGOTTEN
        leave_fronts(e);
#endif
#ifdef BROKEN_UNLINKED_AFTER_FRONTS
        entries[e].linked = false;
#endif
     :: else
     fi;
#ifndef BROKEN_NO_TABLES_LOCK
     UNLOCK(tables);
#endif
     drop_swept();
     if
     :: e != NONE -> drop_entry(e)
     :: else
     fi
  :: else -> d_step { n = 0; e = 0; held = 0 }; break
  od;
  n_quiet++
}

init {
  byte i;
  atomic {
    for (i : 0 .. LOOKERS - 1) {
      fronts[i].alive = true;
      fronts[i].handle = NONE
    }
    for (i : 0 .. LOOKERS - 1) { run looker(i) }
    for (i : 1 .. EVICTORS) { run evictor() }
    i = 0
  }
  n_quiet == LOOKERS + EVICTORS;
  /* Threads may be ending; the rest is quiet. */
  d_step {
    for (i : 0 .. LOOKERS - 1) {
      assert(!fronts[i].alive || fronts[i].handle == NONE ||
             entries[handles[fronts[i].handle].entry].linked)
    }
    may_end = true;
    i = 0
  }
  _nr_pr == 1;
  /* The shard's own reference goes with the cache. */
  atomic {
    if
    :: in_shard != NONE -> entries[in_shard].linked = false; drop_entry(in_shard)
    :: else
    fi;
    for (i : 0 .. HANDLES - 1) { assert(!handles[i].alive && handles[i].refs == 0) }
    for (i : 0 .. ENTRIES - 1) { assert(!entries[i].alive && entries[i].refs == 0) }
    for (i : 0 .. LOOKERS - 1) { assert(!fronts[i].alive) }
  }
}
