/* Tasks for many processors. */
#include "ops/kernel/sharing.h"

#include <stdatomic.h>

#include "base/team/processors.h"
#include "ops/kernel/sizes.h"

static atomic_int known; /* 0: nobody asked yet */

void lk_sharing_set_processors(int processors) {
  atomic_store_explicit(&known, processors, memory_order_relaxed);
}

/* Those of the process when it is asked first: a host may take some away later, or give more. */
static int processors(void) {
  int found = atomic_load_explicit(&known, memory_order_relaxed);
  if (found == 0) {
    int none = 0;
    found = lk_processors_allowed();
    if (found < 1) found = 1;
    /* another thread may have been first, when there were others */
    if (!atomic_compare_exchange_strong(&known, &none, found)) found = none;
  }
  return found;
}

int64_t lk_sharing_tasks(int64_t tasks) {
  return tasks * lk_div_up(processors(), LK_SHARING_FEW);
}

int64_t lk_sharing_slots(int64_t most) {
  return lk_max(most, processors());
}
