#include "executor_glue/run/trace.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fork.h"
#include "base/require.h"
#include "base/status.h"
#include "base/struct.h"

enum {
  MOST_THREADS = 1024, /* whose names are kept */
  MOST_KEYS = 512,
};
#define DEFAULT_EVENTS UINT64_C(65536)
#define MOST_EVENTS (UINT64_C(1) << 26)
/* Between two looks at memory and threads. */
#define LOOK_NS UINT64_C(1000000)

struct lk_trace {
  const lk_api *api;
  lk_context *context;
  const lk_allocator *allocator; /* the context's */
  atomic_size_t references;
  _Atomic uint64_t n_runs;
  _Atomic uint64_t looked_ns; /* when memory and threads were looked at last */
  lk_listener listener;
  lk_fork_entry fork;
  pthread_mutex_t mutex; /* guards everything below; nothing is allocated or freed under it */
  lk_trace_event *ring;  /* [capacity]: event number i is at i % capacity */
  uint64_t capacity;
  uint64_t first, end; /* numbers of the oldest event, and behind the newest one */
  uint64_t dropped;
  lk_trace_run *idle;       /* with memory from the runs before */
  lk_trace_thread *threads; /* [MOST_THREADS]: number i is at i % MOST_THREADS */
  uint64_t n_threads;       /* that were noted, also those that have lost their place */
  lk_trace_key *keys;       /* [most_keys], the same, from 1 on */
  uint64_t most_keys, end_key;
  bool is_child; /* of a fork: what the ring has is the parent's */
};

/* ---- life ---- */

static void note_child(void *object) {
  lk_trace *trace = object;
  trace->is_child = true;
}

static lk_status read_options(const lk_trace_options *given, lk_trace_options *out,
                              lk_error *error) {
  *out = (lk_trace_options){.struct_size = sizeof *out};
  if (given != NULL) {
    LK_RETURN_NOT_OK(lk_struct_read(out, sizeof *out, given, "lk_trace_options", error));
  }
  if (out->events == 0) out->events = DEFAULT_EVENTS;
  if (out->events <= MOST_EVENTS) return LK_OK;
  return lk_fail(error, LK_OUT_OF_RANGE,
                 "failed to read option events of a trace: it is %" PRIu64 ", 1 to %" PRIu64
                 " are allowed",
                 out->events, MOST_EVENTS);
}

static void destroy(lk_trace *trace) {
  lk_free(trace->allocator, trace->keys);
  lk_free(trace->allocator, trace->threads);
  lk_free(trace->allocator, trace->ring);
  lk_free(trace->allocator, trace);
}

static lk_status allocate(lk_trace *trace, uint64_t events, lk_error *error) {
  const lk_allocator *allocator = trace->allocator;
  const size_t ring = events * sizeof *trace->ring;
  trace->capacity = events;
  trace->most_keys = events < MOST_KEYS ? events : MOST_KEYS;
  trace->end_key = 1;
  trace->ring = lk_alloc_pages(allocator, ring);
  trace->threads = lk_alloc(allocator, MOST_THREADS * sizeof *trace->threads);
  trace->keys = lk_alloc(allocator, trace->most_keys * sizeof *trace->keys);
  const bool is_whole = trace->ring != NULL && trace->threads != NULL && trace->keys != NULL;
  return is_whole ? LK_OK : lk_fail_memory(error, "the events of a trace", ring);
}

static void hear(void *user, const lk_event_info *info);

