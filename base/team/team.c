/* Regions, the threads that share them, and how these wait.
 *
 * A region is published as one number, `region`: a count that only rises, with the number of
 * threads in its low bits. Each thread number has a place, which notes the last region whose share
 * was taken there. A share is taken by whoever first raises that number to the region: the thread
 * of the place, or one that has finished its own share. So the thread that started the region waits
 * for nobody who has not begun. Yet all shares run at the same time if all threads come: those of
 * a host may wait for each other within a region.
 *
 * What a share reads (`fn`, `arg`) does not change while a share of the region is taken and not
 * finished, and the region does not end before. Explored in tests/promela/team.pml.
 */
#include "base/team/team.h"

#include <assert.h>
#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/stop.h"
#include "base/team/budget.h"
#include "base/team/float_state.h"
#include "base/team/idle.h"
#include "base/team/parker.h"
#include "base/team/processors.h"
#include "base/team/timed_region.h"

enum { REGION_BITS = 16, MAX_THREADS = (1 << REGION_BITS) - 1 };

/* Of one thread number, from 1 on. */
typedef struct place {
  _Alignas(64) _Atomic uint64_t taken; /* the last region whose share was taken */
  struct lk_team *team;
  int rank;
  pthread_t thread;
  lk_parker own, guest;
  atomic_bool has_guest; /* then `own` sleeps */
  _Atomic(struct place *) next;
} place;

/* One thread at a time is its master: the one that has taken it. */
typedef struct lk_team {
  lk_idle idle;
  _Alignas(64) _Atomic uint64_t region;
  void (*fn)(void *);
  void *arg;
  int threads;          /* lk_team_threads() of the master, for threads that ask inside a region */
  struct lk_stop *stop; /* what the master watches, for the same */
  atomic_bool is_idle;  /* it has no master */
  _Alignas(64) atomic_int n_finished; /* shares of this region that others have finished */
  lk_parker master;
  _Alignas(64) atomic_bool ends;
  int size; /* with the master: 1 + places */
  int lent; /* how many of them a loan may use */
  _Atomic(place *) first;
} lk_team;

/* What a thread is at the moment. */
typedef struct member {
  lk_team *own;   /* the team that it is the master of */
  lk_team *of;    /* inside a region of more than one thread: whose */
  int rank, size; /* of the innermost region; size 0 stands for 1: a new thread's zeros are right */
  int threads;    /* 0: not set */
  int n_holds;    /* lk_team_begin without its end: `own` is kept */
  bool is_user;   /* counted in n_users */
  uint64_t n_regions;
  lk_team_times *times; /* of its regions; NULL: nobody measures */
  struct lk_stop *stop; /* NULL: nobody watches */
} member;

/* Asked for in every region. So it lies in the room that the loader keeps for a few bytes of
 * libraries that are opened late: no call is needed to find it. */
static _Thread_local member self __attribute__((tls_model("initial-exec")));
static_assert(sizeof(member) <= 64, "little of what all libraries share");
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int n_cpus = 1;
/* Threads that have been masters and have not ended. The idle teams are destroyed with the last of
 * them: a process ends with its last thread, which must not be one of ours. */
static atomic_int n_users;
static pthread_key_t user_end;
static bool has_user_end;

/* ---- shares ---- */

static int threads_of(uint64_t region) {
  return (int)(region & MAX_THREADS);
}

static bool take(place *p, uint64_t region) {
  uint64_t taken = atomic_load_explicit(&p->taken, memory_order_relaxed);
  return taken < region && atomic_compare_exchange_strong(&p->taken, &taken, region);
}

static void run_share(lk_team *team, int rank, int size) {
  const member before = self;
  self.of = team;
  self.rank = rank;
  self.size = size;
  self.threads = team->threads;
  self.stop = team->stop;
  team->fn(team->arg);
  self.of = before.of;
  self.rank = before.rank;
  self.size = before.size;
  self.threads = before.threads;
  self.stop = before.stop;
}

/* Runs all shares that nobody has taken. Returns how many. */
static int run_left(lk_team *team, uint64_t region) {
  int n = 0;
  const int size = threads_of(region);
  for (place *p = atomic_load(&team->first); p != NULL && p->rank < size;
       p = atomic_load(&p->next)) {
    if (!take(p, region)) continue;
    run_share(team, p->rank, size);
    n++;
  }
  return n;
}

static void finish(lk_team *team, int n_shares) {
  atomic_fetch_add(&team->n_finished, n_shares);
  lk_parker_unpark(&team->master);
}

