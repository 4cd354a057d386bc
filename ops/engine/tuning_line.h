/* Measured times of a work as a line of text, and back:
 *
 *   <xxh3 of what follows, 16 digits> <native_ns> <engine_ns> <count> <value key>
 *
 * A file of such lines may be cut, joined and changed: each line tells by itself whether it is
 * whole. Numbers are read back as the same, and do not depend on the host's locale. */
#pragma once

#include <locale.h>

#include "keys/key.h"

/* What all measurements of a work took together, and how many they are. */
typedef struct lk_tuned {
  double native_ns, engine_ns;
  double count;
} lk_tuned;

/* Whether times are above 0, their means too, and there is one measurement at least; and none is so
 * large that a sum of them is endless. */
bool lk_tuned_is_good(const lk_tuned *times);

/* Room for the line of the key, with its end. */
lk_status lk_tuning_line_room(lk_intern *intern, const lk_key *key, size_t *out_bytes,
                              lk_error *error);
/* The line with its end, and behind it a 0 that is within the room and not counted. `c`: the locale
 * "C". */
lk_status lk_tuning_line_print(lk_intern *intern, const lk_key *key, const lk_tuned *times,
                               locale_t c, char *to, size_t room, size_t *out_bytes,
                               lk_error *error);
/* `line` [bytes], without its end. `*out_key` uses its names and is freed by lk_key_destroy; NULL:
 * the line is damaged, or of another version. Fails only where there is no memory. */
lk_status lk_tuning_line_parse(lk_intern *intern, const lk_allocator *allocator, const char *line,
                               size_t bytes, locale_t c, lk_key **out_key, lk_tuned *out_times,
                               lk_error *error);