lk_status lk_trace_create(lk_context *context, const lk_trace_options *options,
                          lk_trace **out_trace, lk_error *error) {
  LK_REQUIRE("trace_create", error, context, out_trace);
  lk_trace_options read;
  *out_trace = NULL;
  LK_RETURN_NOT_OK(read_options(options, &read, error));
  const lk_api *api = lk_get_api(LK_API_VERSION);
  const lk_allocator *allocator = api->context_allocator(context);
  lk_trace *made = lk_calloc(allocator, 1, sizeof *made);
  if (made == NULL) return lk_fail_memory(error, "a trace", sizeof *made);
  made->api = api;
  made->context = context;
  made->allocator = allocator;
  const lk_status status = allocate(made, read.events, error);
  if (status != LK_OK) {
    destroy(made);
    return status;
  }
  atomic_init(&made->references, 1);
  (void)pthread_mutex_init(&made->mutex, NULL); /* cannot fail on glibc */
  made->fork = (lk_fork_entry){
      .level = LK_FORK_LEAF, .mutex = &made->mutex, .child = note_child, .object = made};
  lk_fork_enter(&made->fork);
  made->listener = (lk_listener){.event = hear, .user = made};
  api->listener_enter(context, &made->listener);
  *out_trace = made;
  return LK_OK;
}

void lk_trace_retain(lk_trace *trace) {
  atomic_fetch_add_explicit(&trace->references, 1, memory_order_relaxed);
}

/* Labels that nobody else has, to be destroyed without the lock. */
typedef struct unused_labels {
  lk_labels *first;
} unused_labels;

static void drop_labels(lk_labels *labels, unused_labels *unused) {
  if (labels == NULL || !lk_labels_drop(labels)) return;
  labels->next = unused->first;
  unused->first = labels;
}

static void destroy_unused(unused_labels *unused) {
  while (unused->first != NULL) {
    lk_labels *next = unused->first->next;
    lk_labels_destroy(unused->first);
    unused->first = next;
  }
}

static lk_trace_event *event_at(lk_trace *trace, uint64_t number) {
  return &trace->ring[number % trace->capacity];
}

/* With the mutex. */
static void forget_events(lk_trace *trace, unused_labels *unused) {
  while (trace->first < trace->end) drop_labels(event_at(trace, trace->first++)->labels, unused);
  trace->dropped = 0;
}

static void lock(lk_trace *trace, unused_labels *unused) {
  pthread_mutex_lock(&trace->mutex);
  if (!trace->is_child) return;
  trace->is_child = false;
  forget_events(trace, unused);
  trace->n_threads = 0;
  trace->end_key = 1;
}

static void unlock(lk_trace *trace, unused_labels *unused) {
  pthread_mutex_unlock(&trace->mutex);
  destroy_unused(unused);
}

static void run_destroy(const lk_allocator *allocator, lk_trace_run *run) {
  lk_run_times_end(&run->times, allocator);
  lk_free(allocator, run->events);
  lk_free(allocator, run);
}

void lk_trace_release(lk_trace *trace) {
  if (trace == NULL ||
      atomic_fetch_sub_explicit(&trace->references, 1, memory_order_acq_rel) != 1) {
    return;
  }
  trace->api->listener_leave(&trace->listener);
  lk_trace_give_way(trace);
  lk_fork_leave(&trace->fork);
  pthread_mutex_destroy(&trace->mutex);
  destroy(trace);
}

void lk_trace_clear(lk_trace *trace) {
  unused_labels unused = {NULL};
  lock(trace, &unused);
  forget_events(trace, &unused);
  unlock(trace, &unused);
}

void lk_trace_give_way(lk_trace *trace) {
  unused_labels unused = {NULL};
  if (trace == NULL) return;
  lock(trace, &unused);
  const uint64_t dropped = trace->dropped + trace->end - trace->first;
  forget_events(trace, &unused);
  trace->dropped = dropped;
  lk_trace_run *idle = trace->idle;
  trace->idle = NULL;
  unlock(trace, &unused);
  while (idle != NULL) {
    lk_trace_run *next = idle->next;
    run_destroy(trace->allocator, idle);
    idle = next;
  }
}

const lk_allocator *lk_trace_allocator(const lk_trace *trace) {
  return trace->allocator;
}

lk_status lk_trace_info_get(lk_trace *trace, lk_trace_info *out, lk_error *error) {
  LK_REQUIRE("trace_info", error, trace, out);
  unused_labels unused = {NULL};
  lock(trace, &unused);
  const lk_trace_info info = {.struct_size = sizeof info,
                              .events = trace->end - trace->first,
                              .capacity = trace->capacity,
                              .dropped = trace->dropped};
  unlock(trace, &unused);
  return lk_struct_write(out, &info, sizeof info, "lk_trace_info", error);
}