/* ---- who works in a place ---- */

/* What is inside an lk_team_loan. */
typedef struct loan {
  _Atomic(lk_team *) team;
  atomic_int n_assistants; /* that have come */
  atomic_uint members;     /* that are in the team, its master among them; and CLOSED */
} loan;
static_assert(sizeof(loan) <= sizeof(lk_team_loan), "the host's memory is enough");

#define CLOSED 0x80000000u

static bool is_closed(const loan *of) {
  return (atomic_load(&of->members) & CLOSED) != 0;
}

typedef struct worker {
  place *at;
  const loan *loan; /* NULL: the team's own thread */
  uint64_t seen;    /* the last region that it has looked at */
} worker;

static bool is_over(const worker *w) {
  return w->loan != NULL ? is_closed(w->loan) : atomic_load(&w->at->team->ends);
}

static bool has_news(const void *arg) {
  const worker *w = arg;
  return is_over(w) || atomic_load(&w->at->team->region) != w->seen;
}

/* Whether to sleep, after one more look in vain. A thread of an idle team sleeps sooner, at once
 * when runs want all processors. */
static bool is_tired(const worker *w, int *n_looks) {
  if (w->loan == NULL && atomic_load(&w->at->has_guest)) return true;
  const bool is_idle = atomic_load_explicit(&w->at->team->is_idle, memory_order_relaxed);
  if (!lk_parker_spin(n_looks, !is_idle)) return true;
  return *n_looks % 64 == 0 && is_idle && lk_budget_is_full();
}

/* Returns how many shares it has done. */
static uint64_t work(worker *w) {
  place *at = w->at;
  lk_team *team = at->team;
  uint64_t n_shares = 0;
  int n_looks = 0;
  while (!is_over(w)) {
    const uint64_t region = atomic_load(&team->region);
    if (region != w->seen) {
      w->seen = region;
      n_looks = 0;
      if (at->rank < threads_of(region) && take(at, region)) {
        run_share(team, at->rank, threads_of(region));
        const int n = 1 + run_left(team, region);
        finish(team, n);
        n_shares += (uint64_t)n;
      }
    } else if (is_tired(w, &n_looks)) {
      lk_parker_park_unless(w->loan != NULL ? &at->guest : &at->own, has_news, w);
      n_looks = 0;
    }
  }
  return n_shares;
}

static void *work_in_place(void *arg) {
  worker w = {.at = arg};
  /* Its own name is a system call; another thread's is written to a file in /proc. */
  (void)pthread_setname_np(pthread_self(), "latchkey");
  (void)fesetenv(FE_DFL_ENV); /* not that of the thread which happened to start this one */
  (void)work(&w);
  return NULL;
}

/* ---- teams ---- */

static void place_destroy(place *p) {
  lk_parker_destroy(&p->guest);
  lk_parker_destroy(&p->own);
  free(p);
}

static void team_destroy(lk_team *team) {
  atomic_store(&team->ends, true);
  for (place *p = atomic_load(&team->first); p != NULL; p = atomic_load(&p->next))
    lk_parker_unpark(&p->own);
  for (place *p = atomic_load(&team->first), *next; p != NULL; p = next) {
    next = atomic_load(&p->next);
    pthread_join(p->thread, NULL);
    place_destroy(p);
  }
  lk_parker_destroy(&team->master);
  free(team);
}

static void team_put(lk_team *team) {
  team->idle.threads = team->size - 1;
  atomic_store_explicit(&team->is_idle, true, memory_order_relaxed);
  lk_team *surplus = (lk_team *)lk_idle_put(&team->idle);
  if (surplus != NULL) team_destroy(surplus);
}

/* Runs when a user ends; again, if another end handler has made it a user once more. */
static void end_user(void *unused) {
  (void)unused;
  self.is_user = false;
  if (atomic_fetch_sub(&n_users, 1) > 1) return;
  for (lk_idle *idle = lk_idle_take(); idle != NULL; idle = lk_idle_take()) {
    team_destroy((lk_team *)idle);
  }
}

/* Where the system has no key left, idle teams stay until the process ends. */
static void count_user(void) {
  if (self.is_user || !has_user_end || pthread_setspecific(user_end, &self) != 0) return;
  self.is_user = true;
  atomic_fetch_add(&n_users, 1);
}

/* In a forked child, which has none of its parent's threads: see idle.c. */
static void forget_team(void) {
  self.own = NULL;
  atomic_store(&n_users, self.is_user ? 1 : 0);
}

