/* Regions, the threads that share them, and how these wait.
 *
 * A region is published as one number, `region`: a count that only rises, with the number of threads in
 * its low bits. Each thread number has a place, and the last region whose share was taken there.
 * A share is taken by whoever raises that to the region first: the thread that sits in the place, or
 * one that is done with its own share before. So the one who started the region waits for nobody who
 * has not begun, and yet all shares run at the same time if those who should come do: some of oneDNN's
 * kernels wait for each other within a region.
 *
 * What a share reads (`fn`, `arg`) does not change while a share of the region is taken and not
 * finished, and the region does not end before.
 */
#include "plugin/team/team.h"

#include <assert.h>
#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

/* How long a thread looks before it sleeps: about 50 us, then as many turns given to others. What is
 * between two regions of a run is mostly shorter, and waking a thread costs both sides about as much. */
enum { PAUSES = 1500, YIELDS = 100 };

enum { REGION_BITS = 16, MAX_THREADS = (1 << REGION_BITS) - 1 };

/* Where a thread waits. */
typedef struct seat {
  pthread_mutex_t mutex;
  pthread_cond_t cond;
  atomic_bool asleep; /* written with the mutex */
} seat;

/* Of one thread number from 1 on. */
typedef struct place {
  _Alignas(64) _Atomic uint64_t taken; /* the last region whose share was taken */
  struct lk_team *team;
  int rank;
  pthread_t thread;
  seat own, guest;
  atomic_bool has_guest; /* then `own` sleeps */
  _Atomic(struct place *) next;
} place;

typedef struct lk_team {
  _Alignas(64) _Atomic uint64_t region;
  void (*fn)(void *);
  void *arg;
  int threads; /* lk_team_threads() of the owner, for who asks inside a region */
  _Alignas(64) atomic_int n_finished; /* shares of this region that others have finished */
  seat owner;
  _Alignas(64) atomic_int n_arrived; /* at the barrier */
  atomic_uint n_barriers;
  atomic_bool ends;
  int size; /* with the owner: 1 + places */
  _Atomic(place *) first;
} lk_team;

/* What a thread is at the moment. */
typedef struct member {
  lk_team *own;   /* the team that it owns, once it has one */
  lk_team *of;    /* inside a region of more than one thread: whose */
  int rank, size; /* of the innermost region; size 0 stands for 1: a new thread's zeros are right */
  int threads;    /* 0: not set */
  uint64_t n_regions;
} member;

/* oneDNN asks for it several times for every primitive. So it lies in the room that the loader keeps for a
 * few bytes of libraries that are opened late, as libgomp's does, and needs no call to be found. */
static _Thread_local member self __attribute__((tls_model("initial-exec")));
static_assert(sizeof(member) <= 64, "little of what all libraries share");
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t owners; /* its destructor ends the team of a thread that ends */
static bool has_owners;
static int n_cpus = 1;

/* ---- waiting ----------------------------------------------------------------------------------- */

static int seat_init(seat *at) {
  int failed = pthread_mutex_init(&at->mutex, NULL);
  if (failed != 0) return failed;
  failed = pthread_cond_init(&at->cond, NULL);
  if (failed != 0) pthread_mutex_destroy(&at->mutex);
  return failed;
}

static void seat_destroy(seat *at) {
  pthread_cond_destroy(&at->cond);
  pthread_mutex_destroy(&at->mutex);
}

static void wake(seat *at) {
  if (!atomic_load(&at->asleep)) return;
  pthread_mutex_lock(&at->mutex);
  atomic_store(&at->asleep, false);
  pthread_cond_signal(&at->cond);
  pthread_mutex_unlock(&at->mutex);
}

/* Sleeps until wake(), unless what is waited for is there already: `ready` is asked after the seat says
 * that somebody sleeps there, and who makes it true wakes after that. So one of both sees the other. */
static void sleep_unless(seat *at, bool (*ready)(const void *arg), const void *arg) {
  pthread_mutex_lock(&at->mutex);
  atomic_store(&at->asleep, true);
  if (ready(arg)) atomic_store(&at->asleep, false);
  while (atomic_load(&at->asleep)) pthread_cond_wait(&at->cond, &at->mutex);
  pthread_mutex_unlock(&at->mutex);
}

