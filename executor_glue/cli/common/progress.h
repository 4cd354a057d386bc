/* A progress bar on stderr, for whatever takes more than a second on a terminal.
 *
 * A thread of its own draws it, so that what is measured meanwhile only stores a number. Without a
 * terminal nothing is started and nothing is printed.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct progress {
  const char *label;
  uint64_t total; /* steps; 0: not known, the time is shown instead of a bar */
  atomic_uint_fast64_t done;
  bool started; /* the thread is there */
  bool stop;    /* under mutex */
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  pthread_t thread;
} progress;

/* `label` must stay valid until the end. */
void progress_begin(progress *progress, const char *label, uint64_t total);
void progress_set(progress *progress, uint64_t done);
/* Takes the bar off the screen. A line on stdout must wait for this, or the two get mixed up. */
void progress_end(progress *progress);