static void start(void) {
  n_cpus = lk_processors_allowed();
  has_user_end = pthread_key_create(&user_end, end_user) == 0;
  (void)pthread_atfork(NULL, NULL, forget_team);
}

/* Makes this thread the master of a team: an idle one, or a new one. */
static int team_take(void) {
  pthread_once(&once, start);
  count_user();
  lk_team *team = (lk_team *)lk_idle_take();
  if (team != NULL) {
    atomic_store_explicit(&team->is_idle, false, memory_order_relaxed);
    self.own = team;
    return 0;
  }
  team = aligned_alloc(_Alignof(lk_team), sizeof *team);
  if (team == NULL) return ENOMEM;
  *team = (lk_team){.size = 1};
  lk_parker_init(&team->master);
  self.own = team;
  return 0;
}

/* The host's signal handlers must not run on threads that it does not know. */
static int start_thread(place *p) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int failed = pthread_create(&p->thread, NULL, work_in_place, p);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return failed;
}

static int add_place(lk_team *team) {
  place *p = aligned_alloc(_Alignof(place), sizeof *p);
  if (p == NULL) return ENOMEM;
  *p = (place){.team = team, .rank = team->size};
  lk_parker_init(&p->own);
  lk_parker_init(&p->guest);
  const int failed = start_thread(p);
  if (failed != 0) {
    place_destroy(p);
    return failed;
  }
  _Atomic(place *) *link = &team->first;
  while (atomic_load(link) != NULL) link = &atomic_load(link)->next;
  atomic_store(link, p);
  team->size++;
  return 0;
}

/* Makes this thread the master of a team of `threads`. Inside a region it needs no team. */
static int reserve(int threads) {
  if (threads <= 1 || self.of != NULL) return 0;
  int failed = threads > MAX_THREADS ? EAGAIN : 0;
  if (self.own == NULL && failed == 0) failed = team_take();
  while (failed == 0 && self.own->size < threads) failed = add_place(self.own);
  return failed;
}

/* Puts the team back, unless this thread still needs it: for the rest of a run, or of the region
 * that it is in. */
static void release(void) {
  if (self.own == NULL || self.n_holds > 0 || self.of != NULL) return;
  lk_team *team = self.own;
  self.own = NULL;
  team_put(team);
}

int lk_team_threads(void) {
  if (self.threads > 0) return self.threads;
  pthread_once(&once, start);
  return n_cpus;
}

void lk_team_set_threads(int threads) {
  self.threads = threads;
}

int lk_team_begin(int threads) {
  const int before = lk_team_threads();
  self.n_holds++;
  self.threads = threads;
  return before;
}

void lk_team_end(int before) {
  self.threads = before;
  self.n_holds--;
  release();
}

int lk_team_rank(void) {
  return self.rank;
}

int lk_team_size(void) {
  return self.size > 0 ? self.size : 1;
}

uint64_t lk_team_regions(void) {
  return self.n_regions;
}

struct lk_stop *lk_team_watch(struct lk_stop *stop) {
  struct lk_stop *before = self.stop;
  self.stop = stop;
  return before;
}

bool lk_team_is_watched(void) {
  return self.stop != NULL;
}

bool lk_team_is_stopped(void) {
  struct lk_stop *stop = self.stop;
  if (__builtin_expect(stop == NULL, 1)) return false;
  self.stop = NULL; /* the host may be asked, and run something else here, which is not watched */
  const bool is_stopped = lk_stop_look(stop) != 0;
  self.stop = stop;
  return is_stopped;
}

int lk_team_why_stopped(void) {
  return self.stop != NULL ? __atomic_load_n(&self.stop->reached, __ATOMIC_RELAXED) : 0;
}

/* ---- regions ---- */

static void run_alone(void (*fn)(void *), void *arg) {
  const member before = self;
  self.rank = 0;
  self.size = 1;
  fn(arg);
  self.rank = before.rank;
  self.size = before.size;
}

typedef struct shares {
  lk_team *team;
  int n; /* that others have taken */
} shares;

static bool are_finished(const void *arg) {
  const shares *left = arg;
  return atomic_load(&left->team->n_finished) == left->n;
}

