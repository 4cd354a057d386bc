/* Identities that are never used again: executors (address and uuid), threads (hash and generation).
 *
 * The operating system reuses addresses and thread ids. So an executor's address has a random uuid
 * beside it, and a thread's id a number that only counts up. */
#define XXH_INLINE_ALL
#include "keys/identity.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>
#include <uuid/uuid.h>
#include <xxhash.h>

lk_executor_identity lk_executor_identity_make(const void *executor) {
  uuid_t uuid;
  uuid_generate_random(uuid);
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
