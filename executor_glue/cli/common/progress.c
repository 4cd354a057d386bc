/* A progress bar on stderr, for whatever takes more than a second on a terminal. */
#include "executor_glue/cli/common/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

enum { BAR_WIDTH = 32 };
#define FIRST_NS LK_SECOND_NS /* nothing is shown before */
#define REDRAW_NS UINT64_C(200000000)

static void draw(const progress *bar, uint64_t elapsed_ns) {
  uint64_t done = atomic_load_explicit(&bar->done, memory_order_relaxed);
  double seconds = (double)elapsed_ns / 1e9;
  if (bar->total == 0) {
    (void)fprintf(stderr, "\r\033[K%s %.0f s", bar->label, seconds);
  } else {
    if (done > bar->total) done = bar->total;
    int filled = (int)((double)done / (double)bar->total * BAR_WIDTH);
    (void)fprintf(stderr, "\r\033[K%s [%.*s%*s] %" PRIu64 "/%" PRIu64 " %.0f s", bar->label, filled,
                  "################################", BAR_WIDTH - filled, "", done, bar->total,
                  seconds);
  }
  (void)fflush(stderr);
}

static void *draw_until_stopped(void *argument) {
  progress *bar = argument;
  const uint64_t begin = lk_now_ns();
  uint64_t next = begin + FIRST_NS;
  bool drawn = false;
  (void)pthread_mutex_lock(&bar->mutex);
  while (!bar->stop) {
    const struct timespec when = lk_timespec(next);
    (void)pthread_cond_timedwait(&bar->changed, &bar->mutex, &when);
    uint64_t now = lk_now_ns();
    if (bar->stop || now < next) continue;
    draw(bar, now - begin);
    drawn = true;
    next = now + REDRAW_NS;
  }
  (void)pthread_mutex_unlock(&bar->mutex);
  if (drawn) {
    (void)fputs("\r\033[K", stderr);
    (void)fflush(stderr);
  }
  return NULL;
}

void progress_begin(progress *bar, const char *label, uint64_t total) {
  bar->label = label;
  bar->total = total;
  atomic_init(&bar->done, 0);
  bar->started = false;
  bar->stop = false;
  if (!isatty(STDERR_FILENO)) return;
  pthread_condattr_t attributes;
  if (pthread_condattr_init(&attributes) != 0) return;
  (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  (void)pthread_cond_init(&bar->changed, &attributes);
  (void)pthread_condattr_destroy(&attributes);
  (void)pthread_mutex_init(&bar->mutex, NULL);
  bar->started = pthread_create(&bar->thread, NULL, draw_until_stopped, bar) == 0;
}

void progress_set(progress *bar, uint64_t done) {
  atomic_store_explicit(&bar->done, done, memory_order_relaxed);
}

void progress_end(progress *bar) {
  if (!bar->started) return;
  (void)pthread_mutex_lock(&bar->mutex);
  bar->stop = true;
  (void)pthread_cond_signal(&bar->changed);
  (void)pthread_mutex_unlock(&bar->mutex);
  (void)pthread_join(bar->thread, NULL);
  (void)pthread_cond_destroy(&bar->changed);
  (void)pthread_mutex_destroy(&bar->mutex);
  bar->started = false;
}