/* One more look in vain. False when it is time to sleep. */
static bool look_again(int *n_looks) {
  if (*n_looks >= PAUSES + YIELDS) return false;
  if ((*n_looks)++ < PAUSES) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  } else {
    sched_yield();
  }
  return true;
}

/* ---- shares ------------------------------------------------------------------------------------ */

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
  team->fn(team->arg);
  self.of = before.of;
  self.rank = before.rank;
  self.size = before.size;
  self.threads = before.threads;
}

/* Runs all shares that nobody has taken; how many. */
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
  wake(&team->owner);
}

/* ---- who works in a place ---------------------------------------------------------------------- */

/* What lk_team_loan is inside. */
typedef struct loan {
  _Atomic(lk_team *) team;
  atomic_int n_assistants;
  atomic_bool closed;
} loan;
static_assert(sizeof(loan) <= sizeof(lk_team_loan), "the host's memory is enough");

typedef struct worker {
  place *at;
  const loan *loan; /* NULL: the team's own thread */
  uint64_t seen;    /* the last region that it has looked at */
} worker;

static bool is_over(const worker *w) {
  return w->loan != NULL ? atomic_load(&w->loan->closed) : atomic_load(&w->at->team->ends);
}

static bool has_news(const void *arg) {
  const worker *w = arg;
  return is_over(w) || atomic_load(&w->at->team->region) != w->seen;
}

/* How many shares it has done. */
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
    } else if ((w->loan == NULL && atomic_load(&at->has_guest)) || !look_again(&n_looks)) {
      sleep_unless(w->loan != NULL ? &at->guest : &at->own, has_news, w);
      n_looks = 0;
    }
  }
  return n_shares;
}

static void *work_in_place(void *arg) {
  worker w = {.at = arg};
  (void)fesetenv(FE_DFL_ENV); /* not that of the thread which happened to start this one */
  (void)work(&w);
  return NULL;
}

/* ---- teams ------------------------------------------------------------------------------------- */

static void place_destroy(place *p) {
  seat_destroy(&p->guest);
  seat_destroy(&p->own);
  free(p);
}

static void team_end(void *arg) {
  lk_team *team = arg;
  atomic_store(&team->ends, true);
  for (place *p = atomic_load(&team->first); p != NULL; p = atomic_load(&p->next)) wake(&p->own);
  for (place *p = atomic_load(&team->first), *next; p != NULL; p = next) {
    next = atomic_load(&p->next);
    pthread_join(p->thread, NULL);
    place_destroy(p);
  }
  seat_destroy(&team->owner);
  free(team);
  self.own = NULL;
}

/* The child has none of its parent's threads, and their locks may be held for good: what is left of
 * the team is left alone. */
static void forget_team(void) {
  self.own = NULL;
  if (has_owners) (void)pthread_setspecific(owners, NULL);
}

static void start(void) {
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof cpus, &cpus) == 0) n_cpus = CPU_COUNT(&cpus);
  has_owners =
      pthread_key_create(&owners, team_end) == 0 && pthread_atfork(NULL, NULL, forget_team) == 0;
}

static int team_start(void) {
  lk_team *team = NULL;
  pthread_once(&once, start);
  if (!has_owners) return EAGAIN;
  team = aligned_alloc(_Alignof(lk_team), sizeof *team);
  if (team == NULL) return ENOMEM;
  *team = (lk_team){.size = 1};
  int failed = seat_init(&team->owner);
  if (failed == 0) {
    failed = pthread_setspecific(owners, team);
    if (failed != 0) seat_destroy(&team->owner);
  }
  if (failed != 0) {
    free(team);
    return failed;
  }
  self.own = team;
  return 0;
}

/* The host's handlers of signals are not for threads that it does not know. */
static int start_thread(place *p) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int failed = pthread_create(&p->thread, NULL, work_in_place, p);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (failed == 0) (void)pthread_setname_np(p->thread, "latchkey");
  return failed;
}

