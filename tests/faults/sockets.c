/* Sockets, and what waits for them. */
#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "tests/faults/interpose.h"

int socket(int domain, int type, int protocol) {
  FAULT_NEXT(int, socket, int, int, int);
  return fault_takes(FAULT_SOCKET) ? fault_fail(EMFILE) : next(domain, type, protocol);
}

int bind(int file, const struct sockaddr *address, socklen_t size) {
  FAULT_NEXT(int, bind, int, const struct sockaddr *, socklen_t);
  return fault_takes(FAULT_BIND) ? fault_fail(ENOSPC) : next(file, address, size);
}

int listen(int file, int backlog) {
  FAULT_NEXT(int, listen, int, int);
  return fault_takes(FAULT_LISTEN) ? fault_fail(EADDRINUSE) : next(file, backlog);
}

int accept4(int file, struct sockaddr *address, socklen_t *size, int flags) {
  FAULT_NEXT(int, accept4, int, struct sockaddr *, socklen_t *, int);
  return fault_takes(FAULT_ACCEPT) ? fault_fail(EMFILE) : next(file, address, size, flags);
}

int getsockopt(int file, int level, int name, void *value, socklen_t *size) {
  FAULT_NEXT(int, getsockopt, int, int, int, void *, socklen_t *);
  return fault_takes(FAULT_PEER) ? fault_fail(ENOBUFS) : next(file, level, name, value, size);
}

ssize_t send(int file, const void *bytes, size_t size, int flags) {
  FAULT_NEXT(ssize_t, send, int, const void *, size_t, int);
  return fault_takes(FAULT_SEND) ? fault_fail(ENOBUFS) : next(file, bytes, size, flags);
}

int poll(struct pollfd *files, nfds_t count, int limit_ms) {
  FAULT_NEXT(int, poll, struct pollfd *, nfds_t, int);
  return fault_takes(FAULT_POLL) ? fault_fail(ENOMEM) : next(files, count, limit_ms);
}

int eventfd(unsigned value, int flags) {
  FAULT_NEXT(int, eventfd, unsigned, int);
  return fault_takes(FAULT_EVENT) ? fault_fail(EMFILE) : next(value, flags);
}

int lstat(const char *path, struct stat *out) {
  FAULT_NEXT(int, lstat, const char *, struct stat *);
  return fault_takes(FAULT_LINK_STATUS) ? fault_fail(EIO) : next(path, out);
}
