/* Copies of contents, and which of them the store keeps. The caller has the lock, where not said
 * otherwise. */
#pragma once

#include "keys/weights/state.h"

/* A copy with room for its bytes, in no list yet; needs no lock. `layout` and `packer` NULL: a
 * plain one. NULL: no memory. */
lk_packed *lk_copy_create(lk_weights *weights, const lk_weights_layout *layout,
                          const lk_packer *packer, size_t bytes);
/* A plain copy of `data`. */
lk_packed *lk_copy_create_plain(lk_weights *weights, const void *data, size_t bytes);
void lk_copy_destroy(const lk_allocator *allocator,
                     lk_packed *copy); /* in no list; NULL is allowed */

/* Adds it to its content's copies; one that has its bytes is counted too, as used last. */
void lk_copy_link(lk_content *content, lk_packed *copy);
/* Begins to count a linked copy that has got its bytes. */
void lk_copy_count(lk_packed *copy);
/* Notes that it was used last: when nobody uses it any more, since until then it stays. */
void lk_copy_touch(lk_packed *copy);
/* Unlinks and destroys it. */
void lk_copy_drop(lk_packed *copy);

/* Whether plain bytes can be had without `copy` (NULL: at all). */
bool lk_content_readable(const lk_content *content, const lk_packed *copy);
/* Drops copies that nobody uses: all of a content; the plain one, once a packed one can give its
 * bytes. */
void lk_content_drop_copies(lk_content *content);
void lk_content_drop_spare_plain(lk_content *content);
/* Drops copies that nobody uses while the store is over capacity, those first that were used first.
 * Whoever adds a copy or a lender to a content, or ends the use of a copy or the reading, calls
 * the second one for it: all others were looked at when they had changed. */
void lk_weights_shrink(lk_weights *weights);
void lk_content_shrink(lk_content *content);
/* Destroys a content that has neither references nor copies. */
void lk_content_destroy_unused(lk_content *content);

/* Plain bytes of a content, pinned for reading without the lock. */
typedef struct lk_reading {
  const void *bytes;
  void *unpacked;
  bool is_lent; /* an owner's bytes: who made something of them checks them afterwards */
} lk_reading;

/* Whether `bytes` are still those of the content; needs no lock. LK_IO: they are others, as when
 * the file in which they lie was written over. */
lk_status lk_content_check(const lk_content *content, const void *bytes, lk_error *error);
lk_status lk_fail_changed(size_t bytes, lk_error *error); /* its sentence */

/* lk_content_release, of what lk_content_find has found. NULL is allowed. */
void lk_content_give_back(lk_content *content, const void *data);
/* lk_weights_intern, for what is read now. */
lk_status lk_content_find(lk_weights *weights, const void *data, size_t bytes, bool copy,
                          lk_content **out_content, lk_error *error);

/* Gives up the lock for a while when it has to unpack. On failure there is nothing to end. */
lk_status lk_content_read_begin(lk_content *content, lk_reading *out_reading, lk_error *error);
void lk_content_read_end(lk_content *content, lk_reading *reading);
