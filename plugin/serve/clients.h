/* The clients of the process's socket, several at once: one that is silent, or that does not read,
 * waits for its deadline by itself. One thread. */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin/serve/request.h"

enum { LK_SERVE_CLIENTS = 16 };

typedef struct lk_serve_client {
  int fd; /* -1: none */
  uint64_t deadline_ns;
  char request[LK_SERVE_REQUEST_BYTES];
  size_t count; /* of its bytes */
  char *answer; /* from malloc; NULL: none yet */
  size_t length, sent;
} lk_serve_client;

typedef struct lk_serve_clients {
  lk_serve_client all[LK_SERVE_CLIENTS];
} lk_serve_clients;

/* An answer in memory of malloc, which is freed; NULL: no memory. */
typedef char *(*lk_serve_answer_fn)(size_t *out_length);

void lk_serve_clients_begin(lk_serve_clients *clients);
/* Takes `fd`, from which nothing blocks. Where there is no room, who has been silent longest
 * leaves. */
void lk_serve_clients_add(lk_serve_clients *clients, int fd);
/* What to wait for, [LK_SERVE_CLIENTS], and until when: UINT64_MAX with no client. */
uint64_t lk_serve_clients_poll(lk_serve_clients *clients, struct pollfd *fds);
/* Goes on with those of which poll has told, and lets go whose time is over. `statistics` makes an
 * answer. */
void lk_serve_clients_work(lk_serve_clients *clients, const struct pollfd *fds,
                           lk_serve_answer_fn statistics);
void lk_serve_clients_end(lk_serve_clients *clients);
