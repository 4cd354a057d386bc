/* The socket by which a process tells its statistics. */
#include "plugin/serve.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fork.h"
#include "base/status.h"
#include "plugin/reporters.h"
#include "plugin/serve_path.h"
#include "plugin/serve_request.h"
#include "plugin/table.h"

enum {
  BACKLOG = 8,       /* clients that wait for their turn */
  REQUEST_MS = 1000, /* for the whole request */
  ANSWER_MS = 2000,  /* for the whole answer */
  REST_MS = 100,     /* after a failure to accept, which the next one would meet too */
  STACK_BYTES = 1 << 20
};
#define MOST_ANSWER_BYTES ((long)64 << 20)
#define MS_NS UINT64_C(1000000)

/* What the thread works with; it is the thread's from its start until it is joined. */
typedef struct endpoint {
  int listener, wake;
  pthread_t thread;
  struct sockaddr_un address;
  dev_t device; /* of the file, which may be another's by the time of the end */
  ino_t inode;
} endpoint;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static uint32_t n_users;
static endpoint *serving; /* NULL: nobody asked for it, or this is a child that has not */

/* ---- a client ---- */

/* Waits for `events` of a client. False: the time is over, or the thread is to end. */
static bool wait_for(const endpoint *self, int client, short events, uint64_t deadline_ns) {
  struct pollfd fds[] = {{.fd = client, .events = events}, {.fd = self->wake, .events = POLLIN}};
  for (;;) {
    const uint64_t now = lk_now_ns();
    if (now >= deadline_ns) return false;
    const int n = poll(fds, 2, (int)((deadline_ns - now) / MS_NS) + 1);
    if (n < 0 && errno != EINTR) return false;
    if (fds[1].revents != 0) return false;
    if (n > 0 && fds[0].revents != 0) return true;
  }
}

/* Whoever may trace this process may read its statistics. */
static bool may_ask(int client) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == geteuid() || peer.uid == 0;
}

/* Never reads more than a request may have. */
static lk_serve_request read_request(const endpoint *self, int client) {
  char bytes[LK_SERVE_REQUEST_BYTES];
  size_t count = 0;
  const uint64_t deadline_ns = lk_now_ns() + REQUEST_MS * MS_NS;
  lk_serve_request request = LK_SERVE_MORE;
  while (request == LK_SERVE_MORE && wait_for(self, client, POLLIN, deadline_ns)) {
    const ssize_t got = read(client, bytes + count, sizeof bytes - count);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) break;
    count += (size_t)got;
    request = lk_serve_request_read(bytes, count);
  }
  return request;
}

static void send_answer(const endpoint *self, int client, const char *text, size_t length) {
  const uint64_t deadline_ns = lk_now_ns() + ANSWER_MS * MS_NS;
  while (length > 0 && wait_for(self, client, POLLOUT, deadline_ns)) {
    const ssize_t sent = send(client, text, length, MSG_NOSIGNAL);
    if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (sent <= 0) return;
    text += sent;
    length -= (size_t)sent;
  }
}

/* In memory first: a session that is asked waits for no client. */
static void send_statistics(const endpoint *self, int client) {
  char *text = NULL;
  size_t length = 0;
  FILE *stream = open_memstream(&text, &length);
  if (stream == NULL) return;
  (void)fprintf(
      stream,
      "{\"schema\":\"latchkey-process-1\",\"version\":\"%s\",\"pid\":%d,\"time_ns\":%" PRIu64
      ",\"reports\":[",
      lk_version_text(), (int)getpid(), lk_now_ns());
  const uint64_t left_out = lk_reporters_write(stream, MOST_ANSWER_BYTES);
  (void)fprintf(stream, "],\"left_out\":%" PRIu64 "}\n", left_out);
  const bool is_whole = ferror(stream) == 0;
  if (fclose(stream) == 0 && is_whole) send_answer(self, client, text, length);
  free(text);
}

static void serve(const endpoint *self, int client) {
  static const char refusal[] =
      "{\"error\":\"failed to read the request: 'statistics 1' and a newline are needed\"}\n";
  if (!may_ask(client)) return;
  switch (read_request(self, client)) {
  case LK_SERVE_STATISTICS:
    send_statistics(self, client);
    return;
  case LK_SERVE_BAD:
    send_answer(self, client, refusal, sizeof refusal - 1);
    return;
  default:
    return; /* it has said nothing, or not in time */
  }
}