/* ---- the ring; all with the mutex ---- */

static void read_name(lk_trace_thread *thread) {
  char path[64];
  (void)snprintf(path, sizeof path, "/proc/self/task/%" PRId32 "/comm", thread->number);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t length = file >= 0 ? read(file, thread->name, sizeof thread->name - 1) : 0;
  if (file >= 0) (void)close(file);
  thread->name[length > 0 ? length : 0] = '\0';
  thread->name[strcspn(thread->name, "\n")] = '\0';
}

/* Of what a ring of `capacity` has, where `count` were put into it. */
static uint64_t kept(uint64_t count, uint64_t capacity) {
  return count < capacity ? count : capacity;
}

/* Its name is read now: later it may have ended. */
static void note_thread(lk_trace *trace, int32_t number) {
  const uint64_t count = trace->n_threads;
  for (uint64_t i = count; i > count - kept(count, MOST_THREADS); i--) {
    if (trace->threads[(i - 1) % MOST_THREADS].number == number) return;
  }
  lk_trace_thread *thread = &trace->threads[trace->n_threads++ % MOST_THREADS];
  *thread = (lk_trace_thread){.number = number};
  read_name(thread);
}

/* Takes over the reference to the labels. */
static void put(lk_trace *trace, const lk_trace_event *event, unused_labels *unused) {
  lk_trace_event *to = event_at(trace, trace->end);
  if (trace->end - trace->first == trace->capacity) {
    drop_labels(to->labels, unused);
    trace->first++;
    trace->dropped++;
  }
  *to = *event;
  trace->end++;
}

/* ---- runs ---- */

lk_trace_run *lk_trace_run_begin(lk_trace *trace) {
  unused_labels unused = {NULL};
  lock(trace, &unused);
  lk_trace_run *run = trace->idle;
  if (run != NULL) trace->idle = run->next;
  unlock(trace, &unused);
  if (run == NULL) run = lk_calloc(trace->allocator, 1, sizeof *run);
  if (run == NULL) {
    lock(trace, &unused);
    trace->dropped++;
    unlock(trace, &unused);
    return NULL;
  }
  lk_trace_retain(trace);
  run->trace = trace;
  run->number = atomic_fetch_add_explicit(&trace->n_runs, 1, memory_order_relaxed) + 1;
  run->thread = (int32_t)gettid();
  run->n_events = 0;
  run->lost = 0;
  return run;
}

void lk_trace_note(lk_trace_run *run, const lk_trace_event *event) {
  if (!LK_GROW(run->trace->allocator, run->events, run->n_events, run->capacity)) {
    run->lost++;
    return;
  }
  lk_trace_event *noted = &run->events[run->n_events++];
  *noted = *event;
  noted->run = run->number;
  if (noted->thread == 0) noted->thread = run->thread;
  if (noted->labels != NULL) lk_labels_retain(noted->labels);
}

void lk_trace_note_steps(lk_trace_run *run, const lk_run_times *times, lk_labels *labels) {
  for (uint32_t i = 0; i < labels->n_steps; i++) {
    const lk_step_time *time = &times->times[i];
    if (time->begin_ns == 0) continue;
    lk_trace_note(run, &(lk_trace_event){.begin_ns = time->begin_ns,
                                         .ns = time->ns,
                                         .labels = labels,
                                         .value = time->compute_ns,
                                         .index = i,
                                         .number = (int32_t)times->step_threads,
                                         .thread = times->threads[i],
                                         .kind = LK_TRACE_STEP});
  }
}

void lk_trace_run_end(lk_trace_run *run) {
  if (run == NULL) return;
  lk_trace *trace = run->trace;
  unused_labels unused = {NULL};
  lock(trace, &unused);
  int32_t last = 0;
  for (size_t i = 0; i < run->n_events; i++) {
    if (run->events[i].thread != last) note_thread(trace, run->events[i].thread);
    last = run->events[i].thread;
    put(trace, &run->events[i], &unused);
  }
  trace->dropped += run->lost;
  run->next = trace->idle;
  trace->idle = run;
  unlock(trace, &unused);
  lk_trace_release(trace);
}

