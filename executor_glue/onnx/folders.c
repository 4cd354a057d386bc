/* The folders that a model's other files may lie in, and opening what lies there. */
#include "executor_glue/onnx/folders.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/status.h"

/* As many as the kernel follows. */
#define MAX_LINKS 40

/* ---- the folders ---- */

static bool is_known(const lk_onnx_folders *folders, const char *path) {
  for (size_t i = 0; i < folders->count; i++) {
    if (strcmp(folders->paths[i], path) == 0) return true;
  }
  return false;
}

/* Adds the folder of the file at `path`, and writes it to `folder` without links. */
static lk_status add_folder(lk_onnx_folders *self, const char *path, char folder[PATH_MAX],
                            lk_error *error) {
  char name[PATH_MAX], resolved[PATH_MAX + 1];
  const char *slash = strrchr(path, '/');
  const int length = slash == NULL ? 1 : (int)(slash - path) + 1;
  (void)snprintf(name, sizeof name, "%.*s", length, slash == NULL ? "." : path);
  if (realpath(name, folder) == NULL) {
    return lk_fail(error, LK_IO, "failed to find the model's folder '%s': %s", name,
                   strerror(errno));
  }
  const bool is_root = folder[1] == '\0';
  (void)snprintf(resolved, sizeof resolved, "%s%s", folder, is_root ? "" : "/");
  if (is_known(self, resolved)) return LK_OK;
  char *copy = lk_strdup(self->allocator, resolved);
  if (copy == NULL || !LK_GROW(self->allocator, self->paths, self->count, self->capacity)) {
    lk_free(self->allocator, copy);
    return lk_fail_memory(error, "a folder of a model", sizeof resolved);
  }
  self->paths[self->count++] = copy;
  return LK_OK;
}

static lk_status fail_long(const char *path, lk_error *error) {
  return lk_fail(error, LK_OUT_OF_RANGE,
                 "failed to find a file: the path is longer than %d bytes, it begins with '%.40s'",
                 PATH_MAX - 1, path);
}

lk_status lk_onnx_folders_create(const lk_allocator *allocator, const char *model_path,
                                 lk_onnx_folders *out, lk_error *error) {
  char path[PATH_MAX], folder[PATH_MAX], target[PATH_MAX];
  *out = (lk_onnx_folders){.allocator = allocator};
  if (strlen(model_path) >= sizeof path) return fail_long(model_path, error);
  (void)snprintf(path, sizeof path, "%s", model_path);
  for (int i = 0; i <= MAX_LINKS; i++) {
    LK_RETURN_NOT_OK(add_folder(out, path, folder, error));
    const ssize_t length = readlink(path, target, sizeof target - 1);
    if (length < 0) break; /* the file itself */
    target[length] = '\0';
    const int whole = target[0] == '/' ? snprintf(path, sizeof path, "%s", target)
                                       : snprintf(path, sizeof path, "%s/%s", folder, target);
    if (whole >= (int)sizeof path) return fail_long(target, error);
  }
  return LK_OK;
}

void lk_onnx_folders_destroy(lk_onnx_folders *folders) {
  if (folders->allocator == NULL) return;
  for (size_t i = 0; i < folders->count; i++) lk_free(folders->allocator, folders->paths[i]);
  lk_free(folders->allocator, folders->paths);
  *folders = (lk_onnx_folders){0};
}

/* ---- what lies there ---- */

int lk_onnx_open_without_links(const char *path) {
  enum { SAME = O_CLOEXEC | O_NOFOLLOW };
  int folder = open("/", O_PATH | O_DIRECTORY | SAME);
  if (path[0] != '/') errno = EINVAL;
  for (const char *name = path + 1; path[0] == '/' && folder >= 0;) {
    char part[NAME_MAX + 1];
    const size_t length = strcspn(name, "/");
    const bool is_last = name[length] == '\0';
    int next = -1;
    if (length >= sizeof part) {
      errno = ENAMETOOLONG;
    } else {
      (void)snprintf(part, sizeof part, "%.*s", (int)length, name);
      /* O_NONBLOCK: opening a pipe must fail later, not wait for a writer. */
      next = openat(folder, part,
                    SAME | (is_last ? O_RDONLY | O_NONBLOCK | O_NOCTTY : O_PATH | O_DIRECTORY));
    }
    const int code = errno;
    (void)close(folder);
    errno = code;
    if (is_last) return next;
    folder = next;
    name += length + 1;
  }
  if (folder >= 0) (void)close(folder);
  return -1;
}

