/* What callers of the cache hold: opaque types, and counted references to entries (entry.c). */
#pragma once

#include "keys/key.h"

typedef struct lk_cache lk_cache;
typedef struct lk_quota lk_quota; /* limits and counters of one executor */

/* Two references to one entry may be different pointers: compare values. */
void *lk_ref_value(const lk_ref *ref);
const lk_key *lk_ref_key(const lk_ref *ref);
void lk_ref_retain(lk_ref *ref);
void lk_ref_release(lk_ref *ref); /* the last one frees; NULL is allowed */
