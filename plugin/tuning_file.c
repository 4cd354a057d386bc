/* Files of measured times. A file is never replaced: others may be about to append to it. */
#include "plugin/tuning_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file_place.h"
#include "base/status.h"

/* Nothing waits for a FIFO's other end, and no terminal becomes that of the process. */
enum { OPEN_FLAGS = O_CLOEXEC | O_NONBLOCK | O_NOCTTY };

/* 0, or an errno. Nobody reads a line that another process is writing. That takes milliseconds; who
 * has the lock for seconds is no such process, and is not waited for. */
static int lock_file(int file, int how) {
  enum { TRIES = 500 };
  const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
  for (int i = 0; i < TRIES; i++) {
    if (flock(file, how | LOCK_NB) == 0) return 0;
    if (errno != EINTR && errno != EWOULDBLOCK) return errno;
    (void)nanosleep(&pause, NULL);
  }
  return EWOULDBLOCK;
}

static const char *reason_text(int reason) {
  return reason == EWOULDBLOCK ? "another process has it locked" : strerror(reason);
}

/* ---- what a file begins with ---- */

#define FRONT "# latchkey tuning 1\n"
#define FRONT_OF_ALL "# latchkey tuning " /* of other versions, too */

/* Of the first bytes of a file. One without any is a tuning file of no lines. */
static bool is_front(const char *text, size_t bytes) {
  const size_t length = sizeof FRONT_OF_ALL - 1;
  return bytes == 0 || (bytes >= length && memcmp(text, FRONT_OF_ALL, length) == 0);
}

static lk_status fail_other(const char *path, lk_error *error) {
  return lk_fail(
      error, LK_MALFORMED,
      "failed to use '%s' as a tuning file: it does not begin with '%s', so it is another "
      "file; give one that `latchkey tune` has written, or a new name",
      path, FRONT_OF_ALL);
}

/* ---- reading ---- */

static lk_status fail_read(const char *path, int reason, lk_error *error) {
  return lk_fail(error, reason == ENOENT ? LK_NOT_FOUND : LK_IO,
                 "failed to read the tuning file '%s': %s", path, reason_text(reason));
}

static lk_status check_readable(const struct stat *info, const char *path, lk_error *error) {
  if (!S_ISREG(info->st_mode)) {
    return lk_fail(error, LK_IO, "failed to read the tuning file '%s': it is %s", path,
                   S_ISDIR(info->st_mode) ? "a directory, not a file" : "not a regular file");
  }
  if ((uint64_t)info->st_size <= LK_TUNING_FILE_MOST) return LK_OK;
  return lk_fail(error, LK_IO,
                 "failed to read the tuning file '%s': it has %lld bytes, at most %zu are allowed",
                 path, (long long)info->st_size, LK_TUNING_FILE_MOST);
}

/* Up to `size` bytes: of one that was cut meanwhile, what is left. */
static lk_status read_bytes(int file, const char *path, char *to, size_t size, size_t *out_bytes,
                            lk_error *error) {
  ssize_t got = 1;
  for (*out_bytes = 0; *out_bytes < size && got != 0;) {
    got = read(file, to + *out_bytes, size - *out_bytes);
    if (got < 0 && errno != EINTR) return fail_read(path, errno, error);
    if (got > 0) *out_bytes += (size_t)got;
  }
  return LK_OK;
}

lk_status lk_tuning_file_read(lk_tuning *tuning, const lk_allocator *allocator, const char *path,
                              lk_error *error) {
  lk_status status = LK_OK;
  struct stat info;
  size_t bytes = 0;
  char *text = NULL;
  const int file = open(path, O_RDONLY | OPEN_FLAGS);
  if (file < 0 || fstat(file, &info) != 0) LK_TRY(fail_read(path, errno, error));
  LK_TRY(check_readable(&info, path, error));
  const int failed = lock_file(file, LOCK_SH);
  if (failed != 0 || fstat(file, &info) != 0) {
    LK_TRY(fail_read(path, failed != 0 ? failed : errno, error));
  }
  text = lk_alloc(allocator, (size_t)info.st_size);
  if (text == NULL) LK_TRY(lk_fail_memory(error, "a tuning file", (size_t)info.st_size));
  LK_TRY(read_bytes(file, path, text, (size_t)info.st_size, &bytes, error));
  if (!is_front(text, bytes)) LK_TRY(fail_other(path, error));
  LK_TRY(lk_tuning_read(tuning, text, bytes, error));
cleanup:
  lk_free(allocator, text);
  if (file >= 0) (void)close(file);
  return status;
}

