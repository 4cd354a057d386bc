/* Identities that are never reused: executors (address and uuid), threads (hash and generation).
 *
 * The operating system reuses addresses and thread ids. So an executor's address has a random uuid
 * beside it, and a thread's id a number that only counts up. */
#define XXH_INLINE_ALL
#include "keys/identity.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>
#include <uuid/uuid.h>
#include <xxhash.h>

#include "base/fork.h"

/* libuuid calls the C library's random(), whose lock a fork does not take. A child that is made
 * while another thread has that lock would wait for ever. */
static pthread_mutex_t generating = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void start(void) {
  static lk_fork_entry entry = {.level = LK_FORK_LEAF, .mutex = &generating};
  lk_fork_enter(&entry);
}

lk_executor_identity lk_executor_identity_make(const void *executor) {
  uuid_t uuid;
  (void)pthread_once(&once, start);
  pthread_mutex_lock(&generating);
  uuid_generate_random(uuid);
  pthread_mutex_unlock(&generating);
  lk_executor_identity identity = {.address = (uint64_t)(uintptr_t)executor};
  memcpy(&identity.uuid_high, uuid, 8);
  memcpy(&identity.uuid_low, uuid + 8, 8);
  return identity;
}

lk_thread_identity lk_thread_identity_get(void) {
  /* The process's one counter of threads: per context it would repeat across contexts. */
  static _Atomic uint64_t generations;
  static _Thread_local lk_thread_identity identity;
  if (identity.generation == 0) {
    pid_t id = gettid();
    identity.hash = XXH3_64bits(&id, sizeof id);
    identity.generation = atomic_fetch_add_explicit(&generations, 1, memory_order_relaxed) + 1;
  }
  return identity;
}
