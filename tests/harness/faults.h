/* An allocator that counts, sees what was not freed, and fails when it is told to: at the nth
 * call, so that a test can fail every allocation in turn. Any thread. */
#pragma once

#include <latchkey/base.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct host_faults host_faults;

typedef struct host_faults_state {
  size_t allocations; /* calls so far, failed ones too */
  size_t live_blocks, live_bytes, peak_bytes;
  bool has_failed; /* since host_faults_at */
} host_faults_state;

host_faults *host_faults_create(void);
void host_faults_destroy(host_faults *faults);
const lk_allocator *host_faults_allocator(const host_faults *faults);
host_faults_state host_faults_state_get(const host_faults *faults);

/* The nth allocation from now fails (1: the next one); with `on`, all that follow it too. */
void host_faults_at(host_faults *faults, size_t nth, bool on);
void host_faults_never(host_faults *faults);

#ifdef __cplusplus
}
#endif
