/* References to an entry: who ends it, and how eviction finds out who uses it, and when nobody does
 * any more.
 * Explored with: -DTHREADS=2 -DLOOKS=2 | -DTHREADS=3 -DLOOKS=1
 *
 * Models:
 *   keys/cache/entry.c  lk_entry_users, lk_entry_park, mark_a_used_one, lk_entry_leave_park,
 *                       lk_entry_add_handle, remove_handle, lk_ref_release, release_marked,
 *                       entry_destroy
 *   keys/cache/shared_mode.c  find_entry
 *   keys/cache/front.c  lk_front_take
 *   keys/cache/thread_table.c  lk_thread_table_empty_front
 *   keys/cache/evict.c  choose, look_at
 *   keys/cache/walk.c   lk_entry_evict
 * choose and look_at are of entries that are not in use and of those that are.
 *
 * Shown: the entry is ended once, when nobody has a reference, and all that any thread has read in
 * its value happens before that (see sync.inc). As long as no used entry may go, none is unlinked
 * that a caller has had a reference to ever since the count began. An entry that nobody uses is not
 * parked when all is quiet: whoever makes room comes to it. References end at 0.
 *
 * Left out: that a flushed front may be filled again by an old handle (front.pml), hits and ticks.
 *
 * Memory order. What a handle is, is one number, `refs`: count, listed, marked; so is `self`. So
 * whoever changes one of these sees all of them as they are.
 *   marked   set, with what the number was before, under the shard. Whoever releases the last use
 *            comes after that in the order of changes of this one number, and sees it. Then the
 *            shard is asked: whatever other number has users has the mark now.
 *   taken    what hits have taken while the handle was listed, written by who holds the busy flag.
 *            It is read after `refs`, with an acquire: each use that was released from there was
 *            taken before, and is seen. So the sum never comes out below the uses that there are,
 *            but for a hit of just then, as if it had come later; and who releases the last use has
 *            it exactly. What is not listed is counted by `refs` alone.
 * So the steps of Spin, in program order, show no less than C11 allows. What releases carry is in
 * knows[]. */
#define LOOKERS (THREADS - 1)
#define HANDLES (LOOKERS * LOOKS)
#define KNOWERS THREADS /* lookers, and last the evictor; place i: what looker i has read */
#define CARRIERS (2 + HANDLES + LOOKERS)
#include "sync.inc"

#define EVICTOR LOOKERS
#define ALL_READ ((1 << LOOKERS) - 1)
/* what carries: the shard, the entry's refs, those of handles, the busy flags of fronts */
#define SHARD 0
#define SELF 1
#define HANDLE(h) (2 + (h))
#define BUSY(f) (2 + HANDLES + (f))

typedef handle_type {
  short count; /* with `taken`, if it is listed: users */
  byte taken;
  bool alive, listed, marked, added
}
typedef front_type {
  bool busy;
  byte handle
}
handle_type handles[HANDLES];
front_type fronts[LOOKERS];
bool shard, parked;
byte self_users;
bool linked = true, self_marked; /* linked: `listed` of self */
byte n_ended, n_handles, n_added;
bool uses[LOOKERS];   /* has a reference */
bool steady[LOOKERS]; /* and has had one since the evictor began to count */
byte n_looking = LOOKERS;
bool has_given_up; /* nothing but used entries is left: they may go too */

/* mark_a_used_one; the shard is locked */
inline mark_a_used_one() {
#ifdef BROKEN_MARKED_APART
  found = self_users > n_added;
  self_marked = found;
#else
  atomic { found = self_users > n_added; self_marked = true };
  if
  :: !found -> self_marked = false
  :: else
  fi;
#endif
  at = 0;
  do
  :: !found && at < n_handles ->
     if
     :: handles[at].added ->
#ifdef BROKEN_MARKED_APART
        count = handles[at].count + (handles[at].listed -> handles[at].taken : 0);
        found = count > 0;
        handles[at].marked = found
#else
        atomic {
          count = handles[at].count;
          is_listed = handles[at].listed;
          handles[at].marked = true
        };
        count = count + (is_listed -> handles[at].taken : 0);
        found = count > 0;
        if
        :: !found -> handles[at].marked = false
        :: else
        fi
#endif
     :: else
     fi;
     at++
  :: else -> at = 0; break
  od
}