/* ---- other events ---- */

/* Whether it is this thread's turn to look at memory and threads. */
static bool is_time(lk_trace *trace, uint64_t now) {
  uint64_t last = atomic_load_explicit(&trace->looked_ns, memory_order_relaxed);
  if (now - last < LOOK_NS) return false;
  return atomic_compare_exchange_strong(&trace->looked_ns, &last, now);
}

enum { MOST_LOOKS = 3 };

static uint64_t evictions(const lk_stats *stats) {
  uint64_t sum = 0;
  for (uint32_t kind = 0; kind < LK_KIND_COUNT; kind++) sum += stats->kind[kind].evictions;
  return sum;
}

static size_t look(const lk_trace *trace, uint64_t now, lk_trace_event out[MOST_LOOKS]) {
  lk_stats stats = {.struct_size = sizeof stats};
  lk_threads_stats threads = {.struct_size = sizeof threads};
  size_t count = 0;
  if (trace->api->cache_stats(trace->context, NULL, &stats, NULL) == LK_OK) {
    out[count++] = (lk_trace_event){
        .begin_ns = now, .value = stats.memory_bytes, .more = stats.bytes, .kind = LK_TRACE_MEMORY};
    out[count++] = (lk_trace_event){
        .begin_ns = now, .value = stats.entries, .more = evictions(&stats), .kind = LK_TRACE_CACHE};
  }
  if (trace->api->threads_stats(&threads, NULL) == LK_OK) {
    out[count++] = (lk_trace_event){.begin_ns = now,
                                    .value = (uint64_t)threads.running,
                                    .more = (uint64_t)threads.waiting,
                                    .kind = LK_TRACE_THREADS};
  }
  return count;
}

void lk_trace_add(lk_trace *trace, lk_trace_event event) {
  lk_trace_event looked[MOST_LOOKS];
  unused_labels unused = {NULL};
  const uint64_t now = event.begin_ns + event.ns;
  const size_t n_looked =
      event.kind == LK_TRACE_RUN && is_time(trace, now) ? look(trace, now, looked) : 0;
  event.thread = (int32_t)gettid();
  if (event.labels != NULL) lk_labels_retain(event.labels);
  lock(trace, &unused);
  note_thread(trace, event.thread);
  put(trace, &event, &unused);
  for (size_t i = 0; i < n_looked; i++) put(trace, &looked[i], &unused);
  unlock(trace, &unused);
}

/* ---- what leaves the cache ---- */

static void hear(void *user, const lk_event_info *info) {
  lk_trace *trace = user;
  unused_labels unused = {NULL};
  lk_trace_key key = {""};
  lk_trace_event event = {.begin_ns = lk_now_ns(),
                          .value = info->bytes,
                          .number = (int32_t)info->kind,
                          .thread = (int32_t)gettid(),
                          .kind = info->event == LK_EVENT_EVICT ? LK_TRACE_EVICT : LK_TRACE_DROP};
  (void)trace->api->key_print(trace->context, info->key, key.text, sizeof key.text, NULL, NULL);
  lock(trace, &unused);
  note_thread(trace, event.thread);
  event.more = trace->end_key++;
  trace->keys[event.more % trace->most_keys] = key;
  put(trace, &event, &unused);
  unlock(trace, &unused);
}

/* ---- copies ---- */

static int first_begun_first(const void *a, const void *b) {
  const lk_trace_event *left = a, *right = b;
  if (left->begin_ns != right->begin_ns) return left->begin_ns < right->begin_ns ? -1 : 1;
  return (left->ns < right->ns) - (left->ns > right->ns);
}

