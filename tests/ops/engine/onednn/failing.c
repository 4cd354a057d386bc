/* Which call of oneDNN fails: the state that the calls of failing.h ask. */
#include "tests/ops/engine/onednn/failing.h"

#include <latchkey/base.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_uint left; /* 0: disarmed; 1: the next call fails */
static _Atomic(dnnl_status_t) given;
static _Atomic(const char *) name_of_failed;
static atomic_long n_alive;

static void arm(unsigned nth, int status) {
  atomic_store(&given, (dnnl_status_t)status);
  atomic_store(&name_of_failed, NULL);
  atomic_store(&left, nth);
}

static const char *failed(void) {
  return atomic_load(&name_of_failed);
}

static long alive(void) {
  return atomic_load(&n_alive);
}

extern LK_EXPORT failing_calls failing;
failing_calls failing = {arm, failed, alive, NULL};

int failing_takes(const char *name) {
  unsigned now = atomic_load(&left);
  while (now != 0 && !atomic_compare_exchange_weak(&left, &now, now - 1)) {
  }
  if (now != 1) return 0;
  if (failing.before != NULL) failing.before();
  atomic_store(&name_of_failed, name);
  return 1;
}

dnnl_status_t failing_status(void) {
  return atomic_load(&given);
}

dnnl_status_t failing_made(dnnl_status_t status) {
  if (status == dnnl_success) atomic_fetch_add(&n_alive, 1);
  return status;
}

dnnl_status_t failing_ended(dnnl_status_t status) {
  if (status == dnnl_success) atomic_fetch_sub(&n_alive, 1);
  return status;
}
