/* The weights store: constants by content, and one packed copy for each content and layout.
 *
 * Content is found by a 128-bit hash and then compared byte by byte. A content keeps no plain copy
 * of its own where the bytes can be had again: lent bytes are read from their owner; copied bytes
 * are dropped after the first packing, and unpacked when another layout is wanted. Any thread.
 * Large constants that are lent are read when they are packed or copied first, and not when they
 * come: a file may say that it is as large as it likes (late.h).
 *
 * Lent bytes are read in two ways. For a while, to compare or pack them: by whoever has the
 * content, from any lender, who waits for the readers before it leaves. And by plans, where they
 * lie, for as long as a plan lives: only those bytes that the plan's own node lends, or others of
 * the same origin, and only while the plan holds a reference to their owner (lk_owner). So memory
 * of one session is never read for another that has another file, whatever becomes of that memory,
 * and it stays until the last plan that reads it has gone, whoever opens and closes in which order.
 */
#pragma once

#include <latchkey/base.h>
#include <stdbool.h>

typedef struct lk_weights lk_weights;
typedef struct lk_content lk_content; /* counted */
typedef struct lk_packed lk_packed;   /* counted */

lk_status lk_weights_create(const lk_allocator *allocator, uint64_t capacity_bytes,
                            lk_weights **out_weights, lk_error *error);
/* All references to contents and copies must have been released; NULL is allowed. */
void lk_weights_destroy(lk_weights *weights);
/* Packed copies that no plan uses are dropped, least recently used first, until they fit. */
void lk_weights_set_capacity(lk_weights *weights, uint64_t capacity_bytes);
typedef struct lk_weights_stats {
  uint64_t entries, bytes; /* packed copies, and plain ones that are kept; not lent bytes */
  uint64_t packed, shared; /* packings done; times one was found ready */
  uint64_t lent;           /* bytes of an owner that are in use */
  uint64_t capacity_bytes;
  uint64_t looks;  /* at copies, for one that may go */
  uint64_t hashed; /* bytes that were read to find a content */
} lk_weights_stats;
void lk_weights_get_stats(lk_weights *weights, lk_weights_stats *out);

/* Finds or adds content. Without `copy`, `data` must stay valid and unchanged until this reference
 * is released with lk_content_release(content, data). So what is lent already is found by where it
 * lies, and not read again. */
lk_status lk_weights_intern(lk_weights *weights, const void *data, size_t bytes, bool copy,
                            lk_content **out_content, lk_error *error);
/* `data` as it was given to intern (NULL after a copy). Lent bytes may be read until this returns.
 * `content` may be NULL. */
void lk_content_release(lk_content *content, const void *data);
/* From 1; never reused. Equal bytes have one, but for those of 16 MiB and more that are lent at
 * different addresses: they are not read before they are packed or copied. */
uint64_t lk_content_id(const lk_content *content);
/* The one number of equal bytes, which are read for it if need be. LK_IO as lk_content_pack. */
lk_status lk_content_settle_id(lk_content *content, uint64_t *out_id, lk_error *error);

/* How the packed bytes lie, and how the plain ones are read, in numbers that the caller chooses; 0
 * where there are fewer; and in bytes, which are copied. All of them are compared. */
enum { LK_WEIGHTS_LAYOUT_NUMBERS = 20 };
typedef struct lk_weights_layout {
  int64_t numbers[LK_WEIGHTS_LAYOUT_NUMBERS];
  const void *bytes; /* [n_bytes]; NULL: none */
  size_t n_bytes;
} lk_weights_layout;

/* How a layout is written and read back. `to`: 64-byte aligned; `plain`: at any address, as its
 * owner has it. Called outside the store's lock; one packing of a (content, layout) at a time. */
typedef struct lk_packer {
  lk_status (*pack)(const void *params, const void *plain, void *to, lk_error *error);
  /* Kept with the copy to get plain bytes back later, possibly from several threads at once; NULL:
   * there is no way back, so plain bytes are kept. */
  lk_status (*unpack)(const void *params, const void *packed, void *plain, lk_error *error);
  const void *params; /* the store has a copy of its own; what it points to outlives the store */
  size_t params_size; /* bytes */
} lk_packer;

/* The copy in that layout, of `bytes` bytes: found, or packed now. LK_IO: it was to be packed from
 * lent bytes, and they have changed, or the file in which they lie was cut. Whoever asks while it
 * is being packed waits; when that fails, the packer's status is returned, nothing is left behind,
 * and those who waited try for themselves. */
lk_status lk_content_pack(lk_content *content, const lk_weights_layout *layout, size_t bytes,
                          const lk_packer *packer, lk_packed **out_packed, lk_error *error);
/* The plain bytes, aligned to `alignment` (a power of two, at most 64). `lent`: where the caller
 * lends them, and who has that memory; NULL where nobody says. 1 MiB or more that lie aligned so
 * are read there, or where another owner of the same origin has them; else they are a copy that the
 * store keeps. LK_IO: the file in which they lie was cut. */
typedef struct lk_lent {
  const void *data;
  lk_owner owner; /* struct_size 0: nobody says */
} lk_lent;
lk_status lk_content_plain(lk_content *content, const lk_lent *lent, size_t alignment,
                           lk_packed **out_packed, lk_error *error);
/* What a copy that was had before is found by, without saying its layout again. It keeps no copy; a
 * caller keeps the content. */
typedef struct lk_packed_name {
  lk_content *content;
  const lk_packed *copy; /* where it was: not read */
  uint64_t serial;       /* of the copy: never reused */
} lk_packed_name;
lk_packed_name lk_packed_get_name(const lk_packed *packed);
/* Brings what lk_packed_by_name reads into the processor's cache. */
void lk_packed_prefetch(const lk_packed_name *name);
/* NULL: the copy has been dropped. */
lk_packed *lk_packed_by_name(const lk_packed_name *name);
const void *lk_packed_data(const lk_packed *packed);
size_t lk_packed_bytes(const lk_packed *packed);
void lk_packed_release(lk_packed *packed); /* NULL is allowed */