/* lk_entry_leave_park */
inline leave_park() {
  d_step {
    parked = false;
    self_marked = false;
    for (at : 0 .. HANDLES - 1) { handles[at].marked = false }
    at = 0
  }
}

inline entry_destroy(p) {
  KNOWS(p, ALL_READ);
  assert(!linked && !parked);
  n_ended++
}

inline take_from_self(p) {
  assert(self_users > 0 && n_ended == 0);
  self_users--;
#ifndef BROKEN_RELAXED_RELEASE
  ACQUIRE(p, SELF);
  RELEASE(p, SELF);
#endif
  is_last = self_users == 0 && !linked
}

/* release_marked, after the release itself; the shard is locked, and unlocked after */
inline ask_again(p) {
  if
  :: parked ->
     mark_a_used_one();
     if
     :: !found -> leave_park()
     :: else
     fi
  :: else
  fi;
  found = false;
  UNLOCK_BY(p, shard, SHARD)
}

/* lk_ref_release of the entry's own */
inline drop_self(p) {
  atomic {
#ifdef BROKEN_SELF_WITHOUT_MARK
    is_marked = false;
#else
    is_marked = self_marked;
#endif
    if
    :: !is_marked -> take_from_self(p)
    :: else
    fi
  };
  if
  :: is_marked ->
     is_marked = false;
     LOCK_BY(p, shard, SHARD);
     atomic { take_from_self(p) };
     ask_again(p)
  :: else
  fi;
  if
  :: is_last -> is_last = false; atomic { entry_destroy(p) }
  :: else
  fi
}

inline take_from_handle(p, h) {
  assert(handles[h].alive);
  assert(handles[h].count + (handles[h].listed -> handles[h].taken : 0) > 0);
  handles[h].count--;
#ifndef BROKEN_RELAXED_RELEASE
  ACQUIRE(p, HANDLE(h));
  RELEASE(p, HANDLE(h));
#endif
  is_last = handles[h].count == 0 && !handles[h].listed
}

inline drop_handle(p, h) {
  is_done = false;
  do
  :: !is_done ->
     atomic {
       count = handles[h].count;
       is_listed = handles[h].listed;
       is_marked = handles[h].marked;
       seen_mark = is_marked
     };
     if
     :: is_marked && is_listed -> is_marked = count + handles[h].taken == 1
     :: else -> is_marked = is_marked && count == 1
     fi;
     atomic { /* the compare-exchange */
       if
       :: is_marked -> is_done = true
       :: !is_marked && count == handles[h].count && is_listed == handles[h].listed &&
          seen_mark == handles[h].marked ->
          take_from_handle(p, h);
          is_done = true
       :: else
       fi
     }
  :: else -> skip; break
  od;
  skip;
  d_step { is_done = false; count = 0; is_listed = false; seen_mark = false };
  if
  :: is_marked ->
     is_marked = false;
#ifdef BROKEN_RELEASED_BEFORE_SHARD
     atomic { take_from_handle(p, h) };
     LOCK_BY(p, shard, SHARD);
     assert(is_last || n_ended == 0); /* the entry is read */
#else
     LOCK_BY(p, shard, SHARD);
     atomic { take_from_handle(p, h) };
#endif
     ask_again(p)
  :: else
  fi;
  if
  :: is_last -> /* remove_handle */
     is_last = false;
     LOCK_BY(p, shard, SHARD);
     d_step { handles[h].added = false; n_added-- };
     UNLOCK_BY(p, shard, SHARD);
     handles[h].alive = false;
     drop_self(p)
  :: else
  fi
}