/* Room for as many events as the ring has now, and for some that come meanwhile. */
static lk_status allocate_copy(lk_trace *trace, lk_trace_copy *out, size_t *out_room,
                               lk_error *error) {
  unused_labels unused = {NULL};
  lock(trace, &unused);
  const uint64_t events = trace->end - trace->first;
  unlock(trace, &unused);
  *out_room = (size_t)kept(events + events / 4 + 1, trace->capacity);
  out->events = lk_calloc(trace->allocator, *out_room, sizeof *out->events);
  out->threads = lk_calloc(trace->allocator, MOST_THREADS, sizeof *out->threads);
  out->keys = lk_calloc(trace->allocator, trace->most_keys, sizeof *out->keys);
  const bool is_whole = out->events != NULL && out->threads != NULL && out->keys != NULL;
  return is_whole ? LK_OK
                  : lk_fail_memory(error, "a copy of a trace", *out_room * sizeof *out->events);
}

/* With the mutex. */
static void copy_ring(lk_trace *trace, lk_trace_copy *out) {
  const uint64_t n_threads = trace->n_threads;
  out->n_events = (size_t)(trace->end - trace->first);
  out->n_threads = (size_t)kept(n_threads, MOST_THREADS);
  out->n_keys = (size_t)kept(trace->end_key - 1, trace->most_keys);
  out->end_key = trace->end_key;
  out->dropped = trace->dropped;
  for (size_t i = 0; i < out->n_events; i++) {
    out->events[i] = *event_at(trace, trace->first + i);
    if (out->events[i].labels != NULL) lk_labels_retain(out->events[i].labels);
  }
  for (size_t i = 0; i < out->n_threads; i++) {
    out->threads[i] = trace->threads[(n_threads - out->n_threads + i) % MOST_THREADS];
  }
  for (size_t i = 0; i < out->n_keys; i++) {
    out->keys[i] = trace->keys[(out->end_key - out->n_keys + i) % trace->most_keys];
  }
}

/* False: there are more events by now than `room`. */
static bool try_copy(lk_trace *trace, size_t room, lk_trace_copy *out) {
  unused_labels unused = {NULL};
  lock(trace, &unused);
  const bool fits = trace->end - trace->first <= room;
  if (fits) copy_ring(trace, out);
  unlock(trace, &unused);
  return fits;
}

/* By how much CLOCK_REALTIME is ahead. A thread may lose its processor between two looks at clocks,
 * so the pair counts between whose looks the least has passed. */
static int64_t realtime_ahead(void) {
  enum { LOOKS = 16 };
  uint64_t least = UINT64_MAX;
  int64_t ahead = 0;
  for (int i = 0; i < LOOKS; i++) {
    struct timespec real = {0, 0};
    const uint64_t before = lk_now_ns();
    (void)clock_gettime(CLOCK_REALTIME, &real);
    const uint64_t passed = lk_now_ns() - before;
    if (passed >= least) continue;
    least = passed;
    ahead = (int64_t)((uint64_t)real.tv_sec * LK_SECOND_NS + (uint64_t)real.tv_nsec - before);
  }
  return ahead;
}

lk_status lk_trace_copy_create(lk_trace *trace, lk_trace_copy *out, lk_error *error) {
  lk_status status = LK_OK;
  size_t room = 0;
  do {
    if (room > 0) lk_trace_copy_destroy(out);
    *out = (lk_trace_copy){.allocator = trace->allocator};
    LK_TRY(allocate_copy(trace, out, &room, error));
  } while (!try_copy(trace, room, out));
  qsort(out->events, out->n_events, sizeof *out->events, first_begun_first);
  out->realtime_ns = realtime_ahead();
cleanup:
  if (status != LK_OK) lk_trace_copy_destroy(out);
  return status;
}

const char *lk_trace_copy_key(const lk_trace_copy *copy, const lk_trace_event *event) {
  const uint64_t first = copy->end_key - copy->n_keys;
  return event->more >= first ? copy->keys[event->more - first].text : "";
}

void lk_trace_copy_destroy(lk_trace_copy *copy) {
  for (size_t i = 0; copy->events != NULL && i < copy->n_events; i++) {
    lk_labels_release(copy->events[i].labels);
  }
  lk_free(copy->allocator, copy->events);
  lk_free(copy->allocator, copy->threads);
  lk_free(copy->allocator, copy->keys);
  *copy = (lk_trace_copy){0};
}
