/* One word holds what is granted. A run that is alone, or that fits, enters and leaves by one
 * exchange of it each. A run that does not fit sets the word's mark that somebody waits. As long as
 * it is set, whoever comes and goes changes the word with the mutex only, so nobody can overtake
 * those that wait. Explored in tests/promela/budget.pml. */
#include "base/team/budget.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/team/processors.h"
#include "base/wait_limit.h"

/* So many runs in a row must meet nobody before the crowd is over. */
enum { RUNS_UNTIL_ALONE = 32 };

/* How often a thread yields before it sleeps: where runs take microseconds, its turn comes sooner
 * than it could be woken. */
enum { YIELDS = 30 };

/* What the word holds. */
typedef struct budget {
  uint32_t running; /* threads */
  uint32_t inside;  /* runs */
  uint32_t crowd;   /* runs left until the crowd is over */
  bool has_queue;
} budget;

enum { COUNT_BITS = 24, CROWD_BITS = 8, MAX_COUNT = (1 << COUNT_BITS) - 1 };

typedef struct waiter {
  struct waiter *next;
  const lk_budget_ask *ask;
  pthread_cond_t cond;
  atomic_int granted;
} waiter;

static _Atomic uint64_t word;
static atomic_int n_processors; /* 0: not yet known */
static atomic_int peak;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static waiter *first, **last = &first;
static int n_waiting;
static uint64_t n_waits;
static lk_budget_choice chosen_by; /* who has said how many processors */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* What this thread has taken. Its memory is found without a call, see team.c. */
typedef struct taken {
  int depth;
  int granted; /* the first */
} taken;
static _Thread_local taken self __attribute__((tls_model("initial-exec")));
static _Thread_local waiter me; /* a thread waits in one place */

static budget unpack(uint64_t bits) {
  return (budget){.running = bits & MAX_COUNT,
                  .inside = bits >> COUNT_BITS & MAX_COUNT,
                  .crowd = bits >> 2 * COUNT_BITS & ((1 << CROWD_BITS) - 1),
                  .has_queue = bits >> 63 != 0};
}

static uint64_t pack(budget b) {
  const uint64_t above = (b.has_queue ? UINT64_C(1) << 15 : 0) | b.crowd;
  return (above << COUNT_BITS | b.inside) << COUNT_BITS | b.running;
}

/* ---- who gets what ---- */

/* Whether all could have `most`, if each of the `others` wanted as many. */
static bool is_crowded(const lk_budget_ask *ask, const budget *now, int others, int processors) {
  if (others == 0) return false;
  return (int64_t)(others + 1) * ask->most > processors ||
         (int64_t)now->running + ask->most > processors;
}

static int share_of(const lk_budget_ask *ask, const budget *now, int others, int processors) {
  const int share = processors / (others > 0 ? others + 1 : 2);
  const int room = processors - (int)now->running;
  const int threads = share < room ? share : room;
  return threads < ask->least ? ask->least : threads > ask->most ? ask->most : threads;
}

/* How many threads `ask` gets while `others` are inside or wait; 0: there is no room. Counts them
 * in `now`, where the crowd changes even if there is no room. */
static int try_to_grant(const lk_budget_ask *ask, budget *now, int others) {
  const int processors = atomic_load_explicit(&n_processors, memory_order_relaxed);
  const bool has_choice = ask->least < ask->most;
  int threads = ask->most;
  if (is_crowded(ask, now, others, processors)) {
    now->crowd = RUNS_UNTIL_ALONE;
  } else if (has_choice && now->crowd > 0) {
    now->crowd--;
    others = others > 0 ? others : 1;
  } else {
    others = 0;
  }
  if (has_choice && others > 0) threads = share_of(ask, now, others, processors);
  /* A run that is alone may have more threads than there are processors. A run of one thread may
   * begin while the others have one thread each. */
  const bool has_workers = threads > 1 || now->running > now->inside;
  const bool fits = (int64_t)now->running + threads <= processors;
  if (now->running > 0 && !fits && has_workers) return 0;
  now->running += (uint32_t)threads;
  now->inside++;
  return threads;
}

static void note_peak(budget now) {
  int before = atomic_load_explicit(&peak, memory_order_relaxed);
  while ((int)now.running > before &&
         !atomic_compare_exchange_weak(&peak, &before, (int)now.running)) {
  }
}

/* ---- the queue: with the mutex ---- */

static void remove_first(void) {
  first = first->next;
  if (first == NULL) last = &first;
  n_waiting--;
}

/* Grants to those that wait, in their order, as long as there is room, and then writes the word.
 * The word's mark is set, so nobody else writes it. */
static void serve(budget now) {
  while (first != NULL) {
    waiter *next = first;
    const int granted = try_to_grant(next->ask, &now, (int)now.inside + n_waiting - 1);
    if (granted == 0) break;
    note_peak(now);
    remove_first();
    atomic_store(&next->granted, granted);
    (void)pthread_cond_signal(&next->cond);
  }
  now.has_queue = first != NULL;
  atomic_store(&word, pack(now));
}

static void give_up(void) {
  waiter **link = &first;
  while (*link != &me) link = &(*link)->next;
  *link = me.next;
  if (*link == NULL) last = link;
  n_waiting--;
  serve(unpack(atomic_load(&word)));
}

