/* Threads: the budget of the process, teams, and loans.
 *
 * The budget of the process: a run asks for threads before it begins (threads_enter) and gives them
 * back when it ends (threads_leave). As soon as one run has several threads, no more threads
 * compute than there are processors, whichever contexts the runs belong to. A run for which there
 * is no room waits, and runs that wait begin in the order of their arrival. Runs of one thread do
 * not wait for each other.
 *
 * Teams: an operator that is split shares its work with other threads, which sleep when there is
 * none. parallel_run does the same for a function of the host's. Such a stretch of shared work is
 * called a region. A thread that begins a region takes a team that is idle, or a new one, and gives
 * it back at the end of the region, or with frame_begin at frame_end.
 *
 * Loans: a host with threads of its own lends them for a run (loan_open, loan_assist, loan_close).
 * They then do the shares that threads of the library would have done, so that host and library do
 * not keep two teams on the same processors. */
#ifndef LATCHKEY_THREADS_H
#define LATCHKEY_THREADS_H

#include <latchkey/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a run asks for. Zero is a good value for every member but struct_size. */
typedef struct lk_threads_ask {
  size_t struct_size;
  int32_t least; /* the fewest threads that the run is content with; 0: one */
  int32_t most;  /* the most; 0: the context's. A run that asks for more than there are processors
                    gets them when no other run is inside */
  const volatile int32_t *cancel; /* ends the wait within 5 ms of becoming non-zero; NULL: none */
  const volatile uint8_t *stop;   /* the same */
  uint64_t deadline_ns;           /* of CLOCK_MONOTONIC: ends the wait; 0: none */
} lk_threads_ask;

/* Asks the host whether to stop: not 0 stops. Called on the thread that computes for the host, once
 * in 40 ms at most; it may run anything but the run that asks. */
typedef int32_t (*lk_should_stop_fn)(void *arg);

/* What ends a run early. Zero is a good value for every member but struct_size. */
typedef struct lk_watch {
  size_t struct_size;
  const volatile int32_t *cancel; /* NULL, or a flag: non-zero stops with LK_CANCELLED */
  const volatile uint8_t *stop;   /* the same */
  uint64_t deadline_ns;           /* of CLOCK_MONOTONIC: then it stops with LK_DEADLINE; 0: none */
  lk_should_stop_fn should_stop;  /* NULL, or asked: LK_CANCELLED */
  void *arg;
} lk_watch;

/* What a thread watches, in memory of the host's, between thread_watch and thread_unwatch. */
typedef struct lk_thread_watch {
  uint64_t opaque[12];
} lk_thread_watch;

/* One share of a region: number `index` of `count`. */
typedef void (*lk_parallel_fn)(void *arg, int32_t index, int32_t count);

/* A loan of the host's threads, in memory of the host's. All bytes are zero before anybody uses it;
 * it must stay valid until loan_close and every loan_assist have returned. */
typedef struct lk_loan {
  uint64_t opaque[2];
} lk_loan;

/* What a number of this machine's threads reach at the most, as measured. */
typedef struct lk_machine_peak {
  size_t struct_size;
  int32_t threads; /* that took part */
  uint32_t reserved;
  double gflops; /* 10^9 multiplications and additions of f32 in a second, in registers */
  double gbytes; /* 10^9 bytes in a second, read from memory behind the caches */
} lk_machine_peak;

/* The budget of the process. */
typedef struct lk_threads_stats {
  size_t struct_size;
  int32_t processors;
  int32_t running; /* threads that are granted now */
  int32_t peak;    /* the most that were granted at the same time */
  int32_t waiting; /* runs that wait now */
  uint64_t waits;  /* runs that have had to wait so far */
} lk_threads_stats;

#ifdef __cplusplus
}
#endif

#endif
