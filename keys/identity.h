/* Identities that are never reused: executors (address and uuid), threads (hash and generation). */
#pragma once

#include <stdint.h>

typedef struct lk_executor_identity {
  uint64_t address;
  uint64_t uuid_high, uuid_low;
} lk_executor_identity;

typedef struct lk_thread_identity {
  uint64_t hash;       /* of the system's thread id, which is recycled */
  uint64_t generation; /* counts threads of the process, never reused; from 1 */
} lk_thread_identity;

lk_executor_identity lk_executor_identity_make(const void *executor);
/* Of the calling thread; a thread-local read after the first call. */
lk_thread_identity lk_thread_identity_get(void);
