/* What is counted: entries, bytes, misses and builds, of a cache and of each executor (quota), and
 * their limits. */
#pragma once

#include "keys/cache/state.h"

/* What one look-up has counted; told when it is over (events.h). */
typedef struct lk_looked {
  uint32_t events; /* 1 << lk_event of each */
  uint64_t build_ns;
} lk_looked;

void lk_account_init(lk_account *account, lk_clock_owner owner, uint64_t entries, uint64_t bytes);
/* Whether so much more can be linked. The caller holds `accounts`. */
bool lk_account_fits(const lk_account *account, uint64_t entries, uint64_t bytes);
/* Whether so much could be linked if nothing else were. */
bool lk_account_fits_alone(const lk_account *account, uint64_t entries, uint64_t bytes);
/* Whether the limits let anything be kept at all. */
bool lk_account_keeps(const lk_cache *cache, const lk_quota *quota);
/* Counts a miss, a wait or a build, and notes it in `looked`; `build_ns` for builds, else 0. */
void lk_count(lk_cache *cache, lk_quota *quota, uint32_t kind, lk_event event, uint64_t build_ns,
              lk_looked *looked);
/* A hit that no handle of a table has counted. */
void lk_count_cold_hit(lk_entry *entry, lk_looked *looked);

/* An entry's bytes count, as unlinked ones, from the first of these to the second. */
void lk_account_add(const lk_entry *entry);
void lk_account_remove(const lk_entry *entry);
/* False: it does not fit now. True: it counts as linked, and is a candidate of the clocks: it may
 * be evicted as soon as its place is not locked. */
bool lk_account_link(lk_entry *entry);
void lk_account_unlink(lk_entry *entry, bool eviction);
/* Moves a linked entry in the clocks. The caller has locked its shard. */
void lk_account_park(lk_entry *entry);
void lk_account_unpark(lk_entry *entry);
/* What the hand of the account's clock comes to next; see lk_clock_step. The caller holds `tables`,
 * so that it stays linked. */
lk_entry *lk_account_step(lk_cache *cache, lk_account *account, bool parked);
/* Leaves what it has come to; see lk_clock_leave. */
void lk_account_leave(lk_cache *cache, lk_account *account, lk_entry *const *entries,
                      uint32_t count);
/* The entry's bytes are `total` from now on. Whether that is more than before. */
bool lk_account_charge(lk_entry *entry, uint64_t total);
uint64_t lk_account_charged(const lk_entry *entry);

void lk_quota_release(lk_quota *quota);
