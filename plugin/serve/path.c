/* From what an option says to the address of a socket. */
#include "plugin/serve/path.h"

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

/* The folder in which a relative path begins is the one of now, which the process may leave. From
 * malloc; NULL: none is needed, or (LK_IO) it is not known. */
static lk_status find_beginning(const char *path, char **out, lk_error *error) {
  *out = NULL;
  if (path[0] == '/' || path[0] == '\0') return LK_OK;
  *out = getcwd(NULL, 0);
  if (*out != NULL) return LK_OK;
  return lk_fail(error, LK_IO, "failed to serve at '%.64s': the working folder is not known: %m",
                 path);
}

lk_status lk_serve_path(const char *asked, struct sockaddr_un *out, lk_error *error) {
  char folder[sizeof out->sun_path] = "", file[32] = "";
  char *begin = NULL;
  const char *path = asked;
  *out = (struct sockaddr_un){.sun_family = AF_UNIX};
  if (strcmp(asked, "default") == 0) {
    LK_RETURN_NOT_OK(make_folder(folder, sizeof folder, error));
    path = folder;
  }
  if (is_folder(path)) (void)snprintf(file, sizeof file, "/%d.sock", (int)getpid());
  LK_RETURN_NOT_OK(find_beginning(path, &begin, error));
  const int length = snprintf(out->sun_path, sizeof out->sun_path, "%s%s%s%s",
                              begin != NULL ? begin : "", begin != NULL ? "/" : "", path, file);
  free(begin);
  if (length > 0 && (size_t)length < sizeof out->sun_path) return LK_OK;
  return lk_fail(error, LK_OUT_OF_RANGE,
                 "failed to serve at '%.64s': its absolute path has %d bytes, 1 to %zu are allowed",
                 asked, length, sizeof out->sun_path - 1);
}
