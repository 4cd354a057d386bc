/* Blocks of memory with pages of their own, which the system has back when they are freed.
 *
 * The C library keeps what is freed among other blocks, and hands it to the system only when all
 * behind it is free as well: large blocks of changing sizes leave gaps that stay resident.
 *
 * Any thread may allocate and free. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define LK_PAGE ((size_t)4096)
/* A block lies a page behind a multiple of this: that of a huge page, so that the system may use
 * those. */
#define LK_PAGES_ALIGNMENT ((size_t)2 << 20)

/* `size` bytes, zero, aligned to LK_PAGE; NULL: no memory. */
void *lk_pages_alloc(size_t size);
void lk_pages_free(void *block);
/* Whether there are so many that others should come from elsewhere: each takes one of the mappings
 * that a process may have (65,530, if nobody has changed it), and others need some, too. */
enum { LK_PAGES_MANY = 8192 };
bool lk_pages_are_many(void);
/* What the block takes. */
size_t lk_pages_bytes(const void *block);

/* Whether `address` is one where these blocks lie. Others may lie there too: who allocates both
 * kinds keeps them apart. */
bool lk_pages_may_lie_at(const void *address);
