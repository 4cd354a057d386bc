/* Files of measured times (ops/engine/tuning.h): read whole, and appended to by several processes
 * at once. */
#pragma once

#include "ops/engine/tuning.h"

/* The largest that is read, and that a file may grow to. */
#define LK_TUNING_FILE_MOST ((size_t)64 << 20)

/* Adds what the file says. LK_NOT_FOUND: there is none; LK_MALFORMED: it is no tuning file; LK_IO:
 * it cannot be read, is not a regular file, or is larger than LK_TUNING_FILE_MOST;
 * LK_OUT_OF_MEMORY. */
lk_status lk_tuning_file_read(lk_tuning *tuning, const lk_allocator *allocator, const char *path,
                              lk_error *error);
/* Appends what was noted and is not saved yet, to a file that is made where there is none. Links
 * are followed by the rules of base/whole_file.h. Where nothing was noted, the file is not touched.
 * `*out_works` (may be NULL): lines that were appended. LK_IO: it cannot be written, is not a
 * regular file, or would be larger than LK_TUNING_FILE_MOST; LK_OUT_OF_MEMORY. After a failure the
 * file has what it had, where it can be cut to that, and the times are not saved. */
lk_status lk_tuning_file_append(lk_tuning *tuning, const char *path, uint64_t *out_works,
                                lk_error *error);
