/* The cache itself, for values of the host's own. */
#ifndef LATCHKEY_CACHE_H
#define LATCHKEY_CACHE_H

#include <latchkey/key.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lk_ref lk_ref; /* a counted reference to a cached value */

/* What a build hands over: a value, the bytes that it is charged for, and how to destroy it.
 * `destroy` runs on any thread, as soon as nobody uses the value. An empty value (NULL) is an error
 * of the build. */
typedef struct lk_built {
  void *value;
  uint64_t bytes;
  void (*destroy)(void *value, void *user);
  void *user;
} lk_built;

typedef lk_status (*lk_build_fn)(void *arg, lk_built *out, lk_error *error);

/* One entry, as cache_visit shows it. `key` is valid during the call. */
typedef struct lk_entry_info {
  size_t struct_size;
  const lk_key *key;
  uint64_t bytes;
  uint64_t hits;
  uint64_t age; /* 0 = used last */
  uint32_t kind;
  uint32_t in_use; /* references besides the cache's */
} lk_entry_info;

typedef void (*lk_visit_fn)(void *arg, const lk_entry_info *entry);

#ifdef __cplusplus
}
#endif

#endif
