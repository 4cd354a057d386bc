/* References to an entry: who ends it, and how eviction counts who uses it.
 * Explored with: -DTHREADS=2 -DLOOKS=2 | -DTHREADS=3 -DLOOKS=1
 *
 * Models:
 *   keys/cache/entry.c  lk_entry_users, lk_entry_add_handle, remove_handle, lk_ref_release,
 *                       entry_destroy
 *   keys/cache/shared_mode.c  find_entry
 *   keys/cache/front.c  lk_front_take, flush_front
 *   keys/cache/walk.c   lk_entry_evict, in a round of unused entries and in one of used ones
 *
 * Shown: the entry is ended once, when nobody has a reference, and all that any thread has read in
 * its value happens before that (see sync.inc). A round of unused entries never unlinks one that a
 * caller has had a reference to ever since the count began. References end at 0.
 *
 * Left out: that a flushed front may be filled again by an old handle (front.pml), hits and ticks.
 *
 * Memory order, of the numbers that lk_entry_users reads while others change them; it holds the
 * shard:
 *   handle.refs, then handle.listed   The count must not come out below what callers have. Off a
 *            list: `listed` is cleared before the front's reference is released, and the release
 *            (acq_rel) makes that visible to the acquire that sees it; so seen half done, it is one
 *            too many. Onto one: there is no such order of two numbers, so it is done before the
 *            handle is among those that are counted, and the shard's mutex carries it; until then
 *            the handle's reference to the entry counts for a caller's.
 *   handle.refs of a handle whose end waits for the shard: 0, so that it counts -1 with its own
 *            reference, 0 together.
 *   self.refs   grows without the shard by lk_ref_retain only, by who is counted already.
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
  byte refs;
  bool alive, listed, added
}
typedef front_type {
  bool busy;
  byte handle
}
handle_type handles[HANDLES];
front_type fronts[LOOKERS];
bool shard, in_shard = true, linked = true;
byte self_refs = 1; /* the shard's */
byte n_ended, n_handles;
bool uses[LOOKERS];   /* has a reference */
bool steady[LOOKERS]; /* and has had one since the evictor began to count */

/* lk_ref_release of the entry's own; `what` else goes in the same step */
inline drop_self(p) {
  atomic {
    assert(self_refs > 0 && n_ended == 0);
    self_refs--;
#ifndef BROKEN_RELAXED_RELEASE
    ACQUIRE(p, SELF);
    RELEASE(p, SELF);
#endif
    if
    :: self_refs == 0 -> /* entry_destroy */
       KNOWS(p, ALL_READ);
       assert(!linked);
       n_ended++
    :: else
    fi
  }
}

inline drop_handle(p, h) {
  atomic {
    assert(handles[h].alive && handles[h].refs > 0);
    handles[h].refs--;
#ifndef BROKEN_RELAXED_RELEASE
    ACQUIRE(p, HANDLE(h));
    RELEASE(p, HANDLE(h));
#endif
    is_last = handles[h].refs == 0
  }
  if
  :: is_last -> /* remove_handle */
     LOCK_BY(p, shard, SHARD);
     d_step { handles[h].added = false; is_last = false };
     UNLOCK_BY(p, shard, SHARD);
     handles[h].alive = false;
     drop_self(p)
  :: else
  fi
}

/* lk_thread_table_remove, of a front that the caller holds, and then the reference */
inline unlist(p, f, h) {
  d_step { h = fronts[f].handle; fronts[f].handle = NONE };
#ifndef BROKEN_RELEASED_BEFORE_UNLISTED
  handles[h].listed = false;
#endif
}
inline drop_unlisted(p, h) {
  drop_handle(p, h);
#ifdef BROKEN_RELEASED_BEFORE_UNLISTED
  handles[h].listed = false;
#endif
}

inline add_handle(p, h) {
  LOCK_BY(p, shard, SHARD);
  handles[h].added = true;
  UNLOCK_BY(p, shard, SHARD)
}

inline flush_front(i) {
  LOCK_BY(i, fronts[i].busy, BUSY(i));
  if
  :: fronts[i].handle != NONE -> unlist(i, i, flushed)
  :: else
  fi;
  UNLOCK_BY(i, fronts[i].busy, BUSY(i));
  if
  :: flushed != NONE -> drop_unlisted(i, flushed); flushed = NONE
  :: else
  fi
}

