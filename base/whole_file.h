/* A file that is written whole or not at all: under a temporary name beside its place, so that
 * nobody ever sees half of it.
 *
 * Several can be written, and committed when all of them are complete.
 */
#pragma once

#include <stdio.h>

#include <latchkey/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lk_whole_file {
  const lk_allocator *allocator;
  char *path, *temporary;
  FILE *stream; /* to be written to until lk_whole_file_end */
} lk_whole_file;

/* Opens the temporary file. lk_whole_file_discard is needed when this succeeds. LK_IO,
 * LK_OUT_OF_MEMORY. */
lk_status lk_whole_file_begin(const lk_allocator *allocator, const char *path, lk_whole_file *out,
                              lk_error *error);
/* Closes the stream. LK_IO when anything of what was written to it is lost. */
lk_status lk_whole_file_end(lk_whole_file *file, lk_error *error);
/* Moves the file to its place, over one that is there. It stays to be discarded on failure. */
lk_status lk_whole_file_commit(lk_whole_file *file, lk_error *error);
/* Removes the temporary file, if it has not been committed, and frees the names. */
void lk_whole_file_discard(lk_whole_file *file);

#ifdef __cplusplus
}
#endif
