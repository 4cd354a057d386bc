/* Who in this process has statistics to tell: sessions, of both executors. One list for the
 * process, which reporter_enter and reporter_leave of the table keep. */
#pragma once

#include <stdio.h>

#include <latchkey/context.h>

void lk_reporter_enter(lk_reporter *reporter);
/* Waits while the reporter is asked. */
void lk_reporter_leave(lk_reporter *reporter);

/* Writes what each says, as {"session": number, "context": number, "report": ...}, with commas
 * between them, the newest first, until there are `most_bytes`. Returns how many were left out. For
 * one thread at a time. */
uint64_t lk_reporters_write(FILE *stream, long most_bytes);
