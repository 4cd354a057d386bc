/* The socket by which a process tells its statistics: its thread, and who keeps it. */
#include "plugin/serve/serve.h"

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
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fork.h"
#include "base/status.h"
#include "plugin/serve/clients.h"
#include "plugin/serve/path.h"
#include "plugin/serve/place.h"
#include "plugin/serve/reporters.h"
#include "plugin/table.h"

enum {
  REST_MS = 100,  /* after a failure to accept, which the next one would meet too */
  LOOK_MS = 1000, /* between looks for the file where it cannot be watched, or is gone */
  WATCHED_LOOK_MS = 60 * 1000, /* and where it is watched: a folder above it may have been moved */
  STACK_BYTES = 1 << 20
};
#define MOST_ANSWER_BYTES ((long)64 << 20)
#define MS_NS UINT64_C(1000000)

/* What the thread works with; it is the thread's from its start until it is joined. */
typedef struct endpoint {
  int wake;
  pthread_t thread;
  bool is_left;         /* the thread itself was its last user: nobody joins it */
  lk_serve_place place; /* written with the mutex */
  lk_serve_clients clients;
} endpoint;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static uint32_t n_users;
static endpoint *serving; /* NULL: nobody asked for it, or this is a child that has not */

static void close_fds(const endpoint *self) {
  lk_serve_place_close(&self->place);
  if (self->wake >= 0) (void)close(self->wake);
}

/* ---- the thread ---- */

/* Whoever may trace this process may read its statistics. */
static bool may_ask(int client) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == geteuid() || peer.uid == 0;
}

/* In memory: a session that is asked waits for no client. */
static char *make_statistics(size_t *out_length) {
  char *text = NULL;
  FILE *stream = open_memstream(&text, out_length);
  if (stream == NULL) return NULL;
  (void)fprintf(
      stream,
      "{\"schema\":\"latchkey-process-1\",\"version\":\"%s\",\"pid\":%d,\"time_ns\":%" PRIu64
      ",\"reports\":[",
      lk_version_text(), (int)getpid(), lk_now_ns());
  const uint64_t left_out = lk_reporters_write(stream, MOST_ANSWER_BYTES);
  (void)fprintf(stream, "],\"left_out\":%" PRIu64 "}\n", left_out);
  const bool is_whole = ferror(stream) == 0;
  if (fclose(stream) == 0 && is_whole) return text;
  free(text);
  return NULL;
}

/* False: nobody waits, or none could be accepted. */
static bool accept_client(endpoint *self) {
  static const struct timespec rest = {.tv_nsec = REST_MS * MS_NS};
  const int client = accept4(self->place.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (client >= 0 && may_ask(client)) {
    lk_serve_clients_add(&self->clients, client);
  } else if (client >= 0) {
    (void)close(client);
  } else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
    (void)nanosleep(&rest, NULL);
  }
  return client >= 0;
}

/* Where nothing is at the path any more, somebody has tidied up: a socket is made there anew. Those
 * who wait at the old one are taken in first, as many as there is room for. Another's file stays,
 * and is looked at again. False: the file is not there. */
static bool keep_place(endpoint *self) {
  lk_serve_place made;
  const lk_serve_owner owner = lk_serve_place_owner(&self->place);
  if (owner != LK_SERVE_NOBODYS) return owner == LK_SERVE_OWN;
  for (int i = 0; i < LK_SERVE_CLIENTS && accept_client(self);) i++;
  pthread_mutex_lock(&mutex);
  const bool is_made =
      serving == self && lk_serve_place_open(&self->place.address, &made, NULL) == LK_OK;
  if (is_made) {
    lk_serve_place_close(&self->place);
    self->place = made;
  }
  pthread_mutex_unlock(&mutex);
  return is_made;
}

/* Until the next client, the next deadline of one, or the next look for the file. */
static int timeout_ms(uint64_t deadline_ns, bool is_watched) {
  const uint64_t now = lk_now_ns();
  const int look = is_watched ? WATCHED_LOOK_MS : LOOK_MS;
  const uint64_t ms = deadline_ns > now ? (deadline_ns - now) / MS_NS + 1 : 0;
  return ms < (uint64_t)look ? (int)ms : look;
}

