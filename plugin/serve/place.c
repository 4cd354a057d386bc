/* Taking the place of a socket: nobody's who lives is taken, and none is taken by two. */
#include "plugin/serve/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/status.h"

enum {
  BACKLOG = 64, /* clients that have not been accepted yet */
  LOCK_TRIES = 100,
  LOCK_REST_NS = 10 * 1000 * 1000 /* between two of them */
};

static lk_status fail(const struct sockaddr_un *address, lk_error *error) {
  return lk_fail(error, LK_IO, "failed to serve at '%s': %m", address->sun_path);
}

/* The folder of the path, locked: of two processes that find the same stale file, the second one
 * looks again when the first one listens. A stranger who has the lock for longer than a second does
 * not keep the process from serving. -1: not locked. */
static int lock_folder(const struct sockaddr_un *address) {
  static const struct timespec rest = {.tv_nsec = LOCK_REST_NS};
  char folder[sizeof address->sun_path + 1];
  memcpy(folder, address->sun_path, sizeof address->sun_path);
  *(strrchr(folder, '/') + 1) = '\0'; /* the path is absolute */
  const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (int i = 0; fd >= 0 && i < LOCK_TRIES; i++) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) break;
    (void)nanosleep(&rest, NULL);
  }
  return fd;
}

/* A socket to which nothing is bound is what a process has left that did not end by itself. Whether
 * something is bound is asked with another type of socket: that is refused by its type if somebody
 * has it, listens or not, and takes no place in anybody's queue. */
static lk_status remove_stale(const struct sockaddr_un *address, lk_error *error) {
  struct stat info;
  const char *path = address->sun_path;
  if (lstat(path, &info) != 0) return errno == ENOENT ? LK_OK : fail(address, error);
  if (!S_ISSOCK(info.st_mode)) {
    return lk_fail(error, LK_IO, "failed to serve at '%s': it exists and is not a socket", path);
  }
  const int probe = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return fail(address, error);
  const int failed = connect(probe, (const struct sockaddr *)address, sizeof *address);
  const bool is_stale = failed != 0 && errno == ECONNREFUSED;
  (void)close(probe);
  if (!is_stale) {
    return lk_fail(error, LK_IO, "failed to serve at '%s': another process serves there", path);
  }
  return unlink(path) == 0 || errno == ENOENT ? LK_OK : fail(address, error);
}

static lk_status bind_and_listen(lk_serve_place *place, lk_error *error) {
  struct stat info;
  const struct sockaddr_un *address = &place->address;
  place->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (place->listener < 0) return fail(address, error);
  /* bind gives the file the mode of the socket, so that it has no other for any moment */
  if (fchmod(place->listener, 0600) != 0 ||
      bind(place->listener, (const struct sockaddr *)address, sizeof *address) != 0) {
    return fail(address, error);
  }
  if (lstat(address->sun_path, &info) != 0) return fail(address, error);
  place->device = info.st_dev;
  place->inode = info.st_ino;
  return listen(place->listener, BACKLOG) == 0 ? LK_OK : fail(address, error);
}

/* Of the inode: a name that goes changes its count of names. */
static int watch_file(const char *path) {
  const int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (watch < 0) return -1;
  if (inotify_add_watch(watch, path, IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF) >= 0) return watch;
  (void)close(watch);
  return -1;
}

lk_status lk_serve_place_open(const struct sockaddr_un *address, lk_serve_place *out,
                              lk_error *error) {
  lk_serve_place place = {.address = *address, .listener = -1, .watch = -1};
  const int folder = lock_folder(address);
  lk_status status = remove_stale(address, error);
  if (status == LK_OK) status = bind_and_listen(&place, error);
  if (status == LK_OK) {
    place.watch = watch_file(address->sun_path);
  } else {
    lk_serve_place_remove(&place);
    lk_serve_place_close(&place);
    place.listener = -1;
    place.inode = 0;
  }
  if (folder >= 0) (void)close(folder); /* and with it the lock */
  *out = place;
  return status;
}

static lk_serve_owner owner_of(const lk_serve_place *place) {
  struct stat info;
  if (lstat(place->address.sun_path, &info) != 0) return LK_SERVE_NOBODYS;
  const bool is_own =
      place->inode != 0 && info.st_dev == place->device && info.st_ino == place->inode;
  return is_own ? LK_SERVE_OWN : LK_SERVE_ANOTHERS;
}

lk_serve_owner lk_serve_place_owner(const lk_serve_place *place) {
  char events[sizeof(struct inotify_event) * 16];
  while (place->watch >= 0 && read(place->watch, events, sizeof events) > 0) continue;
  return owner_of(place);
}

void lk_serve_place_remove(const lk_serve_place *place) {
  if (owner_of(place) == LK_SERVE_OWN) (void)unlink(place->address.sun_path);
}

void lk_serve_place_close(const lk_serve_place *place) {
  if (place->listener >= 0) (void)close(place->listener);
  if (place->watch >= 0) (void)close(place->watch);
}
