/* When a loop is shared, and into how many tasks it is cut. */
#include "ops/kernel/sharing.h"

#include <math.h>
#include <stdatomic.h>

#include "base/team/processors.h"
#include "ops/kernel/sizes.h"

/* Fewer operations than this are done sooner than another thread wakes up. */
static const double LEAST_SHARED = 1 << 20;
/* To read an element from memory takes about as long as to multiply it by so many rows. */
static const double ROWS_OF_A_READ = 8;

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

bool lk_sharing_pays(double operations) {
  return operations >= LEAST_SHARED;
}

bool lk_sharing_of_rows_pays(double operations, int64_t rows) {
  const double waits = ROWS_OF_A_READ / (double)lk_max(rows, 1);
  return lk_sharing_pays(operations * fmax(waits, 1));
}