static void run_shared(lk_team *team, void (*fn)(void *), void *arg, int threads) {
  const uint64_t count =
      (atomic_load_explicit(&team->region, memory_order_relaxed) >> REGION_BITS) + 1;
  const uint64_t region = count << REGION_BITS | (uint64_t)threads;
  self.n_regions++;
  team->fn = fn;
  team->arg = arg;
  team->threads = lk_team_threads();
  team->stop = self.stop;
  atomic_store_explicit(&team->n_finished, 0, memory_order_relaxed);
  atomic_store(&team->region, region);
  for (place *p = atomic_load(&team->first); p != NULL && p->rank < threads;
       p = atomic_load(&p->next)) {
    lk_parker_unpark(atomic_load(&p->has_guest) ? &p->guest : &p->own);
  }
  run_share(team, 0, threads);
  const shares left = {team, threads - 1 - run_left(team, region)};
  for (int n_looks = 0; !are_finished(&left);) {
    if (!lk_parker_spin(&n_looks, false)) lk_parker_park_unless(&team->master, are_finished, &left);
  }
}

static void run_region(void (*fn)(void *), void *arg, int threads) {
  if (threads <= 0) threads = lk_team_threads();
  if (threads == 1 || self.of != NULL || reserve(threads) != 0) {
    run_alone(fn, arg);
  } else {
    run_shared(self.own, fn, arg, threads);
  }
  release();
}

static void run_timed(void (*fn)(void *), void *arg, int threads) {
  lk_team_times *times = self.times;
  lk_timed_region timed = {fn, arg, &times->share_ns};
  self.times = NULL; /* regions inside of this one are part of it */
  const uint64_t begin = lk_now_ns();
  run_region(lk_timed_share, &timed, threads);
  times->region_ns += lk_now_ns() - begin;
  self.times = times;
}

void lk_team_run(void (*fn)(void *), void *arg, int threads) {
  if (__builtin_expect(self.times != NULL, 0)) {
    run_timed(fn, arg, threads);
  } else {
    run_region(fn, arg, threads);
  }
}

lk_team_times *lk_team_measure(lk_team_times *times) {
  lk_team_times *before = self.times;
  self.times = times;
  return before;
}

/* ---- loans ---- */

/* The last one that leaves puts the team back. Until then nobody else is its master, and it is not
 * destroyed. */
static void leave(loan *of, lk_team *team) {
  if (atomic_fetch_sub(&of->members, 1) == (CLOSED | 1)) team_put(team);
}

void lk_team_loan_open(lk_team_loan *memory, int threads) {
  loan *to = (loan *)memory;
  if (threads > 1 && self.own == NULL && self.of == NULL) {
    self.n_holds++;
    if (reserve(threads) == 0) {
      self.own->lent = threads;
      atomic_store(&to->members, 1);
      atomic_store(&to->team, self.own);
      return;
    }
    self.n_holds--;
    release();
  }
  atomic_store(&to->members, CLOSED); /* assistants have nothing to wait for */
}

void lk_team_loan_close(lk_team_loan *memory) {
  loan *to = (loan *)memory;
  lk_team *team = atomic_load(&to->team);
  atomic_fetch_or(&to->members, CLOSED);
  if (team == NULL) return;
  for (place *p = atomic_load(&team->first); p != NULL; p = atomic_load(&p->next))
    lk_parker_unpark(&p->guest);
  self.own = NULL;
  self.n_holds--;
  leave(to, team);
}

/* False: the loan is closed. */
static bool enter(loan *to) {
  unsigned members = atomic_load(&to->members);
  do {
    if ((members & CLOSED) != 0) return false;
  } while (!atomic_compare_exchange_weak(&to->members, &members, members + 1));
  return true;
}

uint64_t lk_team_assist(lk_team_loan *memory) {
  loan *to = (loan *)memory;
  lk_team *team = NULL;
  uint64_t n_shares = 0;
  for (int n_looks = 0; (team = atomic_load(&to->team)) == NULL;) {
    if (is_closed(to)) return 0;
    if (!lk_parker_spin(&n_looks, false)) n_looks = LK_PARKER_PAUSES;
  }
  if (!enter(to)) return 0;
  const int rank = 1 + atomic_fetch_add(&to->n_assistants, 1);
  if (rank < team->lent) {
    place *at = atomic_load(&team->first);
    while (at->rank != rank) at = atomic_load(&at->next);
    const lk_float_state before = lk_float_begin();
    worker w = {.at = at, .loan = to};
    atomic_store(&at->has_guest, true);
    n_shares = work(&w);
    atomic_store(&at->has_guest, false);
    lk_float_end(before);
  }
  leave(to, team);
  return n_shares;
}
