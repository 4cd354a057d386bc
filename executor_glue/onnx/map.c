/* A file mapped for reading. */
#include "executor_glue/onnx/map.h"

#include <errno.h>
#include <fcntl.h>
#include <latchkey/latchkey.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/owner.h"
#include "base/readable.h"
#include "base/status.h"

static lk_status fail_errno(const char *verb, const char *path, int code, lk_error *error) {
  char buffer[128];
  return lk_fail(error, code == ENOENT || code == ENOTDIR ? LK_NOT_FOUND : LK_IO,
                 "failed to %s '%s': %s", verb, path, strerror_r(code, buffer, sizeof buffer));
}

/* What is counted. */
typedef struct mapping {
  lk_owner owner;
  const lk_allocator *allocator;
  atomic_uint_least32_t users;
  void *bytes;
  size_t size;
  bool is_copy;
} mapping;

static void retain(void *object) {
  mapping *self = object;
  atomic_fetch_add_explicit(&self->users, 1, memory_order_relaxed);
}

static void release(void *object) {
  mapping *self = object;
  if (atomic_fetch_sub_explicit(&self->users, 1, memory_order_acq_rel) != 1) return;
  if (self->is_copy) {
    lk_free(self->allocator, self->bytes);
  } else if (self->bytes != NULL) {
    (void)munmap(self->bytes, self->size);
  }
  lk_free(self->allocator, self);
}

static lk_status map_file(const char *path, int file, mapping *out, lk_error *error) {
  void *bytes = mmap(NULL, out->size, PROT_READ, MAP_PRIVATE, file, 0);
  if (bytes == MAP_FAILED) return fail_errno("map", path, errno, error);
  out->bytes = bytes;
  return LK_OK;
}

enum { PIECE_BYTES = 4 << 20 };

static lk_status copy_file(const char *path, int file, mapping *out, lk_error *error) {
  lk_status status = LK_OK;
  size_t done = 0;
  const size_t size = out->size;
  uint8_t *bytes = lk_alloc_aligned(out->allocator, size, LK_DATA_ALIGNMENT);
  if (bytes == NULL) return lk_fail_memory(error, "a copy of a model's file", size);
  while (done < size) { /* in pieces, between which opening may end */
    const size_t more = size - done < PIECE_BYTES ? size - done : PIECE_BYTES;
    LK_TRY(lk_get_api(LK_API_VERSION)->thread_look(error));
    const ssize_t got = read(file, bytes + done, more);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) LK_TRY(fail_errno("read", path, errno, error));
    if (got == 0) {
      LK_TRY(lk_fail(error, LK_IO, "failed to read '%s': it ends after %zu bytes of %zu", path,
                     done, size));
    }
    done += (size_t)got;
  }
  out->bytes = bytes;
  bytes = NULL;

cleanup:
  lk_free(out->allocator, bytes);
  return status;
}

/* The bytes of a regular file that is not empty. */
static lk_status make_mapping(const lk_allocator *allocator, const char *path, int file,
                              const struct stat *info, bool copies, lk_onnx_map *out,
                              lk_error *error) {
  lk_status status = LK_OK;
  mapping *made = lk_calloc(allocator, 1, sizeof *made);
  if (made == NULL) return lk_fail_memory(error, "a mapped file", sizeof *made);
  atomic_init(&made->users, 1);
  made->allocator = allocator;
  made->size = (size_t)info->st_size;
  made->is_copy = copies;
  made->owner = (lk_owner){
      .struct_size = sizeof made->owner, .object = made, .retain = retain, .release = release};
  if (copies) {
    LK_TRY(copy_file(path, file, made, error));
  } else {
    LK_TRY(map_file(path, file, made, error));
    made->owner.origin[0] = info->st_dev;
    made->owner.origin[1] = info->st_ino;
    made->owner.begin = made->bytes;
  }
  *out = (lk_onnx_map){
      .bytes = made->bytes, .size = made->size, .is_copy = copies, .owner = &made->owner};
  made = NULL;

cleanup:
  if (made != NULL) release(made);
  return status;
}

lk_status lk_onnx_map_file(const lk_allocator *allocator, int file, const char *path, bool copies,
                           lk_onnx_map *out, lk_error *error) {
  lk_status status = LK_OK;
  struct stat info;
  *out = (lk_onnx_map){0};
  if (fstat(file, &info) != 0) {
    status = fail_errno("inspect", path, errno, error);
  } else if (S_ISDIR(info.st_mode)) {
    status = lk_fail(error, LK_IO, "failed to open '%s': it is a directory, not a file", path);
  } else if (!S_ISREG(info.st_mode)) {
    status = lk_fail(error, LK_IO, "failed to open '%s': it is not a regular file", path);
  } else if (info.st_size == 0) {
    status =
        lk_fail(error, LK_MALFORMED,
                "failed to read '%s': the file is empty: a download or a copy was cut off", path);
  } else {
    status = make_mapping(allocator, path, file, &info, copies, out, error);
  }
  return status;
}

lk_status lk_onnx_map_create(const lk_allocator *allocator, const char *path, bool copies,
                             lk_onnx_map *out, lk_error *error) {
  *out = (lk_onnx_map){0};
  /* O_NONBLOCK: opening a pipe must fail later, not wait for a writer. */
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return fail_errno("open", path, errno, error);
  const lk_status status = lk_onnx_map_file(allocator, file, path, copies, out, error);
  (void)close(file);
  return status;
}

static bool is_mapped(const lk_onnx_map *map) {
  return map->bytes != NULL && !map->is_copy;
}

lk_status lk_onnx_map_check(const lk_onnx_map *map, const char *path, lk_error *error) {
  if (!is_mapped(map) || lk_is_readable(map->bytes, map->size)) return LK_OK;
  return lk_fail(error, LK_IO,
                 "failed to read '%s': since the model was opened the file was cut, or its disk "
                 "fails",
                 path);
}

void lk_onnx_map_drop_pages(const lk_onnx_map *map) {
  if (!is_mapped(map)) return;
  (void)madvise((void *)(uintptr_t)map->bytes, map->size, MADV_DONTNEED);
}

void lk_onnx_map_destroy(lk_onnx_map *map) {
  if (map->owner != NULL) lk_owner_release(map->owner);
  *map = (lk_onnx_map){0};
}