proctype looker(byte i) {
  byte n, at, mine = NONE, flushed = NONE;
  bool is_last;
  do
  :: n < LOOKS ->
     n++;
     if
     :: n > 1 -> flush_front(i) /* another key's handle was one too many */
     :: true
     fi;
     /* look; a sweep that is there now sends us to the shard */
     if
     :: atomic { !fronts[i].busy -> fronts[i].busy = true; ACQUIRE(i, BUSY(i)) };
        if
        :: fronts[i].handle != NONE ->
           d_step { mine = fronts[i].handle; handles[mine].refs++; uses[i] = true }
        :: else
        fi;
        UNLOCK_BY(i, fronts[i].busy, BUSY(i))
     :: fronts[i].busy
     fi;
     if
     :: mine == NONE ->
#ifdef BROKEN_FOUND_WITHOUT_SHARD
        if
        :: in_shard -> d_step { assert(n_ended == 0); self_refs++; uses[i] = true }
        :: else
        fi;
#else
        LOCK_BY(i, shard, SHARD);
        if
        :: in_shard -> d_step { assert(n_ended == 0); self_refs++; uses[i] = true }
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
             handles[mine].refs = 1
           };
#ifdef BROKEN_COUNTED_BEFORE_LISTED
           add_handle(i, mine);
#endif
           if
           :: atomic { !fronts[i].busy -> fronts[i].busy = true; ACQUIRE(i, BUSY(i)) };
              if
              :: linked && fronts[i].handle == NONE ->
                 fronts[i].handle = mine;
                 handles[mine].refs++;
                 handles[mine].listed = true
              :: else
              fi;
              UNLOCK_BY(i, fronts[i].busy, BUSY(i))
           :: fronts[i].busy
           fi;
#ifndef BROKEN_COUNTED_BEFORE_LISTED
           add_handle(i, mine)
#endif
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
  flush_front(i)
}

/* lk_entry_users; the shard is locked */
inline count_users() {
  d_step {
    for (at : 0 .. LOOKERS - 1) { steady[at] = uses[at] }
    users = self_refs - linked;
    h = 0
  };
  do
  :: h < HANDLES ->
     if
     :: handles[h].added ->
#ifdef BROKEN_LISTED_READ_FIRST
        users = users - handles[h].listed - 1;
        users = users + handles[h].refs
#else
        users = users + handles[h].refs;
        users = users - handles[h].listed - 1
#endif
     :: else
     fi;
     h++
  :: else -> break
  od;
  h = 0
}

proctype evictor() {
  byte at, h, f, swept = NONE;
  short users;
  bool is_last, used, unlinked;
  do
  :: !unlinked ->
#ifdef BROKEN_NOT_COUNTED_AGAIN
     LOCK_BY(EVICTOR, shard, SHARD);
     count_users();
     UNLOCK_BY(EVICTOR, shard, SHARD);
     LOCK_BY(EVICTOR, shard, SHARD);
     d_step { for (at : 0 .. LOOKERS - 1) { steady[at] = uses[at] } };
#else
     LOCK_BY(EVICTOR, shard, SHARD);
     count_users();
#endif
     if
     :: users <= 0 || used -> /* unlink_from_shard */
        d_step {
          for (at : 0 .. LOOKERS - 1) { assert(used || !steady[at]) }
          in_shard = false;
          linked = false;
          unlinked = true;
          at = 0
        }
     :: else -> used = true /* one try more */
     fi;
     UNLOCK_BY(EVICTOR, shard, SHARD)
  :: else -> d_step { users = 0; used = false }; break
  od;
#ifdef BROKEN_SHARD_WITHOUT_REFERENCE
  drop_self(EVICTOR);
#endif
  /* lk_fronts_sweep */
  do
  :: f < LOOKERS ->
     LOCK_BY(EVICTOR, fronts[f].busy, BUSY(f));
     if
     :: fronts[f].handle != NONE -> unlist(EVICTOR, f, swept)
     :: else
     fi;
     UNLOCK_BY(EVICTOR, fronts[f].busy, BUSY(f));
     if
     :: swept != NONE -> drop_unlisted(EVICTOR, swept); swept = NONE
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
    assert(n_ended == 1 && self_refs == 0);
    for (i : 0 .. HANDLES - 1) { assert(!handles[i].alive && handles[i].refs == 0) }
  }
}
