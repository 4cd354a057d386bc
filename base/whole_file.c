/* A file that is written whole or not at all. */
#include "base/whole_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/status.h"

/* mkstemp makes a file for its owner alone; this one is to be like any other. */
static void apply_umask(int fd) {
  mode_t mask = umask(0);
  (void)umask(mask);
  (void)fchmod(fd, 0666 & ~mask);
}

static lk_status make_temporary(lk_whole_file *file, const char *path, lk_error *error) {
  size_t capacity = strlen(path) + sizeof ".XXXXXX";
  file->path = lk_strdup(file->allocator, path);
  char *temporary = lk_alloc(file->allocator, capacity);
  if (file->path == NULL || temporary == NULL) {
    lk_free(file->allocator, temporary);
    return lk_fail_memory(error, "a file name", capacity);
  }
  (void)snprintf(temporary, capacity, "%s.XXXXXX", path);
  int fd = mkstemp(temporary);
  if (fd < 0) {
    int reason = errno;
    lk_free(file->allocator, temporary);
    return lk_fail(error, LK_IO, "failed to create '%s': %s", path, strerror(reason));
  }
  file->temporary = temporary; /* from here on there is a file to remove */
  apply_umask(fd);
  file->stream = fdopen(fd, "wb");
  if (file->stream != NULL) return LK_OK;
  (void)close(fd);
  return lk_fail_memory(error, "an open file", sizeof *file->stream);
}

lk_status lk_whole_file_begin(const lk_allocator *allocator, const char *path, lk_whole_file *out,
                              lk_error *error) {
  lk_whole_file file = {.allocator = allocator};
  *out = (lk_whole_file){0};
  lk_status status = make_temporary(&file, path, error);
  if (status == LK_OK) {
    *out = file;
  } else {
    lk_whole_file_discard(&file);
  }
  return status;
}

lk_status lk_whole_file_end(lk_whole_file *file, lk_error *error) {
  const bool lost = ferror(file->stream) != 0;
  const int before = errno; /* of the write that was lost: each one after it fails the same way */
  const bool closed = fclose(file->stream) == 0;
  file->stream = NULL;
  if (!lost && closed) return LK_OK;
  return lk_fail(error, LK_IO, "failed to write '%s': %s", file->path,
                 strerror(closed ? before : errno));
}

lk_status lk_whole_file_commit(lk_whole_file *file, lk_error *error) {
  if (rename(file->temporary, file->path) != 0) {
    return lk_fail(error, LK_IO, "failed to write '%s': %s", file->path, strerror(errno));
  }
  lk_free(file->allocator, file->temporary);
  file->temporary = NULL;
  return LK_OK;
}

void lk_whole_file_discard(lk_whole_file *file) {
  if (file->stream != NULL) (void)fclose(file->stream);
  if (file->temporary != NULL) (void)unlink(file->temporary);
  if (file->allocator != NULL) {
    lk_free(file->allocator, file->temporary);
    lk_free(file->allocator, file->path);
  }
  *file = (lk_whole_file){0};
}