/* Whether a relative path has a component "..". */
static bool climbs(const char *path) {
  for (const char *part = path; part != NULL; part = strchr(part, '/')) {
    if (*part == '/') part++;
    if (part[0] == '.' && part[1] == '.' && (part[2] == '/' || part[2] == '\0')) return true;
  }
  return false;
}

static bool is_below(const lk_onnx_folders *folders, const char *resolved) {
  for (size_t i = 0; i < folders->count; i++) {
    if (strncmp(resolved, folders->paths[i], strlen(folders->paths[i])) == 0) return true;
  }
  return false;
}

static lk_status fail_open(const char *path, int code, lk_error *error) {
  return lk_fail(error, code == ENOENT || code == ENOTDIR ? LK_NOT_FOUND : LK_IO,
                 "failed to open external data '%s': %s", path, strerror(code));
}

/* Looks in one folder. */
static lk_status open_in(const lk_onnx_folders *folders, const char *folder, const char *location,
                         int *out_file, lk_error *error) {
  char path[PATH_MAX], resolved[PATH_MAX];
  struct stat info;
  const int length = snprintf(path, sizeof path, "%s%s", folder, location);
  if (length < 0 || length >= PATH_MAX) return fail_long(location, error);
  if (realpath(path, resolved) == NULL) return fail_open(path, errno, error);
  if (!is_below(folders, resolved)) {
    return lk_fail(
        error, LK_MALFORMED,
        "failed to open external data '%s': it is a link that leaves the model's folder, and that "
        "of the file to which the model's path leads; its target must lie in one of them",
        location);
  }
  /* Not even opened: devices may do something when they are. */
  if (lstat(resolved, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISLNK(info.st_mode)) {
    return lk_fail(error, LK_IO, "failed to open external data '%s': it is %s", path,
                   S_ISDIR(info.st_mode) ? "a directory, not a file" : "not a regular file");
  }
  *out_file = lk_onnx_open_without_links(resolved);
  return *out_file >= 0 ? LK_OK : fail_open(path, errno, error);
}

/* The model's folder is the first, that of the file itself, behind all links, the last. */
static lk_status fail_missing(const lk_onnx_folders *folders, const char *location,
                              lk_error *error) {
  const char *first = folders->paths[0], *last = folders->paths[folders->count - 1];
  const bool is_one = folders->count == 1;
  return lk_fail(error, LK_NOT_FOUND,
                 "failed to open external data '%s': it is not in the model's folder, '%s'%s%s%s; "
                 "a model and its data files are copied together: put it there",
                 location, first, is_one ? "" : ", nor in that to which its links lead, '",
                 is_one ? "" : last, is_one ? "" : "'");
}

lk_status lk_onnx_folders_open(const lk_onnx_folders *folders, const char *location, int *out_file,
                               lk_error *error) {
  *out_file = -1;
  if (location[0] == '\0' || location[0] == '/' || climbs(location)) {
    return lk_fail(
        error, LK_MALFORMED,
        "failed to open external data '%s': the location must be a path within the model's folder; "
        "put the file there and save the model anew, as onnx.save_model does with "
        "save_as_external_data=True",
        location);
  }
  /* Where no folder has it, the sentence names the one that the user knows: the first. */
  lk_error later;
  lk_status status = open_in(folders, folders->paths[0], location, out_file, error);
  for (size_t i = 1; status == LK_NOT_FOUND && i < folders->count; i++) {
    status = open_in(folders, folders->paths[i], location, out_file, &later);
    if (status != LK_OK && status != LK_NOT_FOUND)
      return lk_fail(error, status, "%s", later.message);
  }
  return status == LK_NOT_FOUND ? fail_missing(folders, location, error) : status;
}
