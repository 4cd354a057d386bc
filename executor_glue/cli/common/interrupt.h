/* SIGINT as a flag to look at. The second one ends the process, as if none was caught. */
#pragma once

#include <stdbool.h>

#include <latchkey/base.h>

/* From here on, the first SIGINT is noted. LK_INTERNAL when the system refuses. */
lk_status interrupt_begin(lk_error *error);
/* Gives SIGINT back its default. */
void interrupt_end(void);

bool interrupt_seen(void);
