/* Threads, maps, clocks and random numbers. Functions without headers of their own are those that
 * the headers' names stand for. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "tests/faults/interpose.h"

typedef void *(*thread_fn)(void *);
typedef void (*handler_fn)(void);

int __register_atfork(handler_fn before, handler_fn parent, handler_fn child, void *library);

static long whole_pages(size_t size) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return (long)((size + page - 1) / page * page);
}

void *mmap(void *at, size_t size, int protection, int flags, int file, off_t offset) {
  FAULT_NEXT(void *, mmap, void *, size_t, int, int, int, off_t);
  if (fault_takes(FAULT_MAP)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  void *bytes = next(at, size, protection, flags, file, offset);
  if (bytes != MAP_FAILED) fault_count_maps(whole_pages(size));
  return bytes;
}

int munmap(void *bytes, size_t size) {
  FAULT_NEXT(int, munmap, void *, size_t);
  const int failed = next(bytes, size);
  if (failed == 0) fault_count_maps(-whole_pages(size));
  return failed;
}

int madvise(void *bytes, size_t size, int advice) {
  FAULT_NEXT(int, madvise, void *, size_t, int);
  if (advice == MADV_POPULATE_READ) { /* as if the file had been cut */
    return fault_takes(FAULT_LOOK) ? fault_fail(EFAULT) : next(bytes, size, advice);
  }
  return fault_takes(FAULT_ADVICE) ? fault_fail(EINVAL) : next(bytes, size, advice);
}

int pthread_create(pthread_t *out, const pthread_attr_t *attributes, thread_fn fn, void *arg) {
  FAULT_NEXT(int, pthread_create, pthread_t *, const pthread_attr_t *, thread_fn, void *);
  return fault_takes(FAULT_THREAD) ? EAGAIN : next(out, attributes, fn, arg);
}

int pthread_key_create(pthread_key_t *out, void (*end)(void *)) {
  FAULT_NEXT(int, pthread_key_create, pthread_key_t *, void (*)(void *));
  return fault_takes(FAULT_THREAD_KEY) ? EAGAIN : next(out, end);
}

int pthread_setspecific(pthread_key_t key, const void *value) {
  FAULT_NEXT(int, pthread_setspecific, pthread_key_t, const void *);
  return fault_takes(FAULT_THREAD_VALUE) ? ENOMEM : next(key, value);
}

int __register_atfork(handler_fn before, handler_fn parent, handler_fn child, void *library) {
  FAULT_NEXT(int, __register_atfork, handler_fn, handler_fn, handler_fn, void *);
  return fault_takes(FAULT_FORK_HANDLER) ? ENOMEM : next(before, parent, child, library);
}

int sched_getaffinity(pid_t process, size_t size, cpu_set_t *set) {
  FAULT_NEXT(int, sched_getaffinity, pid_t, size_t, cpu_set_t *);
  return fault_takes(FAULT_AFFINITY) ? fault_fail(EPERM) : next(process, size, set);
}

int clock_gettime(clockid_t clock, struct timespec *out) {
  FAULT_NEXT(int, clock_gettime, clockid_t, struct timespec *);
  return fault_takes(FAULT_CLOCK) ? fault_fail(EPERM) : next(clock, out);
}

int getentropy(void *out, size_t size) {
  FAULT_NEXT(int, getentropy, void *, size_t);
  return fault_takes(FAULT_ENTROPY) ? fault_fail(ENOSYS) : next(out, size);
}

ssize_t getrandom(void *out, size_t size, unsigned flags) {
  FAULT_NEXT(ssize_t, getrandom, void *, size_t, unsigned);
  return fault_takes(FAULT_RANDOM) ? fault_fail(ENOSYS) : next(out, size, flags);
}
