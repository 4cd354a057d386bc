/* The ends of threads and of a cache at the same time: who frees a thread's table.
 * Explored with: -DTHREADS=2 | -DTHREADS=3
 *
 * Models:
 *   keys/cache/thread_table.c  thread_end, table_destroy, leave_cache, leave_thread,
 *                              lk_registry_remove
 *   keys/cache/evict.c         lk_drop_all
 * The latter is the walk through the tables that lk_cache_destroy begins with.
 * Each thread but the last has a table in the cache, and ends at some time, before, while or after
 * the last one destroys the cache. As the cache's contract says, no thread is in a call with it by
 * then.
 *
 * Shown: each table is freed once; neither the cache nor a table nor a thread's own list is touched
 * when it is gone; a thread's end and the cache's are never held up for ever.
 *
 * Left out: what is in the tables (front.pml), tables in other caches, which are other elements of
 * the thread's list.
 *
 * Memory order: no atomics. The thread's list and `ending` are guarded by the registry, the cache's
 * list by `tables`; lk_registry_remove reads the latter's first element under the registry alone:
 * by then those who change it are counted in `ending` and awaited, or have still to take the
 * registry, and find nothing in their list. */
#include "sync.inc"
#define OWNERS (THREADS - 1)

bool registry, tables;
cond ended;
byte ending;
bool cache_alive = true;
bool thread_alive[OWNERS];
bool of_thread[OWNERS]; /* the table is in its thread's list; in the thread's memory */
bool of_cache[OWNERS];  /* and in the cache's */
bool table_alive[OWNERS];

inline table_destroy(i) {
  assert(cache_alive && table_alive[i] && !of_thread[i]);
  LOCK(tables);
  assert(cache_alive);
  of_cache[i] = false;
  UNLOCK(tables);
  /* emptied: its handles' references go, and values end, which uses the cache */
  assert(cache_alive);
  d_step {
    assert(table_alive[i]);
    table_alive[i] = false
  }
}

proctype owner(byte i) {
  bool has_table;
  do
  :: LOCK(registry);
     has_table = of_thread[i];
     if
     :: has_table ->
        of_thread[i] = false;
#if !defined(BROKEN_ENDING_COUNTED_LATE) && !defined(BROKEN_NOT_COUNTED)
        ending++
#endif
     :: else
     fi;
     UNLOCK(registry);
     if
     :: has_table ->
#ifdef BROKEN_ENDING_COUNTED_LATE
        LOCK(registry);
        ending++;
        UNLOCK(registry);
#endif
#ifndef BROKEN_DONE_BEFORE_FREED
        table_destroy(i);
#endif
        LOCK(registry);
        d_step {
          assert(cache_alive);
#ifndef BROKEN_NOT_COUNTED
          ending--
#endif
        };
#ifndef BROKEN_ENDED_NOT_TOLD
        BROADCAST(ended);
#endif
        UNLOCK(registry);
#ifdef BROKEN_DONE_BEFORE_FREED
        table_destroy(i)
#endif
     :: else -> break
     fi
  od;
  thread_alive[i] = false
}

/* lk_cache_destroy */
active proctype destroyer() {
  byte i;
  atomic {
    for (i : 0 .. OWNERS - 1) {
      thread_alive[i] = true;
      of_thread[i] = true;
      of_cache[i] = true;
      table_alive[i] = true
    }
    for (i : 0 .. OWNERS - 1) { run owner(i) }
    i = 0
  }
  /* lk_drop_all: looks into all tables */
  LOCK(tables);
  do
  :: i < OWNERS ->
     if
     :: of_cache[i] -> assert(table_alive[i])
     :: else
     fi;
     i++
  :: else -> i = 0; break
  od;
  UNLOCK(tables);
  /* lk_registry_remove */
  LOCK(registry);
#ifndef BROKEN_NOT_AWAITED
  do
  :: ending > 0 -> WAIT(ended, registry)
  :: else -> break
  od;
#endif
  do
  :: i < OWNERS ->
     if
     :: of_cache[i] ->
        d_step {
          assert(thread_alive[i]); /* its list is in its memory */
#ifndef BROKEN_LEFT_TO_THE_THREAD
          of_thread[i] = false
#endif
        }
     :: else
     fi;
     i++
  :: else -> i = 0; break
  od;
  UNLOCK(registry);
  do
  :: i < OWNERS ->
     if
     :: of_cache[i] -> table_destroy(i)
     :: else
     fi;
     i++
  :: else -> i = 0; break
  od;
  cache_alive = false;
  _nr_pr == 1;
  d_step {
    for (i : 0 .. OWNERS - 1) { assert(!thread_alive[i] && !table_alive[i]) }
  }
}
