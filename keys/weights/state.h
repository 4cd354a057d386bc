/* What the weights store consists of. Structures only; README.md names the files that work on them.
 *
 * One mutex guards all of it. Whoever reads plain bytes without the mutex pins them by
 * content->readers: meanwhile no lender leaves and no plain copy is dropped. `changed` is signalled
 * when a packing ends and when the last reader is done.
 */
#pragma once

#include <pthread.h>

#include "base/fork.h"
#include "keys/weights/weights.h"

typedef enum lk_copy_kind {
  LK_COPY_PACKED, /* in a layout */
  LK_COPY_PLAIN,  /* kept plain bytes */
  LK_COPY_LENT    /* an owner's bytes, which are read where they lie; not counted */
} lk_copy_kind;

struct lk_packed {
  lk_content *content;
  lk_packed *next, **link;  /* of the content */
  lk_packed *older, *newer; /* of the store, by last use; neither when not linked */
  uint64_t refs;
  size_t bytes;
  void *block;      /* allocated; NULL when lent */
  const void *data; /* NULL while it is being packed */
  uint64_t serial;  /* of all copies: never reused */
  lk_copy_kind kind;
  /* Of a lent one, which is linked while it is used: who has the bytes, with a reference. Where
   * `source` is set, that is the lent copy of another content, which has the reference to the
   * owner, and this one has a reference to it. */
  lk_owner owner;
  lk_packed *source;
  /* Of a packed one; its params and the bytes of its layout lie behind this struct. */
  lk_weights_layout layout;
  lk_packer packer;
};

/* Bytes that an owner lends. */
typedef struct lk_lender {
  struct lk_lender *next, **link;              /* of the content */
  struct lk_lender *next_by_data, **data_link; /* of the bucket */
  lk_content *content;
  const void *data;
  uint64_t count; /* references that lend them; 0: about to leave */
} lk_lender;

/* What a content is that is read when that is needed (late.h). */
typedef struct lk_late {
  const void *data;    /* where it is lent, while it has references */
  lk_content *settled; /* that has its copies, with a reference that lends `data`; NULL: not read */
  bool is_being_read;
  uint64_t sample; /* hash of some of the bytes */
} lk_late;

struct lk_content {
  lk_weights *weights;
  lk_content *next, **link; /* of the bucket, or of `late` of the store */
  lk_late *late;            /* NULL: it was read when it came */
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
  uint64_t last_id, last_serial;
  lk_content **buckets; /* by hash_low; a power of two */
  size_t n_buckets, n_contents;
  lk_lender **lent; /* by data; a power of two */
  size_t n_lent_buckets, n_lenders;
  lk_content *late;           /* contents that have `late` */
  lk_packed *oldest, *newest; /* copies that are counted */
  /* More than fits, and none of it may go. Until less is there again, only a content that has
   * changed since can have a copy that may go. */
  bool is_full;
  lk_weights_stats stats;
};