/* The word's mark is set. */
static int wait_for_turn(const lk_budget_ask *ask) {
  int why = lk_wait_limit_reached(&ask->limit);
  if (why != 0) {
    if (first == NULL) serve(unpack(atomic_load(&word))); /* clears the mark again */
    return why;
  }
  me = (waiter){.ask = ask};
  lk_wait_limit_cond_init(&me.cond);
  *last = &me;
  last = &me.next;
  n_waiting++;
  n_waits++;
  pthread_mutex_unlock(&mutex);
  for (int i = 0; i < YIELDS && atomic_load(&me.granted) == 0; i++) sched_yield();
  pthread_mutex_lock(&mutex);
  while (me.granted == 0 && (why = lk_wait_limit_reached(&ask->limit)) == 0) {
    lk_wait_limit_wait(&ask->limit, &me.cond, &mutex);
  }
  if (me.granted == 0) give_up();
  (void)pthread_cond_destroy(&me.cond);
  return me.granted > 0 ? me.granted : why;
}

/* The run did not fit, or others wait. */
static int enter_slowly(const lk_budget_ask *ask) {
  int granted = 0;
  pthread_mutex_lock(&mutex);
  uint64_t bits = atomic_load(&word);
  budget now;
  do {
    now = unpack(bits);
    granted = 0;
    if (!now.has_queue) granted = try_to_grant(ask, &now, (int)now.inside);
    if (granted == 0) now.has_queue = true;
  } while (!atomic_compare_exchange_weak(&word, &bits, pack(now)));
  if (granted > 0) {
    note_peak(now);
  } else {
    granted = wait_for_turn(ask);
  }
  pthread_mutex_unlock(&mutex);
  return granted;
}

/* ---- fork ---- */

static void before_fork(void) {
  pthread_mutex_lock(&mutex);
}

static void after_fork(void) {
  pthread_mutex_unlock(&mutex);
}

/* The child has this thread alone, and what this thread has taken. */
static void in_child(void) {
  first = NULL;
  last = &first;
  n_waiting = 0;
  const bool is_inside = self.depth > 0;
  atomic_store(&word, pack((budget){.running = is_inside ? (uint32_t)self.granted : 0,
                                    .inside = is_inside ? 1 : 0}));
  pthread_mutex_unlock(&mutex);
}

/* ---- the rest ---- */

static void start(void) {
  int none = 0;
  (void)atomic_compare_exchange_strong(&n_processors, &none, lk_processors_allowed());
  (void)pthread_atfork(before_fork, after_fork, in_child);
}

int lk_budget_enter(const lk_budget_ask *ask) {
  if (self.depth > 0) {
    self.depth++;
    return ask->least;
  }
  pthread_once(&once, start);
  int granted = 0;
  uint64_t bits = atomic_load_explicit(&word, memory_order_relaxed);
  budget now;
  do {
    now = unpack(bits);
    granted = now.has_queue ? 0 : try_to_grant(ask, &now, (int)now.inside);
  } while (granted > 0 && !atomic_compare_exchange_weak(&word, &bits, pack(now)));
  if (granted > 0) {
    note_peak(now);
  } else {
    granted = enter_slowly(ask);
    if (granted < 0) return granted;
  }
  self = (taken){.depth = 1, .granted = granted};
  return granted;
}

static budget without(budget now, int threads) {
  now.running -= (uint32_t)threads;
  now.inside--;
  return now;
}

void lk_budget_leave(void) {
  if (self.depth == 0 || --self.depth > 0) return;
  const int threads = self.granted;
  uint64_t bits = atomic_load_explicit(&word, memory_order_relaxed);
  budget now = unpack(bits);
  while (!now.has_queue) {
    if (atomic_compare_exchange_weak(&word, &bits, pack(without(now, threads)))) return;
    now = unpack(bits);
  }
  pthread_mutex_lock(&mutex);
  bits = atomic_load(&word);
  do { /* the queue may be empty by now, so that others change the word without the mutex */
    now = unpack(bits);
  } while (!now.has_queue &&
           !atomic_compare_exchange_weak(&word, &bits, pack(without(now, threads))));
  if (now.has_queue) serve(without(now, threads));
  pthread_mutex_unlock(&mutex);
}

int lk_budget_granted(void) {
  return self.depth > 0 ? self.granted : 0;
}

lk_budget_state lk_budget_state_get(void) {
  pthread_once(&once, start);
  pthread_mutex_lock(&mutex);
  const lk_budget_state state = {.processors = atomic_load(&n_processors),
                                 .running = (int32_t)unpack(atomic_load(&word)).running,
                                 .peak = atomic_load(&peak),
                                 .waiting = n_waiting,
                                 .waits = n_waits};
  pthread_mutex_unlock(&mutex);
  return state;
}

int lk_budget_processors(void) {
  pthread_once(&once, start);
  return atomic_load_explicit(&n_processors, memory_order_relaxed);
}

bool lk_budget_is_full(void) {
  const budget now = unpack(atomic_load_explicit(&word, memory_order_relaxed));
  return now.has_queue || (int)now.running >= lk_budget_processors();
}

static void choose(int processors, lk_budget_choice who) {
  pthread_once(&once, start);
  pthread_mutex_lock(&mutex);
  if (who == LK_BUDGET_SET || chosen_by == LK_BUDGET_OF_PROCESS) {
    chosen_by = who;
    atomic_store(&n_processors, processors);
    const budget now = unpack(atomic_load(&word));
    if (now.has_queue) serve(now);
  }
  pthread_mutex_unlock(&mutex);
}

void lk_budget_set_processors(int processors) {
  choose(processors, LK_BUDGET_SET);
}

void lk_budget_propose_processors(int processors) {
  choose(processors, LK_BUDGET_PROPOSED);
}

lk_budget_choice lk_budget_chosen_by(void) {
  pthread_mutex_lock(&mutex);
  const lk_budget_choice who = chosen_by;
  pthread_mutex_unlock(&mutex);
  return who;
}
