/* SIGINT as an event to wait for. The second one ends the process, as if none was caught.
 *
 * One thread waits; it can also be woken by others.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <latchkey/base.h>

/* From here on, the first SIGINT is noted. LK_INTERNAL when the system refuses. */
lk_status interrupt_begin(lk_error *error);
/* Gives SIGINT back its default. */
void interrupt_end(void);

bool interrupt_seen(void);
/* Sleeps until SIGINT, interrupt_wake, or CLOCK_MONOTONIC is `until_ns`, whichever comes first. */
void interrupt_wait(uint64_t until_ns);
void interrupt_wake(void);
