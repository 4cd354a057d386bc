/* SIGINT as a flag to look at. */
#include "executor_glue/cli/common/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/status.h"

/* A signal handler has no argument: what it touches is static. */
static volatile sig_atomic_t seen;

static void note(int signal) {
  (void)signal;
  seen = 1;
}

lk_status interrupt_begin(lk_error *error) {
  struct sigaction action = {.sa_handler = note, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
  (void)sigemptyset(&action.sa_mask);
  seen = 0;
  if (sigaction(SIGINT, &action, NULL) != 0) {
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