/* lk_thread_table_remove, of a front that the caller holds: the table's reference is one more use
 * from now on, until it is released. */
inline unlist(f, h) {
  d_step { h = fronts[f].handle; fronts[f].handle = NONE };
#ifdef BROKEN_UNLISTED_IN_TWO_STEPS
  handles[h].listed = false;
  handles[h].count = handles[h].count + handles[h].taken + 1
#else
  atomic {
    handles[h].listed = false;
#ifdef BROKEN_TAKEN_NOT_HANDED_OVER
    handles[h].count++
#else
    handles[h].count = handles[h].count + handles[h].taken + 1
#endif
  }
#endif
}

inline flush_front(i) {
  LOCK_BY(i, fronts[i].busy, BUSY(i));
  if
  :: fronts[i].handle != NONE -> unlist(i, flushed)
  :: else
  fi;
  UNLOCK_BY(i, fronts[i].busy, BUSY(i));
  if
  :: flushed != NONE -> drop_handle(i, flushed); flushed = NONE
  :: else
  fi
}

proctype looker(byte i) {
  byte n, at, mine = NONE, flushed = NONE;
  short count;
  bool is_last, is_marked, seen_mark, is_listed, is_done, found;
  do
  :: n < LOOKS ->
     n++;
     if
     :: n > 1 -> flush_front(i) /* another key's handle was one too many */
     :: true
     fi;
     /* look; whoever evicts there now sends us to the shard */
     if
     :: atomic { !fronts[i].busy -> fronts[i].busy = true; ACQUIRE(i, BUSY(i)) };
        if
        :: fronts[i].handle != NONE ->
           d_step {
             mine = fronts[i].handle;
             uses[i] = true;
#ifndef BROKEN_TAKEN_AFTER_BUSY
             handles[mine].taken++
#endif
           }
        :: else
        fi;
        UNLOCK_BY(i, fronts[i].busy, BUSY(i));
#ifdef BROKEN_TAKEN_AFTER_BUSY
        if
        :: mine != NONE -> handles[mine].taken++
        :: else
        fi
#endif
     :: fronts[i].busy
     fi;
     if
     :: mine == NONE ->
#ifdef BROKEN_FOUND_WITHOUT_SHARD
        if
        :: linked -> d_step { assert(n_ended == 0); self_users++; uses[i] = true }
        :: else
        fi;
#else
        LOCK_BY(i, shard, SHARD);
        if
        :: linked -> d_step { assert(n_ended == 0); self_users++; uses[i] = true }
        :: else
        fi;
        UNLOCK_BY(i, shard, SHARD);
#endif
        if
        :: uses[i] && linked -> /* lk_front_take */
           d_step {
             mine = n_handles;
             n_handles++;
             handles[mine].alive = true;
             handles[mine].count = 1
           };
           LOCK_BY(i, shard, SHARD); /* lk_entry_add_handle */
           if
           :: linked ->
              d_step {
#ifndef BROKEN_MARK_NOT_PASSED_ON
                handles[mine].marked = parked;
#endif
                handles[mine].added = true;
                n_added++
              };
              UNLOCK_BY(i, shard, SHARD)
           :: else ->
              UNLOCK_BY(i, shard, SHARD);
              d_step { handles[mine].alive = false; handles[mine].count = 0; mine = NONE }
           fi;
           if
           :: atomic {
                mine != NONE && !fronts[i].busy ->
                fronts[i].busy = true;
                ACQUIRE(i, BUSY(i))
              };
              if
              :: linked && fronts[i].handle == NONE ->
                 fronts[i].handle = mine;
                 handles[mine].listed = true
              :: else
              fi;
              UNLOCK_BY(i, fronts[i].busy, BUSY(i))
           :: mine == NONE || fronts[i].busy
           fi
        :: else
        fi
     :: else
     fi;
     if
     :: uses[i] ->
        atomic { assert(n_ended == 0); ACCESS(i, i) };
        d_step { uses[i] = false; steady[i] = false };
        if
        :: mine != NONE -> drop_handle(i, mine); mine = NONE
        :: else -> drop_self(i)
        fi
     :: else
     fi
  :: else -> break
  od;
  /* The thread ends, before the entry is unlinked or after. */
  if
  :: true -> flush_front(i); n_looking--
  :: true -> n_looking--; !linked; flush_front(i)
  fi
}

