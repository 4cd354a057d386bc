/* A file that is written whole or not at all: under a name of its own beside its place, so that
 * nobody ever sees half of it. All files that the project writes are written by this, but for those
 * of measured times, which are appended to (plugin/tuning_file.c).
 *
 * - What is at the path and is not a regular file (a device, a FIFO, a terminal) is written to as
 *   it is, and so is a file that this process has open and that is named by its number
 *   (/dev/stdout, /dev/fd/N, /proc/self/fd/N): from where its next write would go.
 * - Links are followed, to a file that is there or not; the link stays. In a folder that all may
 *   write to and that is sticky, as /tmp, only links of this user and of the folder's owner are.
 * - A regular file is replaced. The new one has its owner, if that may be given, and its mode;
 *   where there was none, that of any new file (the umask).
 * - The name of the new file cannot be guessed, and nothing that is there already is opened.
 *
 * Several can be written, and committed when all of them are complete. */
#pragma once

#include <stdio.h>

#include <latchkey/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lk_whole_file {
  const lk_allocator *allocator;
  const char *what; /* "a trace": for sentences */
  char *path;       /* as given */
  FILE *stream;     /* to be written to until lk_whole_file_end */
  int folder;       /* of the file's place; -1: it is written as it is */
  char *name;       /* its name there */
  char *temporary;  /* its name until it is committed; NULL: it is */
} lk_whole_file;

/* Opens the file to write to. `what` is for sentences ("failed to write <what> to '<path>': ..."),
 * and must stay. lk_whole_file_discard is needed when this succeeds. LK_IO, LK_OUT_OF_MEMORY. */
lk_status lk_whole_file_begin(const lk_allocator *allocator, const char *what, const char *path,
                              lk_whole_file *out, lk_error *error);
/* Closes the stream. LK_IO when anything of what was written to it is lost. */
lk_status lk_whole_file_end(lk_whole_file *file, lk_error *error);
/* Moves the file to its place, over one that is there. It stays to be discarded on failure. */
lk_status lk_whole_file_commit(lk_whole_file *file, lk_error *error);
/* Removes a file that has been committed. */
void lk_whole_file_take_back(lk_whole_file *file);
/* Removes the temporary file, if it has not been committed, and frees the names. */
void lk_whole_file_discard(lk_whole_file *file);

/* All of these with `size` bytes. */
lk_status lk_whole_file_write(const lk_allocator *allocator, const char *what, const char *path,
                              const void *bytes, size_t size, lk_error *error);

#ifdef __cplusplus
}
#endif
