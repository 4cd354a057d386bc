/* Files and folders, by descriptor and by path. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/faults/interpose.h"

char *__realpath_chk(const char *path, char *resolved, size_t capacity);

static char *refuse_path(void) {
  errno = EACCES;
  return NULL;
}

char *realpath(const char *path, char *resolved) {
  FAULT_NEXT(char *, realpath, const char *, char *);
  return fault_takes(FAULT_PATH) ? refuse_path() : next(path, resolved);
}

/* What realpath is where buffers are checked. */
char *__realpath_chk(const char *path, char *resolved, size_t capacity) {
  FAULT_NEXT(char *, __realpath_chk, const char *, char *, size_t);
  return fault_takes(FAULT_PATH) ? refuse_path() : next(path, resolved, capacity);
}

int open(const char *path, int flags, ...) {
  FAULT_NEXT(int, open, const char *, int, ...);
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return fault_takes(FAULT_OPEN) ? fault_fail(EMFILE) : next(path, flags, mode);
}

int fstat(int file, struct stat *out) {
  FAULT_NEXT(int, fstat, int, struct stat *);
  return fault_takes(FAULT_STATUS) ? fault_fail(EIO) : next(file, out);
}

ssize_t read(int file, void *bytes, size_t size) {
  FAULT_NEXT(ssize_t, read, int, void *, size_t);
  if (fault_takes(FAULT_READ)) return fault_fail(EIO);
  if (fault_takes(FAULT_READ_INTERRUPTED)) return fault_fail(EINTR);
  if (fault_takes(FAULT_READ_END)) return 0;
  if (size > 1 && fault_takes(FAULT_READ_SHORT)) size /= 2;
  return next(file, bytes, size);
}

ssize_t pread(int file, void *bytes, size_t size, off_t at) {
  FAULT_NEXT(ssize_t, pread, int, void *, size_t, off_t);
  return fault_takes(FAULT_READ_AT) ? fault_fail(EIO) : next(file, bytes, size, at);
}

/* To regular files: an eventfd, which wakes a thread, takes what is written to it. */
ssize_t write(int file, const void *bytes, size_t size) {
  FAULT_NEXT(ssize_t, write, int, const void *, size_t);
  struct stat info;
  if (fstatat(file, "", &info, AT_EMPTY_PATH) == 0 && S_ISREG(info.st_mode)) {
    if (fault_takes(FAULT_WRITE)) return fault_fail(ENOSPC);
    if (fault_takes(FAULT_WRITE_INTERRUPTED)) return fault_fail(EINTR);
    if (size > 1 && fault_takes(FAULT_WRITE_SHORT)) size /= 2;
  }
  return next(file, bytes, size);
}

int flock(int file, int operation) {
  FAULT_NEXT(int, flock, int, int);
  if (fault_takes(FAULT_FILE_LOCK)) return fault_fail(ENOLCK);
  return fault_takes(FAULT_FILE_LOCK_INTERRUPTED) ? fault_fail(EINTR) : next(file, operation);
}

/* The descriptor is closed all the same, as Linux does. */
int close(int file) {
  FAULT_NEXT(int, close, int);
  const int failed = next(file);
  return fault_takes(FAULT_CLOSE) ? fault_fail(EIO) : failed;
}

int mkdir(const char *path, mode_t mode) {
  FAULT_NEXT(int, mkdir, const char *, mode_t);
  return fault_takes(FAULT_MAKE_FOLDER) ? fault_fail(ENOSPC) : next(path, mode);
}

int openat(int folder, const char *path, int flags, ...) {
  FAULT_NEXT(int, openat, int, const char *, int, ...);
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return fault_takes(FAULT_MAKE_FILE) ? fault_fail(ENOSPC) : next(folder, path, flags, mode);
}

int fchmod(int file, mode_t mode) {
  FAULT_NEXT(int, fchmod, int, mode_t);
  return fault_takes(FAULT_MODE) ? fault_fail(EPERM) : next(file, mode);
}

int renameat(int from, const char *before, int to, const char *after) {
  FAULT_NEXT(int, renameat, int, const char *, int, const char *);
  return fault_takes(FAULT_RENAME) ? fault_fail(EIO) : next(from, before, to, after);
}

int fsync(int file) {
  FAULT_NEXT(int, fsync, int);
  return fault_takes(FAULT_SYNC) ? fault_fail(EIO) : next(file);
}
