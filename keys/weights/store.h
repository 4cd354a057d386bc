/* What weights.c (contents) and weights_copy.c (their copies) share.
 *
 * One mutex guards all of it. Whoever reads plain bytes without the lock pins them by
 * content->readers: meanwhile no lender leaves and no plain copy is dropped. `changed` is signalled
 * when a packing ends and when the last reader is done.
 */
#ifndef LK_KEYS_WEIGHTS_STORE_H
#define LK_KEYS_WEIGHTS_STORE_H

#include <pthread.h>

#include "base/fork.h"
#include "keys/weights/weights.h"

typedef enum lk_copy_kind {
  LK_COPY_PACKED, /* in a layout */
  LK_COPY_PLAIN,  /* kept plain bytes */
  LK_COPY_LENT    /* an owner's bytes; not counted */
} lk_copy_kind;

struct lk_packed {
  lk_content *content;
  lk_packed *next;          /* of the content */
  lk_packed *older, *newer; /* of the store, by last use; neither when not linked */
  uint64_t refs;
  size_t bytes;
  void *block;      /* allocated; NULL when lent */
  const void *data; /* NULL while it is being packed */
  lk_copy_kind kind;
  uint64_t layout;
  lk_packer packer; /* of a packed one */
};

/* Bytes that an owner lends. */
typedef struct lk_lender {
  struct lk_lender *next;
  const void *data;
  uint64_t count; /* references that lend them; 0: about to leave */
} lk_lender;

struct lk_content {
  lk_weights *weights;
  lk_content *next; /* of the bucket */
  uint64_t id;
  uint64_t hash_high, hash_low;
  uint64_t refs; /* 0: no longer found; lives on while copies are in use */
  uint64_t readers;
  size_t bytes;
  lk_lender *lenders;
  lk_packed *copies;
};

struct lk_weights {
  lk_allocator allocator;
  lk_fork_entry fork;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  uint64_t last_id;
  lk_content **buckets; /* by hash_low; a power of two */
  size_t n_buckets, n_contents;
  lk_packed *oldest, *newest; /* copies that are counted */
  lk_weights_stats stats;
};

/* All with the lock held; functions that say so leave it for a while. */

/* Forgets those that are being made. */
void lk_content_forget_unfinished(lk_content *content);
/* Whether plain bytes can be had without `copy` (NULL: at all). */
bool lk_content_readable(const lk_content *content, const lk_packed *copy);

typedef struct lk_reading {
  const void *bytes;
  void *unpacked;
} lk_reading;

/* Pins plain bytes for reading without the lock. May leave it, to unpack. */
lk_status lk_content_read(lk_content *content, lk_reading *out_reading, lk_error *error);
void lk_content_read_end(lk_content *content, lk_reading *reading);

/* A plain copy of `data`, in no list yet; needs no lock. NULL: no memory. */
lk_packed *lk_copy_make_plain(lk_weights *weights, const void *data, size_t bytes);
void lk_copy_free(const lk_allocator *allocator, lk_packed *copy);
void lk_copy_link(lk_content *content, lk_packed *copy); /* and counts it as used last */
/* Unlinks and frees copies that nobody uses: all of a content; those of the store over capacity. */
void lk_content_drop_copies(lk_content *content);
void lk_weights_shrink(lk_weights *weights);
/* Once there is a packed copy, nobody needs the plain one that no one uses or reads. */
void lk_content_drop_spare_plain(lk_content *content);
/* Ends a lender: copies that are its bytes are not handed out again. */
void lk_content_stop_lending(lk_content *content, const void *data);
/* Frees a content that has neither references nor copies. */
void lk_content_free_unused(lk_content *content);

#endif
