/* Streams. What they read and write inside of the C library passes none of the functions in
 * files.c. */
#include <errno.h>
#include <stdio.h>

#include "tests/faults/interpose.h"

size_t __fread_chk(void *bytes, size_t capacity, size_t size, size_t count, FILE *stream);

static void *refuse(int code) {
  errno = code;
  return NULL;
}

FILE *fopen(const char *path, const char *mode) {
  FAULT_NEXT(FILE *, fopen, const char *, const char *);
  return fault_takes(FAULT_STREAM_OPEN) ? refuse(EMFILE) : next(path, mode);
}

FILE *fdopen(int file, const char *mode) {
  FAULT_NEXT(FILE *, fdopen, int, const char *);
  return fault_takes(FAULT_STREAM_ADOPT) ? refuse(ENOMEM) : next(file, mode);
}

FILE *open_memstream(char **out, size_t *size) {
  FAULT_NEXT(FILE *, open_memstream, char **, size_t *);
  return fault_takes(FAULT_STREAM_MEMORY) ? refuse(ENOMEM) : next(out, size);
}

char *fgets(char *text, int capacity, FILE *stream) {
  FAULT_NEXT(char *, fgets, char *, int, FILE *);
  return fault_takes(FAULT_STREAM_LINE) ? refuse(EIO) : next(text, capacity, stream);
}

/* Half of what was asked for comes, and then the device fails. */
size_t fread(void *bytes, size_t size, size_t count, FILE *stream) {
  FAULT_NEXT(size_t, fread, void *, size_t, size_t, FILE *);
  if (!fault_takes(FAULT_STREAM_READ)) return next(bytes, size, count, stream);
  const size_t got = next(bytes, size, count / 2, stream);
  errno = EIO;
  return got;
}

/* What fread is where buffers are checked. */
size_t __fread_chk(void *bytes, size_t capacity, size_t size, size_t count, FILE *stream) {
  FAULT_NEXT(size_t, __fread_chk, void *, size_t, size_t, size_t, FILE *);
  if (!fault_takes(FAULT_STREAM_READ)) return next(bytes, capacity, size, count, stream);
  const size_t got = next(bytes, capacity, size, count / 2, stream);
  errno = EIO;
  return got;
}

/* Half of it is written, and then the device is full. The stream remembers it, as the C library has
 * it: who asks ferror at the end need not look at each call. */
size_t fwrite(const void *bytes, size_t size, size_t count, FILE *stream) {
  FAULT_NEXT(size_t, fwrite, const void *, size_t, size_t, FILE *);
  if (!fault_takes(FAULT_STREAM_WRITE)) return next(bytes, size, count, stream);
  const size_t done = next(bytes, size, count / 2, stream);
  stream->_flags |= _IO_ERR_SEEN;
  errno = ENOSPC;
  return done;
}

int fflush(FILE *stream) {
  FAULT_NEXT(int, fflush, FILE *);
  const int failed = next(stream);
  if (!fault_takes(FAULT_STREAM_FLUSH)) return failed;
  errno = ENOSPC;
  return EOF;
}

/* The stream is gone all the same. */
int fclose(FILE *stream) {
  FAULT_NEXT(int, fclose, FILE *);
  const int failed = next(stream);
  if (!fault_takes(FAULT_STREAM_CLOSE)) return failed;
  errno = ENOSPC;
  return EOF;
}
