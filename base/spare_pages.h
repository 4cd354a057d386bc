/* Blocks with pages of their own (base/pages.h) that wait for who needs about as much.
 *
 * Outputs of runs come and go, and pages that the system gives are cleared first, which takes as
 * long as a light model. So some blocks stay when they are freed.
 *
 * Any thread may take and keep; nobody waits for another. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A decoder gives back two caches of each layer. */
enum { LK_SPARE_BLOCKS = 64 };
/* All of them together: as much as the C library keeps. Outputs of sizes that all differ come to
 * fill what may stay, so more than the lower limit stays only where so much was in use at one time,
 * and may be again. */
#define LK_SPARE_LEAST_BYTES ((uint64_t)16 << 20)
#define LK_SPARE_BYTES ((uint64_t)32 << 20)

/* All 0: none. Read and written atomically. */
typedef struct lk_spare_pages {
  uint64_t blocks[LK_SPARE_BLOCKS]; /* where one begins and how large it is; 0: none */
  uint64_t bytes;                   /* of all */
  uint64_t used, most_used;         /* bytes of blocks that are in use, and were at one time */
  uint32_t oldest;                  /* about; counts on */
} lk_spare_pages;

/* One that has room for `size` bytes and is not much larger, and is in use from now on; NULL: there
 * is none. */
void *lk_spare_pages_take(lk_spare_pages *self, size_t size);
/* A block of lk_pages_alloc() is in use. */
void lk_spare_pages_use(lk_spare_pages *self, void *block);
/* Keeps a block that was in use, in place of older ones where there are too many. Returns how
 * many bytes the system has back. */
uint64_t lk_spare_pages_keep(lk_spare_pages *self, void *block);
/* Frees all. Returns how many bytes the system has back. */
uint64_t lk_spare_pages_drop(lk_spare_pages *self);

uint64_t lk_spare_pages_bytes(const lk_spare_pages *self);