/* lk_entry_users; the shard is locked */
inline count_users() {
  d_step {
    for (at : 0 .. LOOKERS - 1) { steady[at] = uses[at] }
    users = self_users - n_added;
    at = 0
  };
  do
  :: at < n_handles ->
     if
     :: handles[at].added ->
        d_step { users = users + handles[at].count; is_listed = handles[at].listed };
        users = users + (is_listed -> handles[at].taken : 0)
     :: else
     fi;
     at++
  :: else -> break
  od;
  at = 0
}

proctype evictor() {
  byte at, f, swept = NONE;
  short users, count;
  bool is_last, is_marked, seen_mark, is_listed, is_done, found, unlinked;
  do
  :: !unlinked && (!parked || has_given_up) -> /* the hand comes to it */
     LOCK_BY(EVICTOR, shard, SHARD);
     count_users();
     if
     :: users > 0 && !parked && !has_given_up -> /* lk_entry_park */
        mark_a_used_one();
        parked = found
     :: else
     fi;
     UNLOCK_BY(EVICTOR, shard, SHARD);
     if
     :: !found -> /* lk_entry_evict */
        LOCK_BY(EVICTOR, shard, SHARD);
#ifdef BROKEN_NOT_COUNTED_AGAIN
        d_step { for (at : 0 .. LOOKERS - 1) { steady[at] = uses[at] }; at = 0 };
#else
        count_users();
#endif
        if
        :: users == 0 || has_given_up ->
           d_step { for (at : 0 .. LOOKERS - 1) { assert(has_given_up || !steady[at]) } };
           leave_park();
           atomic { linked = false; self_users++; unlinked = true }
        :: else
        fi;
        UNLOCK_BY(EVICTOR, shard, SHARD)
     :: else
     fi;
     found = false
  :: !unlinked && !has_given_up -> has_given_up = true; break
  :: unlinked -> break
  :: !unlinked && n_looking == 0 -> /* quiet: what nobody uses is not parked */
     assert(!parked || self_users > n_added);
     break
  od;
  if
  :: !unlinked ->
     LOCK_BY(EVICTOR, shard, SHARD);
     leave_park();
     atomic { linked = false; self_users++; unlinked = true };
     UNLOCK_BY(EVICTOR, shard, SHARD)
  :: else
  fi;
  d_step { users = 0; found = false; count = 0; is_listed = false };
#ifdef BROKEN_SHARD_WITHOUT_REFERENCE
  drop_self(EVICTOR);
#endif
  /* lk_fronts_leave */
  do
  :: f < LOOKERS ->
     LOCK_BY(EVICTOR, fronts[f].busy, BUSY(f));
     if
     :: fronts[f].handle != NONE -> unlist(f, swept)
     :: else
     fi;
     UNLOCK_BY(EVICTOR, fronts[f].busy, BUSY(f));
     if
     :: swept != NONE -> drop_handle(EVICTOR, swept); swept = NONE
     :: else
     fi;
     f++
  :: else -> break
  od;
  drop_self(EVICTOR)
}

init {
  byte i;
  atomic {
    for (i : 0 .. THREADS - 1) { knows[i] = ALL_READ }
    for (i : 0 .. LOOKERS - 1) { fronts[i].handle = NONE }
    for (i : 0 .. LOOKERS - 1) { run looker(i) }
    run evictor();
    i = 0
  }
  _nr_pr == 1;
  d_step {
    assert(n_ended == 1 && self_users == 0 && !parked);
    for (i : 0 .. HANDLES - 1) { assert(!handles[i].alive && handles[i].count == 0) }
  }
}
