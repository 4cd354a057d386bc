/* Clients between their first byte and the last one of their answer. */
#include "plugin/serve/clients.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

#define REQUEST_NS UINT64_C(1000000000) /* for the whole request */
#define ANSWER_NS UINT64_C(2000000000)  /* for the whole answer */
/* Of answers at a time: who comes next waits for its own. */
#define MOST_ANSWER_BYTES ((size_t)64 << 20)

static void leave(lk_serve_client *client) {
  if (client->fd >= 0) (void)close(client->fd);
  free(client->answer);
  *client = (lk_serve_client){.fd = -1};
}

void lk_serve_clients_begin(lk_serve_clients *clients) {
  for (size_t i = 0; i < LK_SERVE_CLIENTS; i++) clients->all[i] = (lk_serve_client){.fd = -1};
}

void lk_serve_clients_end(lk_serve_clients *clients) {
  for (size_t i = 0; i < LK_SERVE_CLIENTS; i++) leave(&clients->all[i]);
}

/* The least leaves for who comes: a free place, then who has been silent longest. */
static uint64_t rank(const lk_serve_client *client) {
  if (client->fd < 0) return 0;
  return client->answer == NULL ? client->deadline_ns : UINT64_MAX / 2 + client->deadline_ns;
}

void lk_serve_clients_add(lk_serve_clients *clients, int fd) {
  lk_serve_client *to = &clients->all[0];
  for (size_t i = 1; i < LK_SERVE_CLIENTS; i++) {
    if (rank(&clients->all[i]) < rank(to)) to = &clients->all[i];
  }
  leave(to);
  to->fd = fd;
  to->deadline_ns = lk_now_ns() + REQUEST_NS;
}

/* Whether no further answer is made for now. Whoever waits for that is not late. */
static bool is_full(const lk_serve_clients *clients) {
  size_t bytes = 0;
  for (size_t i = 0; i < LK_SERVE_CLIENTS; i++) bytes += clients->all[i].length;
  return bytes >= MOST_ANSWER_BYTES;
}

uint64_t lk_serve_clients_poll(lk_serve_clients *clients, struct pollfd *fds) {
  uint64_t deadline_ns = UINT64_MAX;
  const bool full = is_full(clients);
  for (size_t i = 0; i < LK_SERVE_CLIENTS; i++) {
    lk_serve_client *client = &clients->all[i];
    const bool is_answered = client->answer != NULL, waits = full && !is_answered;
    /* poll passes over a file of -1 */
    fds[i] =
        (struct pollfd){.fd = waits ? -1 : client->fd, .events = is_answered ? POLLOUT : POLLIN};
    if (waits) client->deadline_ns = lk_now_ns() + REQUEST_NS;
    if (client->fd >= 0 && client->deadline_ns < deadline_ns) deadline_ns = client->deadline_ns;
  }
  return deadline_ns;
}

static void begin_answer(lk_serve_client *client, lk_serve_request request,
                         lk_serve_answer_fn statistics) {
  static const char refusal[] =
      "{\"error\":\"failed to read the request: 'statistics 1' and a newline are needed\"}\n";
  if (request == LK_SERVE_STATISTICS) {
    client->answer = statistics(&client->length);
  } else {
    client->answer = strdup(refusal);
    client->length = sizeof refusal - 1;
  }
  client->deadline_ns = lk_now_ns() + ANSWER_NS;
  if (client->answer == NULL) leave(client);
}

static void send_answer(lk_serve_client *client) {
  const ssize_t sent =
      send(client->fd, client->answer + client->sent, client->length - client->sent, MSG_NOSIGNAL);
  if (sent < 0 && (errno == EINTR || errno == EAGAIN)) return;
  client->sent += sent > 0 ? (size_t)sent : 0;
  if (sent <= 0 || client->sent == client->length) leave(client);
}

/* Never reads more than a request may have. */
static void read_request(const lk_serve_clients *clients, lk_serve_client *client,
                         lk_serve_answer_fn statistics) {
  if (is_full(clients)) return; /* since poll has told of it */
  const ssize_t got =
      read(client->fd, client->request + client->count, sizeof client->request - client->count);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got <= 0) {
    leave(client);
    return;
  }
  client->count += (size_t)got;
  const lk_serve_request request = lk_serve_request_read(client->request, client->count);
  if (request == LK_SERVE_MORE) return;
  begin_answer(client, request, statistics);
  if (client->fd >= 0) send_answer(client);
}

void lk_serve_clients_work(lk_serve_clients *clients, const struct pollfd *fds,
                           lk_serve_answer_fn statistics) {
  for (size_t i = 0; i < LK_SERVE_CLIENTS; i++) {
    lk_serve_client *client = &clients->all[i];
    if (client->fd < 0) continue;
    if (fds[i].revents != 0 && client->answer != NULL) {
      send_answer(client);
    } else if (fds[i].revents != 0) {
      read_request(clients, client, statistics);
    }
    if (client->fd >= 0 && lk_now_ns() >= client->deadline_ns) leave(client);
  }
}
