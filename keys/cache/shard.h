/* Shards: the tables of shared mode. The caller has locked the shard. */
#pragma once

#include "keys/cache/state.h"

/* With a reference for the caller; NULL: not there. */
lk_entry *lk_shard_find(lk_shard *shard, const lk_key *key);
/* Takes an entry out of its shard. Fronts may still list it. */
void lk_shard_unlink(lk_entry *entry, bool eviction, lk_garbage *garbage);
