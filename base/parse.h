/* Options as text: what environments, command lines and hosts give. */
#pragma once

#include <latchkey/base.h>
#include <stdbool.h>

/* The largest value of a context's option `threads`. */
enum { LK_MAX_THREADS = 1024 };

/* A decimal number without sign or blanks; with `units`, one k, m or g may follow (times 1024,
 * 1024^2, 1024^3). False: the text is not such a number, or it does not fit. */
bool lk_parse_number(const char *text, bool units, uint64_t *out);

/* "off", "thread" or "shared" as an lk_cache_mode. */
bool lk_parse_cache_mode(const char *text, uint32_t *out);
