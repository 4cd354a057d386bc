/* From what an option says to the address of a socket. */
#include "plugin/serve_path.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/status.h"

static bool is_folder(const char *path) {
  struct stat info;
  const size_t length = strlen(path);
  return (length > 0 && path[length - 1] == '/') ||
         (stat(path, &info) == 0 && S_ISDIR(info.st_mode));
}

/* The folder of the default, which only its owner may enter. */
static lk_status make_folder(char *path, size_t capacity, lk_error *error) {
  const char *runtime = getenv("XDG_RUNTIME_DIR");
  if (runtime == NULL || runtime[0] != '/') {
    return lk_fail(error, LK_NOT_FOUND,
                   "failed to find a place for the socket: XDG_RUNTIME_DIR is not set, a path is "
                   "needed instead of 'default'");
  }
  (void)snprintf(path, capacity, "%s/latchkey", runtime); /* what is cut has no room for a socket */
  if (mkdir(path, 0700) == 0 || errno == EEXIST) return LK_OK;
  return lk_fail(error, LK_IO, "failed to make the folder '%s' for the socket: %m", path);
}

lk_status lk_serve_path(const char *asked, struct sockaddr_un *out, lk_error *error) {
  char folder[sizeof out->sun_path] = "";
  const char *path = asked;
  int length = 0;
  *out = (struct sockaddr_un){.sun_family = AF_UNIX};
  if (strcmp(asked, "default") == 0) {
    LK_RETURN_NOT_OK(make_folder(folder, sizeof folder, error));
    path = folder;
  }
  if (is_folder(path)) {
    length = snprintf(out->sun_path, sizeof out->sun_path, "%s/%d.sock", path, (int)getpid());
  } else {
    length = snprintf(out->sun_path, sizeof out->sun_path, "%s", path);
  }
  if (length > 0 && (size_t)length < sizeof out->sun_path) return LK_OK;
  return lk_fail(error, LK_OUT_OF_RANGE,
                 "failed to serve at '%.64s': its path has %d bytes, 1 to %zu are allowed", asked,
                 length, sizeof out->sun_path - 1);
}
