/* Memory, always through an lk_allocator, so that a host can count it and a test can fail it. */
#pragma once

#include <latchkey/base.h>

/* The C library's allocator. */
const lk_allocator *lk_allocator_default(void);

/* `size` bytes for any type; NULL: no memory. Size 0 gives a pointer that may be freed. */
void *lk_alloc(const lk_allocator *allocator, size_t size);
void *lk_alloc_aligned(const lk_allocator *allocator, size_t size, size_t alignment);
/* `size` bytes aligned to LK_DATA_ALIGNMENT: the default allocator takes pages of their own when
 * they are many. For what comes and goes in changing sizes (base/pages.h). */
void *lk_alloc_pages(const lk_allocator *allocator, size_t size);
/* What a block of lk_allocator_default() takes. */
size_t lk_block_bytes(void *block);
/* `count` elements of `size` bytes, zeroed; NULL also when the product overflows. */
void *lk_calloc(const lk_allocator *allocator, size_t count, size_t size);
/* `size` bytes on cache lines of their own (LK_CACHE_LINE), zeroed: for what one thread writes to
 * in each run, which would slow down whoever reads what lies beside it. */
void *lk_calloc_lines(const lk_allocator *allocator, size_t size);
/* A larger or smaller copy; the old block is freed only on success. `old_size` bytes are kept. */
void *lk_realloc(const lk_allocator *allocator, void *pointer, size_t old_size, size_t new_size);
char *lk_strdup(const lk_allocator *allocator, const char *text);
char *lk_strndup(const lk_allocator *allocator, const char *text, size_t length);
void lk_free(const lk_allocator *allocator, void *pointer); /* NULL is allowed */

/* Of data that kernels read and write in vectors. */
#define LK_DATA_ALIGNMENT ((size_t)64)

/* Of what several threads write to without a lock, apart from what they only read. */
#define LK_CACHE_LINE 64

/* Grows a dynamic array so that one more element fits: items, their count and capacity. */
#define LK_GROW(allocator, items, count, capacity)                                                 \
  lk_grow((allocator), (void **)&(items), (count), &(capacity), sizeof *(items))
/* Returns 0 when there is no memory. */
int lk_grow(const lk_allocator *allocator, void **items, size_t count, size_t *capacity,
            size_t item_size);
