/* What a client of the process's socket asks for: one line. */
#pragma once

#include <stddef.h>

/* The longest request, with its newline. */
enum { LK_SERVE_REQUEST_BYTES = 64 };

typedef enum lk_serve_request {
  LK_SERVE_MORE,       /* no whole line yet */
  LK_SERVE_STATISTICS, /* "statistics 1": all statistics, in the first form of the answer */
  LK_SERVE_BAD         /* anything else */
} lk_serve_request;

/* Reads the first `count` bytes of a request. */
lk_serve_request lk_serve_request_read(const char *bytes, size_t count);
