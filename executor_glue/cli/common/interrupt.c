/* SIGINT as an event that can be waited for. */
#include "executor_glue/cli/common/interrupt.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/status.h"

/* A signal handler has no argument: what it touches is static. */
static volatile sig_atomic_t seen;
static sem_t event;

static void note(int signal) {
  (void)signal;
  int before = errno;
  seen = 1;
  (void)sem_post(&event); /* one of the few functions that POSIX allows here */
  errno = before;
}

lk_status interrupt_begin(lk_error *error) {
  struct sigaction action = {.sa_handler = note, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
  (void)sigemptyset(&action.sa_mask);
  seen = 0;
  if (sem_init(&event, 0, 0) != 0 || sigaction(SIGINT, &action, NULL) != 0) {
    return lk_fail(error, LK_INTERNAL, "failed to catch SIGINT: %s", strerror(errno));
  }
  return LK_OK;
}

void interrupt_end(void) {
  (void)signal(SIGINT, SIG_DFL);
}

bool interrupt_seen(void) {
  return seen != 0;
}

void interrupt_wait(uint64_t until_ns) {
  const struct timespec until = lk_timespec(until_ns);
  (void)sem_clockwait(&event, CLOCK_MONOTONIC, &until);
}

void interrupt_wake(void) {
  (void)sem_post(&event);
}
