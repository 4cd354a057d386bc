/* A file that is written whole or not at all. */
#include "base/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file_place.h"
#include "base/status.h"

static lk_status fail(const lk_whole_file *file, int reason, lk_error *error) {
  return lk_fail(error, LK_IO, "failed to write %s to '%s': %s", file->what, file->path,
                 strerror(reason));
}

/* ".<name>.<16 digits>" */
static lk_status make_temporary_name(lk_whole_file *file, lk_error *error) {
  enum { MOST_OF_NAME = 100, MORE = sizeof "...0123456789abcdef" };
  uint64_t bits = 0;
  const size_t capacity = strnlen(file->name, MOST_OF_NAME) + MORE;
  file->temporary = lk_alloc(file->allocator, capacity);
  if (file->temporary == NULL) return lk_fail_memory(error, "a file name", capacity);
  if (getrandom(&bits, sizeof bits, 0) != sizeof bits) return fail(file, errno, error);
  (void)snprintf(file->temporary, capacity, ".%.*s.%016" PRIx64, MOST_OF_NAME, file->name, bits);
  return LK_OK;
}

static void forget_temporary(lk_whole_file *file) {
  lk_free(file->allocator, file->temporary);
  file->temporary = NULL;
}

/* A new file beside the place. Until it has the mode of the one that it will replace, nobody else
 * may read it. */
static lk_status open_aside(lk_whole_file *file, const lk_file_place *place, int *out_fd,
                            lk_error *error) {
  const bool replaces = place->kind == LK_PLACE_FILE;
  file->name = lk_strdup(file->allocator, place->name);
  if (file->name == NULL) return lk_fail_memory(error, "a file name", strlen(place->name) + 1);
  lk_status status = make_temporary_name(file, error);
  if (status == LK_OK) {
    *out_fd = openat(file->folder, file->temporary,
                     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, replaces ? 0600 : 0666);
    if (*out_fd < 0) status = fail(file, errno, error);
  }
  if (status != LK_OK) {
    forget_temporary(file); /* there is no file to remove */
    return status;
  }
  if (!replaces) return LK_OK;
  /* who may not give files away keeps them */
  if (fchown(*out_fd, place->user, place->group) != 0) errno = 0;
  return fchmod(*out_fd, place->mode) == 0 ? LK_OK : fail(file, errno, error);
}

/* What is there, as it is. */
static lk_status open_as_it_is(const lk_whole_file *file, const lk_file_place *place, int *out_fd,
                               lk_error *error) {
  *out_fd = place->kind == LK_PLACE_NUMBER
                ? fcntl(place->number, F_DUPFD_CLOEXEC, 0)
                : openat(place->folder, place->name, O_WRONLY | O_NOCTTY | O_CLOEXEC);
  return *out_fd >= 0 ? LK_OK : fail(file, errno, error);
}

/* Owns `file->folder` from then on, if it is needed. */
static lk_status open_file(lk_whole_file *file, int *out_fd, lk_error *error) {
  lk_file_place place;
  const int failed = lk_file_place_find(file->path, &place);
  if (failed != 0) return fail(file, failed, error);
  if (place.kind == LK_PLACE_NEW || place.kind == LK_PLACE_FILE) {
    file->folder = place.folder;
    return open_aside(file, &place, out_fd, error);
  }
  const lk_status status = open_as_it_is(file, &place, out_fd, error);
  (void)close(place.folder);
  return status;
}

lk_status lk_whole_file_begin(const lk_allocator *allocator, const char *what, const char *path,
                              lk_whole_file *out, lk_error *error) {
  lk_whole_file file = {.allocator = allocator, .what = what, .folder = -1};
  lk_status status = LK_OK;
  int fd = -1;
  *out = (lk_whole_file){0};
  file.path = lk_strdup(allocator, path);
  if (file.path == NULL) return lk_fail_memory(error, "a file name", strlen(path) + 1);
  LK_TRY(open_file(&file, &fd, error));
  file.stream = fdopen(fd, "wb");
  if (file.stream == NULL) LK_TRY(fail(&file, errno, error));
  fd = -1;
  *out = file;
  file = (lk_whole_file){0};
cleanup:
  if (fd >= 0) (void)close(fd);
  lk_whole_file_discard(&file);
  return status;
}

/* To the disk, before it gets its name: else a machine that stops may have a name without bytes. */
static bool sync_file(const lk_whole_file *file) {
  return fflush(file->stream) == 0 && (file->folder < 0 || fsync(fileno(file->stream)) == 0);
}

/* Why a write before was lost: what the stream has kept of it fails the same way once more. Where
 * it has kept nothing, errno may be of another call since, or of none. */
static int reason_of_loss(FILE *stream, int last_failed) {
  if (fflush(stream) != 0) return errno;
  return last_failed != 0 ? last_failed : EIO;
}

lk_status lk_whole_file_end(lk_whole_file *file, lk_error *error) {
  const int last_failed = errno;
  int reason = 0;
  if (ferror(file->stream) != 0) {
    reason = reason_of_loss(file->stream, last_failed);
  } else if (!sync_file(file)) {
    reason = errno;
  }
  if (fclose(file->stream) != 0 && reason == 0) reason = errno;
  file->stream = NULL;
  return reason == 0 ? LK_OK : fail(file, reason, error);
}

lk_status lk_whole_file_commit(lk_whole_file *file, lk_error *error) {
  if (file->temporary == NULL) return LK_OK; /* written as it is */
  if (renameat(file->folder, file->temporary, file->folder, file->name) != 0) {
    return fail(file, errno, error);
  }
  forget_temporary(file);
  return LK_OK;
}

void lk_whole_file_take_back(lk_whole_file *file) {
  if (file->name != NULL && file->temporary == NULL) (void)unlinkat(file->folder, file->name, 0);
}

void lk_whole_file_discard(lk_whole_file *file) {
  if (file->allocator == NULL) return;
  if (file->stream != NULL) (void)fclose(file->stream);
  if (file->temporary != NULL) (void)unlinkat(file->folder, file->temporary, 0);
  if (file->folder >= 0) (void)close(file->folder);
  lk_free(file->allocator, file->temporary);
  lk_free(file->allocator, file->name);
  lk_free(file->allocator, file->path);
  *file = (lk_whole_file){0};
}

lk_status lk_whole_file_write(const lk_allocator *allocator, const char *what, const char *path,
                              const void *bytes, size_t size, lk_error *error) {
  lk_whole_file file;
  LK_RETURN_NOT_OK(lk_whole_file_begin(allocator, what, path, &file, error));
  lk_status status = LK_OK;
  (void)fwrite(bytes, 1, size, file.stream);
  LK_TRY(lk_whole_file_end(&file, error));
  LK_TRY(lk_whole_file_commit(&file, error));
cleanup:
  lk_whole_file_discard(&file);
  return status;
}