static int add_place(lk_team *team) {
  place *p = aligned_alloc(_Alignof(place), sizeof *p);
  if (p == NULL) return ENOMEM;
  *p = (place){.team = team, .rank = team->size};
  int failed = seat_init(&p->own);
  if (failed != 0) {
    free(p);
    return failed;
  }
  failed = seat_init(&p->guest);
  if (failed != 0) {
    seat_destroy(&p->own);
    free(p);
    return failed;
  }
  failed = start_thread(p);
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

int lk_team_reserve(int threads) {
  int failed = threads > MAX_THREADS ? EAGAIN : 0;
  if (self.own == NULL && threads > 1 && failed == 0) failed = team_start();
  while (failed == 0 && threads > 1 && self.own->size < threads) failed = add_place(self.own);
  return failed;
}

int lk_team_threads(void) {
  if (self.threads > 0) return self.threads;
  pthread_once(&once, start);
  return n_cpus;
}

void lk_team_set_threads(int threads) {
  self.threads = threads;
}

int lk_team_use(int threads, int *out_before) {
  *out_before = lk_team_threads();
  const int failed = lk_team_reserve(threads);
  if (failed == 0) self.threads = threads;
  return failed;
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

/* ---- regions ----------------------------------------------------------------------------------- */

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

void lk_team_run(void (*fn)(void *), void *arg, int threads) {
  if (threads <= 0) threads = lk_team_threads();
  if (threads == 1 || self.of != NULL || lk_team_reserve(threads) != 0) {
    run_alone(fn, arg);
    return;
  }
  lk_team *team = self.own;
  const uint64_t count =
      (atomic_load_explicit(&team->region, memory_order_relaxed) >> REGION_BITS) + 1;
  const uint64_t region = count << REGION_BITS | (uint64_t)threads;
  self.n_regions++;
  team->fn = fn;
  team->arg = arg;
  team->threads = lk_team_threads();
  atomic_store_explicit(&team->n_finished, 0, memory_order_relaxed);
  atomic_store_explicit(&team->n_arrived, 0, memory_order_relaxed);
  atomic_store(&team->region, region);
  for (place *p = atomic_load(&team->first); p != NULL && p->rank < threads;
       p = atomic_load(&p->next)) {
    wake(atomic_load(&p->has_guest) ? &p->guest : &p->own);
  }
  run_share(team, 0, threads);
  const shares left = {team, threads - 1 - run_left(team, region)};
  for (int n_looks = 0; !are_finished(&left);) {
    if (!look_again(&n_looks)) sleep_unless(&team->owner, are_finished, &left);
  }
}

void lk_team_barrier(void) {
  lk_team *team = self.of;
  if (lk_team_size() == 1) return;
  const unsigned n_barriers = atomic_load(&team->n_barriers);
  if (atomic_fetch_add(&team->n_arrived, 1) + 1 == self.size) {
    atomic_store(&team->n_arrived, 0);
    atomic_fetch_add(&team->n_barriers, 1);
    return;
  }
  /* the others run already, or are about to */
  for (int n_looks = 0; atomic_load(&team->n_barriers) == n_barriers;) {
    if (!look_again(&n_looks)) n_looks = PAUSES;
  }
}

/* ---- loans ------------------------------------------------------------------------------------- */

void lk_team_loan_open(lk_team_loan *memory, int threads) {
  loan *to = (loan *)memory;
  if (threads > 1 && lk_team_reserve(threads) == 0) atomic_store(&to->team, self.own);
}

void lk_team_loan_close(lk_team_loan *memory) {
  loan *to = (loan *)memory;
  const lk_team *team = atomic_load(&to->team);
  atomic_store(&to->closed, true);
  if (team == NULL) return;
  for (place *p = atomic_load(&team->first); p != NULL; p = atomic_load(&p->next)) wake(&p->guest);
}

uint64_t lk_team_assist(lk_team_loan *memory) {
  loan *to = (loan *)memory;
  lk_team *team = NULL;
  for (int n_looks = 0; (team = atomic_load(&to->team)) == NULL;) {
    if (atomic_load(&to->closed)) return 0;
    if (!look_again(&n_looks)) n_looks = PAUSES;
  }
  const int rank = 1 + atomic_fetch_add(&to->n_assistants, 1);
  place *at = atomic_load(&team->first);
  while (at != NULL && at->rank != rank) at = atomic_load(&at->next);
  if (at == NULL) return 0;
  worker w = {.at = at, .loan = to};
  atomic_store(&at->has_guest, true);
  const uint64_t n_shares = work(&w);
  atomic_store(&at->has_guest, false);
  return n_shares;
}
