/* Following a path to where a file is to be written. */
#include "base/file_place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { MOST_LINKS = 40 }; /* as the kernel */

/* Goes into the folder of `path`, which is relative to the one where the place is. The kernel
 * follows links among the folders, by its own rules. */
static int enter(lk_file_place *place, const char *path) {
  char folder[sizeof place->link];
  const char *slash = strrchr(path, '/');
  const size_t length = slash == NULL ? 0 : (size_t)(slash - path) + 1;
  if (length >= sizeof folder) return ENAMETOOLONG;
  memcpy(folder, path, length);
  folder[length] = '\0';
  const int opened =
      openat(place->folder, length > 0 ? folder : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  const int failed = errno;
  if (place->folder >= 0) (void)close(place->folder);
  place->folder = opened;
  place->name = path + length;
  if (opened < 0) return failed;
  return place->name[0] == '\0' || strcmp(place->name, ".") == 0 || strcmp(place->name, "..") == 0
             ? EISDIR
             : 0;
}

/* Whether the folder is one of /proc, whose links are no texts. */
static bool is_proc(const lk_file_place *place) {
  struct statfs info;
  return fstatfs(place->folder, &info) == 0 && info.f_type == PROC_SUPER_MAGIC;
}

/* Whether the folder has this process's open files: /proc/PID/fd, /proc/PID/task/TID/fd. */
static bool has_own_numbers(const lk_file_place *place) {
  char of_folder[64], text[128], own[64];
  (void)snprintf(of_folder, sizeof of_folder, "/proc/self/fd/%d", place->folder);
  const ssize_t length = readlink(of_folder, text, sizeof text - 1);
  if (length < 0) return false;
  text[length] = '\0';
  const int begin = snprintf(own, sizeof own, "/proc/%d/", (int)getpid());
  return strncmp(text, own, (size_t)begin) == 0 && length > 3 &&
         strcmp(text + length - 3, "/fd") == 0;
}

static bool read_number(const char *name, int *out) {
  char *end = NULL;
  const long number = strtol(name, &end, 10);
  *out = (int)number;
  return name[0] >= '0' && name[0] <= '9' && *end == '\0' && number < 1 << 30;
}

/* The rule of Linux's protected_symlinks. */
static bool may_follow(const lk_file_place *place, const struct stat *link) {
  struct stat folder;
  const mode_t open_to_all = S_ISVTX | S_IWOTH;
  if (fstat(place->folder, &folder) != 0) return false;
  return (folder.st_mode & open_to_all) != open_to_all || link->st_uid == geteuid() ||
         link->st_uid == folder.st_uid;
}

/* What is there, if it is no link. */
static void settle(lk_file_place *place, const struct stat *info) {
  place->kind = S_ISREG(info->st_mode) ? LK_PLACE_FILE : LK_PLACE_OTHER;
  place->mode = info->st_mode & 0777;
  place->user = info->st_uid;
  place->group = info->st_gid;
}

/* One step from where the place is. 0 and `*out_done`, or an errno. */
static int step(lk_file_place *place, bool *out_done) {
  struct stat info;
  char target[sizeof place->link];
  *out_done = true;
  if (fstatat(place->folder, place->name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
    place->kind = LK_PLACE_NEW;
    return errno == ENOENT ? 0 : errno;
  }
  if (!S_ISLNK(info.st_mode)) {
    settle(place, &info);
    return 0;
  }
  if (is_proc(place) && has_own_numbers(place) && read_number(place->name, &place->number)) {
    place->kind = LK_PLACE_NUMBER;
    return place->number != place->folder ? 0 : ENOENT; /* it was free before this */
  }
  *out_done = false;
  if (!may_follow(place, &info)) return EACCES;
  const ssize_t length = readlinkat(place->folder, place->name, target, sizeof target);
  if (length < 0) return errno;
  if ((size_t)length == sizeof target) return ENAMETOOLONG;
  target[length] = '\0';
  /* /proc/self leads to /proc/PID; what a link of /proc to an open file leads to is not its text */
  if (is_proc(place) && fstatat(place->folder, place->name, &info, 0) == 0 &&
      !S_ISDIR(info.st_mode)) {
    place->kind = LK_PLACE_OTHER;
    *out_done = true;
    return 0;
  }
  memcpy(place->link, target, (size_t)length + 1);
  return enter(place, place->link);
}

int lk_file_place_find(const char *path, lk_file_place *out) {
  *out = (lk_file_place){.folder = AT_FDCWD};
  int failed = path[0] != '\0' ? enter(out, path) : ENOENT;
  bool done = false;
  for (int i = 0; failed == 0 && !done; i++) {
    failed = i < MOST_LINKS ? step(out, &done) : ELOOP;
  }
  if (failed == 0) return 0;
  if (out->folder >= 0) (void)close(out->folder);
  out->folder = -1;
  return failed;
}
