/* Names of a model, file names and options, made fit for a terminal, a log and a sentence. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Room for any escaped text of `length` bytes, with its NUL. */
#define LK_TEXT_ESCAPED_BYTES(length) (4 * (size_t)(length) + 1)

/* Copies `text` as one line of valid UTF-8. A byte that is not part of a valid character becomes
 * \xNN, in hexadecimal. So does each byte of a control character: C0 (tabs and line ends too), DEL,
 * C1, line and paragraph separators, and those that turn the direction of writing. A text that was
 * escaped before stays as it is.
 *
 * What does not fit in `capacity` bytes (at least 1, for the NUL) is cut off, never inside a
 * character or an escape. Returns the length of what was written. `text` and `out` must not
 * overlap. */
size_t lk_text_escape(const char *text, char *out, size_t capacity);
/* Copies `text` as it is; NULL: "". It is cut where `capacity` bytes (at least 1, for the NUL) end,
 * and not read beyond that. */
void lk_text_put(char *out, size_t capacity, const char *text);

#ifdef __cplusplus
}
#endif
