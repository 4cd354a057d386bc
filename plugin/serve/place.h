/* The file of the process's socket, and who listens behind it. One thread at a time. */
#pragma once

#include <latchkey/base.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

typedef struct lk_serve_place {
  struct sockaddr_un address; /* its path is absolute */
  int listener;               /* -1: none */
  int watch;                  /* becomes readable when the file may have gone; -1: cannot be had */
  dev_t device;               /* of the file; another's may be at its path by now */
  ino_t inode;                /* 0: none was made */
} lk_serve_place;

/* Listens at `address`; nothing to close when this fails. LK_IO: somebody else's socket is there,
 * or something that is not a socket, or the system refuses. */
lk_status lk_serve_place_open(const struct sockaddr_un *address, lk_serve_place *out,
                              lk_error *error);
typedef enum lk_serve_owner { LK_SERVE_OWN, LK_SERVE_NOBODYS, LK_SERVE_ANOTHERS } lk_serve_owner;
/* Whose file is at the path. Empties `watch`. */
lk_serve_owner lk_serve_place_owner(const lk_serve_place *place);
/* Removes the file, if it is still this one. */
void lk_serve_place_remove(const lk_serve_place *place);
void lk_serve_place_close(const lk_serve_place *place); /* not the file */