/* ---- appending ---- */

static lk_status fail_write(const char *path, const char *reason, lk_error *error) {
  return lk_fail(error, LK_IO, "failed to write measured times to '%s': %s", path, reason);
}

/* Its last byte is read, too. */
static lk_status open_place(const char *path, int *out_file, lk_error *error) {
  lk_file_place place;
  const int failed = lk_file_place_find(path, &place);
  if (failed != 0) return fail_write(path, strerror(failed), error);
  if (place.kind == LK_PLACE_OTHER) {
    (void)close(place.folder);
    return fail_write(path, "it is not a regular file", error);
  }
  const int link = place.kind == LK_PLACE_NUMBER ? 0 : O_NOFOLLOW; /* its name is a link */
  *out_file =
      openat(place.folder, place.name, O_RDWR | O_APPEND | O_CREAT | link | OPEN_FLAGS, 0666);
  const int reason = errno;
  (void)close(place.folder);
  return *out_file >= 0 ? LK_OK : fail_write(path, strerror(reason), error);
}

/* What stands before the lines: a new file says what it is, and one that ends within a line, whose
 * writer did not come to its end, ends it. */
static lk_status make_front(int file, off_t size, const char *path, const char **out_front,
                            lk_error *error) {
  char first[sizeof FRONT_OF_ALL - 1], last = '\n';
  *out_front = FRONT;
  if (size == 0) return LK_OK;
  const ssize_t begins = pread(file, first, sizeof first, 0),
                ends = pread(file, &last, 1, size - 1);
  if (begins < 0 || ends != 1) {
    return fail_write(path, strerror(begins < 0 || ends < 0 ? errno : EIO), error);
  }
  *out_front = last == '\n' ? "" : "\n";
  return is_front(first, (size_t)begins) ? LK_OK : fail_other(path, error);
}

/* 0, or an errno. */
static int write_bytes(int file, const char *from, size_t bytes) {
  while (bytes > 0) {
    const ssize_t put = write(file, from, bytes);
    if (put < 0 && errno != EINTR) return errno;
    if (put <= 0) continue;
    from += put;
    bytes -= (size_t)put;
  }
  return 0;
}

/* With the lock of the file held. */
static lk_status append(int file, const lk_tuning_lines *lines, const char *path, lk_error *error) {
  struct stat info;
  const char *front = NULL;
  if (fstat(file, &info) != 0) return fail_write(path, strerror(errno), error);
  if (!S_ISREG(info.st_mode)) return fail_write(path, "it is not a regular file", error);
  LK_RETURN_NOT_OK(make_front(file, info.st_size, path, &front, error));
  if ((uint64_t)info.st_size + strlen(front) + lines->bytes > LK_TUNING_FILE_MOST) {
    return fail_write(
        path, "it would be larger than 64 MiB, which is not read any more; begin a new one", error);
  }
  int reason = write_bytes(file, front, strlen(front));
  if (reason == 0) reason = write_bytes(file, lines->text, lines->bytes);
  if (reason == 0 && fsync(file) != 0) reason = errno;
  if (reason == 0) return LK_OK;
  /* Of a new file nothing is left but its name: another process may have it open by now. */
  if (ftruncate(file, info.st_size) == 0) return fail_write(path, strerror(reason), error);
  return lk_fail(
      error, LK_IO,
      "failed to write measured times to '%s': %s; a part of them is there, and cannot be "
      "taken back (%s)",
      path, strerror(reason), strerror(errno));
}

lk_status lk_tuning_file_append(lk_tuning *tuning, const char *path, uint64_t *out_works,
                                lk_error *error) {
  lk_tuning_lines lines;
  int file = -1;
  if (out_works != NULL) *out_works = 0;
  LK_RETURN_NOT_OK(lk_tuning_write(tuning, &lines, error));
  lk_status status = LK_OK;
  if (lines.works > 0) {
    LK_TRY(open_place(path, &file, error));
    const int failed = lock_file(file, LOCK_EX);
    if (failed != 0) LK_TRY(fail_write(path, reason_text(failed), error));
    status = append(file, &lines, path, error);
    /* not by closing it: a child of a fork may have it open as well */
    (void)flock(file, LOCK_UN);
    if (status == LK_OK && out_works != NULL) *out_works = lines.works;
  }
cleanup:
  if (file >= 0) (void)close(file);
  lk_tuning_settle(tuning, &lines, status == LK_OK);
  return status;
}
