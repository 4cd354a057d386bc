/* Places blocks of memory with known lifetimes in one arena. */
#pragma once

#include <latchkey/latchkey.h>
#include <stdbool.h>

typedef struct lk_arena_block {
  uint64_t bytes;       /* 0: takes no room, offset 0 */
  uint32_t first, last; /* steps at which it is alive, both included */
  uint64_t offset;      /* out: a multiple of LK_DATA_ALIGNMENT */
} lk_arena_block;

/* Which blocks may be in use at the same time, where steps have no fixed order. */
typedef struct lk_interference {
  bool (*interfere)(const void *arg, size_t a, size_t b); /* numbers of blocks; symmetric */
  const void *arg;
} lk_interference;

/* Sets the offset of each block so that blocks alive at the same step do not overlap; with
 * `interference`, those that interfere. Greedy by size: the largest first, each into the smallest
 * gap that holds it (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net
 * Inference", 2020, section 4.3). `*out_bytes` is between the largest sum of blocks alive at one
 * step and the sum of all (of sizes rounded up to LK_DATA_ALIGNMENT). LK_OUT_OF_RANGE when a sum
 * overflows. Each block is compared with all before it, so it looks by `api` whether it has to
 * end. */
lk_status lk_arena_plan(const lk_api *api, const lk_allocator *allocator,
                        const lk_interference *interference, lk_arena_block *blocks,
                        size_t n_blocks, uint64_t *out_bytes, lk_error *error);
