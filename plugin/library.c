/* oneDNN's process-wide settings and their one owner. */
#include <oneapi/dnnl/dnnl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/fork.h"
#include "base/status.h"
#include "plugin/internal.h"

#define LEAST_MAJOR 3
#define LEAST_MINOR 13

/* oneDNN's own primitive cache keeps alive what we evict. Where libdnnl is a private copy, the
 * first context turns that cache off and the last one puts it back; where it is the system's, or
 * the user has set its size, it is left alone. */
static pthread_mutex_t owner_mutex = PTHREAD_MUTEX_INITIALIZER;
static int contexts;        /* guarded by owner_mutex */
static bool is_owned;       /* by the first context, for all of them; guarded by owner_mutex */
static int former_capacity; /* guarded by owner_mutex */

/* Asked once: the environment may change while contexts live. */
static bool may_own_library(void) {
#ifdef LK_ONEDNN_IS_PRIVATE
  return getenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY") == NULL &&
         getenv("DNNL_PRIMITIVE_CACHE_CAPACITY") == NULL;
#else
  return false;
#endif
}

lk_status lk_library_retain(lk_error *error) {
  const dnnl_version_t *version = dnnl_version();
  if (version->major != LEAST_MAJOR || version->minor < LEAST_MINOR) {
    return lk_fail(error, LK_VERSION,
                   "failed to use oneDNN %d.%d.%d of this process: version %d.%d or a later %d is "
                   "needed",
                   version->major, version->minor, version->patch, LEAST_MAJOR, LEAST_MINOR,
                   LEAST_MAJOR);
  }
  static lk_fork_entry entry = {.level = LK_FORK_LEAF, .mutex = &owner_mutex};
  lk_fork_enter(&entry);
  pthread_mutex_lock(&owner_mutex);
  if (contexts++ == 0) {
    is_owned = may_own_library();
    if (is_owned) {
      dnnl_get_primitive_cache_capacity(&former_capacity);
      dnnl_set_primitive_cache_capacity(0);
    }
  }
  pthread_mutex_unlock(&owner_mutex);
  return LK_OK;
}

void lk_library_release(void) {
  pthread_mutex_lock(&owner_mutex);
  if (--contexts == 0 && is_owned) dnnl_set_primitive_cache_capacity(former_capacity);
  pthread_mutex_unlock(&owner_mutex);
}