static void *work(void *arg) {
  enum { WAKE, WATCH, LISTENER, FIRST_CLIENT };
  endpoint *self = arg;
  bool is_there = true;
  struct pollfd fds[FIRST_CLIENT + LK_SERVE_CLIENTS];
  lk_serve_clients_begin(&self->clients);
  for (;;) {
    const bool is_left = self->is_left;
    fds[WAKE] = (struct pollfd){.fd = self->wake, .events = POLLIN};
    fds[WATCH] = (struct pollfd){.fd = is_left ? -1 : self->place.watch, .events = POLLIN};
    fds[LISTENER] = (struct pollfd){.fd = is_left ? -1 : self->place.listener, .events = POLLIN};
    const uint64_t deadline_ns = lk_serve_clients_poll(&self->clients, fds + FIRST_CLIENT);
    if (is_left && deadline_ns == UINT64_MAX) break; /* all have their answers */
    const int wait_ms = timeout_ms(deadline_ns, is_there && self->place.watch >= 0);
    const int n_ready = poll(fds, FIRST_CLIENT + LK_SERVE_CLIENTS, wait_ms);
    if (n_ready < 0) continue;
    if (fds[WAKE].revents != 0) break;
    lk_serve_clients_work(&self->clients, fds + FIRST_CLIENT, make_statistics);
    if (fds[LISTENER].revents != 0) (void)accept_client(self);
    if (is_left) continue;
    if (fds[WATCH].revents != 0 || n_ready == 0 || !is_there) is_there = keep_place(self);
  }
  lk_serve_clients_end(&self->clients);
  if (self->is_left) {
    close_fds(self);
    free(self);
  }
  return NULL;
}

/* ---- start and end ---- */

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
  if (errno == 0) return LK_OK;
  return lk_fail(error, LK_IO, "failed to serve at '%s': %m", self->place.address.sun_path);
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
  made->place = (lk_serve_place){.listener = -1, .watch = -1};
  made->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (made->wake < 0) {
    LK_TRY(lk_fail(error, LK_IO, "failed to serve at '%s': %m", address->sun_path));
  }
  LK_TRY(lk_serve_place_open(address, &made->place, error));
  LK_TRY(start_thread(made, error));
  serving = made;
  made = NULL;
cleanup:
  if (made == NULL) return LK_OK;
  lk_serve_place_remove(&made->place);
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
  } else if (strcmp(serving->place.address.sun_path, address.sun_path) != 0) {
    status = lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to serve at '%s': this process serves at '%s' already",
                     address.sun_path, serving->place.address.sun_path);
  }
  if (status == LK_OK) n_users++;
  pthread_mutex_unlock(&mutex);
  return status;
}

/* A reporter that is asked may destroy the last context: this is the thread itself then, which ends
 * when it has answered, and frees what it works with. */
static bool leave_to_itself(endpoint *self) {
  if (!pthread_equal(self->thread, pthread_self())) return false;
  (void)pthread_detach(self->thread);
  self->is_left = true;
  return true;
}

void lk_serve_release(void) {
  endpoint *last = NULL;
  pthread_mutex_lock(&mutex);
  if (--n_users == 0 && serving != NULL) {
    last = serving;
    serving = NULL;
    /* with the lock: who begins to serve now finds the path free */
    lk_serve_place_remove(&last->place);
  }
  pthread_mutex_unlock(&mutex);
  if (last == NULL || leave_to_itself(last)) return;
  /* without the lock: a fork takes it while the thread waits for others that the fork has */
  const uint64_t one = 1;
  while (write(last->wake, &one, sizeof one) < 0 && errno == EINTR) continue;
  (void)pthread_join(last->thread, NULL);
  close_fds(last);
  free(last);
}

void lk_serve_where(char *path, size_t capacity) {
  pthread_mutex_lock(&mutex);
  (void)snprintf(path, capacity, "%s", serving != NULL ? serving->place.address.sun_path : "");
  pthread_mutex_unlock(&mutex);
}
