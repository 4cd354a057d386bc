/* Which call fails: the state that the other files ask. */
#include "tests/faults/faults.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/faults/interpose.h"
#include "tests/faults/ours.h"

static struct {
  fault_kind kind;
  size_t nth;
  bool on;
  pid_t process; /* 0: disarmed */
} armed;
static atomic_bool is_active, has_fired, is_of_ours;
static atomic_size_t n_calls;

const char *fault_kind_name(fault_kind kind) {
  static const char *const names[] = {
#define FAULT_KIND(symbol, text) text,
#include "tests/faults/kinds.inc"
#undef FAULT_KIND
  };
  return names[kind];
}

void fault_arm(fault_kind kind, size_t nth, bool on) {
  fault_pause();
  armed.kind = kind;
  armed.nth = nth;
  armed.on = on;
  armed.process = getpid();
  atomic_store(&n_calls, 0);
  atomic_store(&has_fired, false);
}

void fault_resume(void) {
  atomic_store(&is_active, true);
}

void fault_pause(void) {
  atomic_store(&is_active, false);
}

size_t fault_disarm(void) {
  fault_pause();
  armed.process = 0;
  return atomic_load(&n_calls);
}

bool fault_has_fired(void) {
  return atomic_load(&has_fired);
}

bool fault_limit_to_ours(void) {
  atomic_store(&is_of_ours, ours_find());
  return atomic_load(&is_of_ours);
}

bool fault_takes_of(fault_kind kind, const void *caller) {
  if (!atomic_load(&is_active) || armed.kind != kind || armed.process != getpid()) return false;
  if (atomic_load(&is_of_ours) && !ours_has(caller)) return false;
  const size_t n = atomic_fetch_add(&n_calls, 1) + 1;
  const bool fails = n == armed.nth || (armed.on && n > armed.nth);
  if (fails) atomic_store(&has_fired, true);
  return fails;
}

/* ---- programs that are started with it ---- */

__attribute__((constructor)) static void read_variable(void) {
  char name[32];
  size_t nth = 0;
  int on = 0;
  const char *text = getenv(FAULT_VARIABLE);
  if (text == NULL || sscanf(text, "%31s %zu %d", name, &nth, &on) != 3) return;
  for (int kind = 0; kind < FAULT_N_KINDS; kind++) {
    if (strcmp(name, fault_kind_name((fault_kind)kind)) != 0) continue;
    fault_arm((fault_kind)kind, nth, on != 0);
    fault_resume();
  }
}

__attribute__((destructor)) static void write_report(void) {
  const char *path = getenv(FAULT_REPORT_VARIABLE);
  if (path == NULL || armed.process != getpid()) return;
  char text[64];
  const size_t calls = fault_disarm();
  const int length = snprintf(text, sizeof text, "%zu %d\n", calls, (int)fault_has_fired());
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0 || length < 0 || write(file, text, (size_t)length) != length) abort();
  (void)close(file);
}
