/* The socket by which a process tells its statistics, if it is asked to: a thread of its own, which
 * answers one client of the same user after the other. docs/statistics.md has the protocol. */
#pragma once

#include <latchkey/base.h>

/* Serves at `asked` (serve_path.h) until the last user is gone. LK_INVALID_ARGUMENT: the process
 * serves elsewhere already; LK_IO: another process serves there, what is there is no socket, or the
 * system refuses. */
lk_status lk_serve_retain(const char *asked, lk_error *error);
void lk_serve_release(void);

/* The path; "" where nothing is served. */
void lk_serve_where(char *path, size_t capacity);
