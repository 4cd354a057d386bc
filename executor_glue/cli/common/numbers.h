/* Numbers on the command line. What is wrong with one is said with the option's name. */
#pragma once

#include <latchkey/base.h>

/* A decimal number from `min` to `max`. */
lk_status parse_u64(const char *text, const char *option, uint64_t min, uint64_t max, uint64_t *out,
                    lk_error *error);
/* The same with k, m or g behind it (1024, 1024^2, 1024^3), or "unlimited". */
lk_status parse_size(const char *text, const char *option, uint64_t *out, lk_error *error);
/* A number of threads: from 1 to LK_MAX_THREADS. */
lk_status parse_threads(const char *text, const char *option, int32_t *out, lk_error *error);
/* A decimal fraction from `min` to `max`. */
lk_status parse_decimal(const char *text, const char *option, double min, double max, double *out,
                        lk_error *error);
/* Seconds, with fractions, from `min` to a million; nanoseconds come out. */
lk_status parse_seconds(const char *text, const char *option, double min, uint64_t *out_ns,
                        lk_error *error);
/* A finite number, at least 0. */
lk_status parse_tolerance(const char *text, const char *option, double *out, lk_error *error);
