/* An allocator that counts the bytes of another one's blocks and refuses what would pass a limit.
 *
 * Bytes are those that blocks really take: of the C library's, what lk_block_bytes() says; of a
 * host's, what was asked for and a few bytes before each block, where its size is kept.
 *
 * Any thread may allocate. What is asked for never passes the limit; what the C library gives
 * beyond that, a few bytes a block, may. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/spare_pages.h"
#include "base/tally.h"

#define LK_MEMORY_UNLIMITED (UINT64_MAX - 1)

typedef struct lk_memory_budget {
  lk_allocator host;
  bool is_default; /* `host` is the C library's */
  /* read and written atomically */
  uint64_t limit, bytes, peak, refusals;
  uint64_t refused;     /* bytes of the block that was refused last */
  lk_tally counts;      /* LK_MEMORY_ALLOCATIONS */
  lk_spare_pages spare; /* held, too; they go before anything is refused */
} lk_memory_budget;

/* What `counts` has. */
enum { LK_MEMORY_ALLOCATIONS };

/* `host` NULL: the C library's. */
void lk_memory_budget_init(lk_memory_budget *budget, const lk_allocator *host, uint64_t limit);
/* What allocates within it; `budget` stays where it is as long as there are blocks. */
lk_allocator lk_memory_budget_allocator(lk_memory_budget *budget);
/* Frees spare blocks. At the end, too: when all blocks have been freed. */
void lk_memory_budget_trim(lk_memory_budget *budget);
/* Holds for later blocks alone. */
void lk_memory_budget_set_limit(lk_memory_budget *budget, uint64_t limit);

/* Counts bytes that were allocated elsewhere, until they are given back. False: they would pass the
 * limit, and do not count; lk_fail_memory tells why. */
bool lk_memory_budget_charge(lk_memory_budget *budget, uint64_t bytes);
void lk_memory_budget_give_back(lk_memory_budget *budget, uint64_t bytes);

typedef struct lk_memory_state {
  uint64_t limit, bytes, peak, refusals, refused;
  uint64_t spare; /* of `bytes`: spare blocks */
} lk_memory_state;
lk_memory_state lk_memory_budget_state(const lk_memory_budget *budget);

/* What this thread was refused last, if nothing has been allocated or refused by the system since:
 * why lk_fail_memory fails. */
typedef struct lk_memory_refusal {
  uint64_t limit; /* 0: nothing was refused */
  uint64_t held;
} lk_memory_refusal;
lk_memory_refusal lk_memory_refusal_last(void);
