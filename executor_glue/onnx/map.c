/* A file mapped for reading. */
#include "executor_glue/onnx/map.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/status.h"

static lk_status fail_errno(const char *verb, const char *path, int code, lk_error *error) {
  char buffer[128];
  return lk_fail(error, code == ENOENT || code == ENOTDIR ? LK_NOT_FOUND : LK_IO,
                 "failed to %s '%s': %s", verb, path, strerror_r(code, buffer, sizeof buffer));
}

lk_status lk_onnx_map_open(const char *path, lk_onnx_map *out, lk_error *error) {
  lk_status status = LK_OK;
  struct stat info;
  void *bytes = MAP_FAILED;
  *out = (lk_onnx_map){0};

  /* O_NONBLOCK: opening a pipe must fail below, not wait for a writer. */
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return fail_errno("open", path, errno, error);
  if (fstat(file, &info) != 0) {
    status = fail_errno("inspect", path, errno, error);
  } else if (S_ISDIR(info.st_mode)) {
    status = lk_fail(error, LK_IO, "failed to open '%s': it is a directory, not a file", path);
  } else if (!S_ISREG(info.st_mode)) {
    status = lk_fail(error, LK_IO, "failed to open '%s': it is not a regular file", path);
  } else if (info.st_size == 0) {
    status = lk_fail(error, LK_MALFORMED, "failed to read '%s': the file is empty", path);
  } else {
    bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED) status = fail_errno("map", path, errno, error);
  }
  (void)close(file);
  if (status == LK_OK) *out = (lk_onnx_map){bytes, (size_t)info.st_size};
  return status;
}

void lk_onnx_map_drop_pages(const lk_onnx_map *map) {
  if (map->bytes != NULL) (void)madvise((void *)(uintptr_t)map->bytes, map->size, MADV_DONTNEED);
}

void lk_onnx_map_close(lk_onnx_map *map) {
  if (map->bytes != NULL) (void)munmap((void *)(uintptr_t)map->bytes, map->size);
  *map = (lk_onnx_map){0};
}
