/* Large constants that are lent, which are read when that is needed and not when they come: those
 * that plans read where they lie are never read as a whole, however large their file says it is.
 *
 * Until it is read, such a content is known by its address only. When it is to be packed or copied,
 * it is found by its bytes as any other, as a second content that has all its copies but the lent
 * ones. */
#pragma once

#include "keys/weights/state.h"

/* Fewer bytes are read when they come, so that it is seen if they change before they are packed. Of
 * more, a sample is. */
#define LK_LATE_LEAST_BYTES ((size_t)16 << 20)

/* One more reference to the content at `data`, which is made if it is new. NULL: no memory. */
lk_content *lk_late_intern(lk_weights *weights, const void *data, size_t bytes);
/* The content that has the copies of `content`: itself unless it is late, and then it is read now
 * if nobody has yet, while somebody lends it. LK_IO: its bytes have changed, or are gone. */
lk_status lk_late_settle(lk_content *content, lk_content **out_settled, lk_error *error);
/* Of a late content: the lent copy whose bytes plans of another content of the same bytes of a file
 * read; NULL: none. It has no source itself, so that copies of contents that come and go form no
 * chain, each keeping the one before. The caller has the lock. */
lk_packed *lk_late_find_lent(const lk_content *content, const lk_lent *lent);
/* Gives a reference back. */
void lk_late_release(lk_content *content);
/* A child of fork: nobody reads. */
void lk_late_forget_other_threads(lk_weights *weights);
