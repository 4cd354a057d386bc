/* Where the socket of the process is. */
#pragma once

#include <latchkey/base.h>
#include <sys/socket.h>
#include <sys/un.h>

/* The absolute path that `asked` stands for: "default" is latchkey/PID.sock in XDG_RUNTIME_DIR, a
 * folder is PID.sock in it, else it is the path itself. LK_NOT_FOUND: XDG_RUNTIME_DIR is not set;
 * LK_OUT_OF_RANGE: longer than addresses of sockets are; LK_IO: the default's folder cannot be
 * made. */
lk_status lk_serve_path(const char *asked, struct sockaddr_un *out, lk_error *error);
