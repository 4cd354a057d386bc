/* Places blocks of memory with known lifetimes in one arena: greedy by size, best fit. */
#include "executor_glue/run/arena_plan.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/graph/look.h"

/* A block to be placed; `bytes` is rounded up. */
typedef struct lk_arena_item {
  uint64_t bytes, offset;
  uint32_t first, last;
  size_t block;
} lk_arena_item;

static bool comes_before(const lk_arena_item *a, const lk_arena_item *b) {
  if (a->bytes != b->bytes) return a->bytes > b->bytes;
  if (a->first != b->first) return a->first < b->first;
  return a->block < b->block;
}

static bool lies_before(const lk_arena_item *a, const lk_arena_item *b) {
  return a->offset < b->offset;
}

/* Puts an item where it belongs among `n_items` sorted ones, behind its equals. */
static inline void insert_sorted(bool (*precedes)(const lk_arena_item *, const lk_arena_item *),
                                 lk_arena_item *items, size_t n_items, const lk_arena_item *item) {
  size_t at = 0, end = n_items;
  while (at < end) {
    const size_t middle = at + (end - at) / 2;
    if (precedes(item, &items[middle])) {
      end = middle;
    } else {
      at = middle + 1;
    }
  }
  memmove(&items[at + 1], &items[at], (n_items - at) * sizeof *items);
  items[at] = *item;
}

static bool interfere(const lk_interference *interference, const lk_arena_item *a,
                      const lk_arena_item *b) {
  if (interference != NULL) return interference->interfere(interference->arg, a->block, b->block);
  return a->first <= b->last && b->first <= a->last;
}

/* Pairs between two looks, where each may have to walk over all steps that touch a block. */
enum { PAIRS = 64 };

static lk_status look(const lk_api *api, lk_error *error) {
  return lk_graph_look(api, "plan the run's memory", error);
}

/* The start of the smallest gap that holds `item` among `placed`, which is sorted by offset. Each
 * item looks at all that are placed, so there is a loop of its own without `interference`. */
static inline lk_status find_gap(const lk_api *api, const lk_interference *interference,
                                 lk_arena_item *item, const lk_arena_item *placed, size_t n_placed,
                                 lk_error *error) {
  uint64_t end = 0; /* of what has been seen and interferes with the item */
  uint64_t best = UINT64_MAX, best_size = UINT64_MAX;
  for (size_t i = 0; i < n_placed; i++) {
    if (interference != NULL && i % PAIRS == 0) LK_RETURN_NOT_OK(look(api, error));
    if (!interfere(interference, item, &placed[i])) continue;
    if (placed[i].offset > end) {
      uint64_t size = placed[i].offset - end;
      if (size >= item->bytes && size < best_size) {
        best = end;
        best_size = size;
      }
    }
    uint64_t placed_end = placed[i].offset + placed[i].bytes;
    if (placed_end > end) end = placed_end;
  }
  item->offset = best != UINT64_MAX ? best : end;
  return LK_OK;
}

lk_status lk_arena_plan(const lk_api *api, const lk_allocator *allocator,
                        const lk_interference *interference, lk_arena_block *blocks,
                        size_t n_blocks, uint64_t *out_bytes, lk_error *error) {
  lk_status status = LK_OK;
  lk_arena_item *items = NULL, *placed = NULL;
  size_t n_items = 0;
  uint64_t sum = 0, total = 0;
  *out_bytes = 0;

  items = lk_calloc(allocator, n_blocks, sizeof *items);
  placed = lk_calloc(allocator, n_blocks, sizeof *placed);
  if (items == NULL || placed == NULL) {
    LK_TRY(lk_fail_memory(error, "a memory plan", n_blocks * sizeof *items));
  }
  for (size_t i = 0; i < n_blocks; i++) {
    blocks[i].offset = 0;
    if (blocks[i].bytes == 0) continue;
    LK_TRY(look(api, error)); /* many items may make room for this one */
    /* Every offset and end is at most this sum, so nothing below can overflow. */
    uint64_t bytes = 0;
    if (__builtin_add_overflow(blocks[i].bytes, LK_DATA_ALIGNMENT - 1, &bytes) ||
        __builtin_add_overflow(sum, bytes & ~(uint64_t)(LK_DATA_ALIGNMENT - 1), &sum)) {
      status = lk_fail(error, LK_OUT_OF_RANGE,
                       "failed to plan memory: a block of %" PRIu64
                       " bytes, all blocks together at most 2^64 bytes",
                       blocks[i].bytes);
      goto cleanup;
    }
    const lk_arena_item item = {.bytes = bytes & ~(uint64_t)(LK_DATA_ALIGNMENT - 1),
                                .first = blocks[i].first,
                                .last = blocks[i].last,
                                .block = i};
    insert_sorted(comes_before, items, n_items++, &item);
  }

  for (size_t i = 0; i < n_items; i++) {
    lk_arena_item *item = &items[i];
    LK_TRY(look(api, error));
    LK_TRY(interference != NULL ? find_gap(api, interference, item, placed, i, error)
                                : find_gap(api, NULL, item, placed, i, error));
    insert_sorted(lies_before, placed, i, item);
    blocks[item->block].offset = item->offset;
    if (item->offset + item->bytes > total) total = item->offset + item->bytes;
  }
  *out_bytes = total;

cleanup:
  lk_free(allocator, placed);
  lk_free(allocator, items);
  return status;
}