/* The next client; -1: none, for a reason that the next call may not meet. */
static int next_client(const endpoint *self, bool *out_ends) {
  struct pollfd fds[] = {{.fd = self->listener, .events = POLLIN},
                         {.fd = self->wake, .events = POLLIN}};
  const int n = poll(fds, 2, -1);
  *out_ends = n > 0 && fds[1].revents != 0;
  if (n <= 0 || *out_ends) return -1;
  return accept4(self->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

static void *work(void *arg) {
  static const struct timespec rest = {.tv_nsec = REST_MS * MS_NS};
  const endpoint *self = arg;
  for (;;) {
    bool ends = false;
    const int client = next_client(self, &ends);
    if (ends) return NULL;
    if (client >= 0) {
      serve(self, client);
      (void)close(client);
    } else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
      (void)nanosleep(&rest, NULL);
    }
  }
}

/* ---- start and end ---- */

static lk_status fail(const endpoint *self, lk_error *error) {
  return lk_fail(error, LK_IO, "failed to serve at '%s': %m", self->address.sun_path);
}

/* A socket that nobody serves is what a process has left that did not end by itself. */
static lk_status remove_stale(const endpoint *self, lk_error *error) {
  struct stat info;
  const char *path = self->address.sun_path;
  if (lstat(path, &info) != 0) return errno == ENOENT ? LK_OK : fail(self, error);
  if (!S_ISSOCK(info.st_mode)) {
    return lk_fail(error, LK_IO, "failed to serve at '%s': it exists and is not a socket", path);
  }
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return fail(self, error);
  const int failed = connect(probe, (const struct sockaddr *)&self->address, sizeof self->address);
  const bool is_stale = failed != 0 && errno == ECONNREFUSED;
  (void)close(probe);
  if (!is_stale) {
    return lk_fail(error, LK_IO, "failed to serve at '%s': another process serves there", path);
  }
  return unlink(path) == 0 || errno == ENOENT ? LK_OK : fail(self, error);
}

static lk_status listen_at(endpoint *self, lk_error *error) {
  struct stat info;
  LK_RETURN_NOT_OK(remove_stale(self, error));
  self->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  self->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (self->wake < 0 || self->listener < 0) return fail(self, error);
  /* bind gives the file the mode of the socket, so that it has no other for any moment */
  if (fchmod(self->listener, 0600) != 0 ||
      bind(self->listener, (const struct sockaddr *)&self->address, sizeof self->address) != 0) {
    return fail(self, error);
  }
  if (lstat(self->address.sun_path, &info) != 0) return fail(self, error);
  self->device = info.st_dev;
  self->inode = info.st_ino;
  return listen(self->listener, BACKLOG) == 0 ? LK_OK : fail(self, error);
}

/* Its thread takes no signals of the host's. */
static lk_status start_thread(endpoint *self, lk_error *error) {
  sigset_t all, before;
  pthread_attr_t attributes;
  (void)sigfillset(&all);
  (void)pthread_attr_init(&attributes); /* neither can fail on Linux */
  (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  errno = pthread_create(&self->thread, &attributes, work, self);
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  (void)pthread_attr_destroy(&attributes);
  return errno == 0 ? LK_OK : fail(self, error);
}

/* Only the file that was made here: another process may have put its own there since. */
static void remove_file(const endpoint *self) {
  struct stat info;
  const char *path = self->address.sun_path;
  if (self->inode == 0 || lstat(path, &info) != 0) return;
  if (info.st_dev == self->device && info.st_ino == self->inode) (void)unlink(path);
}

static void close_fds(const endpoint *self) {
  if (self->listener >= 0) (void)close(self->listener);
  if (self->wake >= 0) (void)close(self->wake);
}

/* The child has the files of the parent's socket open, and neither its thread nor its name. What
 * they took is not freed: another thread may have been inside the allocator. */
static void forget(void *object) {
  (void)object;
  if (serving != NULL) close_fds(serving);
  serving = NULL;
}

static lk_fork_entry over_fork = {.level = LK_FORK_LEAF, .mutex = &mutex, .child = forget};

static lk_status start(const struct sockaddr_un *address, lk_error *error) {
  lk_status status = LK_OK;
  endpoint *made = calloc(1, sizeof *made);
  if (made == NULL) return lk_fail_memory(error, "a socket", sizeof *made);
  *made = (endpoint){.listener = -1, .wake = -1, .address = *address};
  LK_TRY(listen_at(made, error));
  LK_TRY(start_thread(made, error));
  serving = made;
  made = NULL;
cleanup:
  if (made == NULL) return LK_OK;
  remove_file(made);
  close_fds(made);
  free(made);
  return status;
}

lk_status lk_serve_retain(const char *asked, lk_error *error) {
  lk_status status = LK_OK;
  struct sockaddr_un address;
  LK_RETURN_NOT_OK(lk_serve_path(asked, &address, error));
  lk_fork_enter(&over_fork);
  pthread_mutex_lock(&mutex);
  if (serving == NULL) {
    status = start(&address, error);
  } else if (strcmp(serving->address.sun_path, address.sun_path) != 0) {
    status = lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to serve at '%s': this process serves at '%s' already",
                     address.sun_path, serving->address.sun_path);
  }
  if (status == LK_OK) n_users++;
  pthread_mutex_unlock(&mutex);
  return status;
}

void lk_serve_release(void) {
  endpoint *last = NULL;
  pthread_mutex_lock(&mutex);
  if (--n_users == 0 && serving != NULL) {
    last = serving;
    serving = NULL;
    remove_file(last); /* with the lock: who begins to serve now finds the path free */
  }
  pthread_mutex_unlock(&mutex);
  if (last == NULL) return;
  /* without the lock: a fork takes it while the thread waits for others that the fork has */
  const uint64_t one = 1;
  while (write(last->wake, &one, sizeof one) < 0 && errno == EINTR) continue;
  (void)pthread_join(last->thread, NULL);
  close_fds(last);
  free(last);
}

void lk_serve_where(char *path, size_t capacity) {
  pthread_mutex_lock(&mutex);
  (void)snprintf(path, capacity, "%s", serving != NULL ? serving->address.sun_path : "");
  pthread_mutex_unlock(&mutex);
}
