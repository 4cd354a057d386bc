/* What a cache must have, as a plain list: the model that cache_fuzz.c compares the cache with.
 *
 * All calls of a history come one after the other, also those on other threads, so the model knows
 * the state before each. What it cannot know is which entries go when there is no room: it takes
 * that from the cache's events, and checks that room was wanted and that idle ones went first. */
#pragma once

#include <latchkey/latchkey.h>
#include <stdbool.h>

#include "tests/fuzz/fuzz.h"

enum {
  MODEL_CONTEXTS = 2,
  MODEL_EXECUTORS = 2, /* of each context, at a time */
  MODEL_VALUES = 400,  /* of a history */
  MODEL_DEPTH = 4,     /* builds within builds */
  MODEL_EVICTED = 64,  /* by one call, of which the need is checked */
  MODEL_TEXT = 512,
};

/* What tells a key from others. No padding. */
typedef struct model_key {
  uint32_t context;
  uint32_t kind;     /* lk_kind */
  uint32_t spec;     /* what it is made of, see cache_fuzz.c */
  uint32_t executor; /* serial of its executor; 0: none */
  uint32_t maker;    /* serial of the thread that is named in it; 0: none is */
} model_key;

typedef enum model_counter {
  MODEL_HITS,
  MODEL_MISSES,
  MODEL_BUILDS,
  MODEL_FAILED,
  MODEL_EVICTIONS,
  MODEL_COUNTERS
} model_counter;

/* Of a context, or of an executor. */
typedef struct model_account {
  uint32_t serial; /* of the executor, from 1; 0: a context, or no executor */
  uint64_t limit_entries, limit_bytes;
  uint64_t entries, bytes, peak_bytes, unlinked_bytes;
  uint64_t counts[MODEL_COUNTERS][LK_KIND_COUNT];
} model_account;

typedef struct model model;

typedef struct model_value {
  model *of;
  model_key key;
  uint32_t place; /* serial of the thread whose table has it; 0: a table for all */
  uint32_t owner; /* serial of the executor that it is charged to; 0: none */
  uint64_t size;  /* bytes that it was built with, or charged later */
  uint64_t charge;
  uint64_t hits;
  uint32_t refs; /* that the history holds */
  bool linked, destroyed, charged, seen;
  char text[MODEL_TEXT]; /* its key's, as printed */
} model_value;

/* What there was when an entry was about to go. */
typedef struct model_eviction {
  uint32_t owner;
  uint64_t entries, bytes, owner_entries, owner_bytes;
} model_eviction;

/* A call that may evict. Builds make others. */
typedef struct model_call {
  uint32_t context, owner; /* for whom room is made */
  uint64_t adds;           /* entries, 0 or 1, of `charge` bytes */
  uint64_t charge;
  bool empties; /* a limit of 0: all go */
  bool faulty;  /* memory fails: what is evicted may have been evicted for nothing */
  model_eviction evicted[MODEL_EVICTED];
  uint32_t n_evicted, n_dropped; /* by events */
} model_call;

/* A build that is under way. */
typedef struct model_build {
  model_key key;
  uint32_t owner;
  bool dropped;
} model_build;

typedef struct model_context {
  model *of;
  lk_context *handle;
  uint32_t index, mode;
  bool limited; /* limits change: then no two threads use one key in per-thread mode */
  model_account account, executors[MODEL_EXECUTORS];
  uint64_t events[LK_EVENT_COUNT];
} model_context;

struct model {
  const lk_api *api;
  model_context contexts[MODEL_CONTEXTS];
  model_value values[MODEL_VALUES];
  uint32_t n_values;
  model_call calls[MODEL_DEPTH + 2];
  uint32_t n_calls;
  model_build builds[MODEL_DEPTH + 2];
  uint32_t n_builds;
};

bool model_same_key(const model_key *a, const model_key *b);
/* The account of an executor; NULL: serial 0, or it is gone. */
model_account *model_executor(model_context *context, uint32_t serial);
/* The value that a look-up must find; NULL: none. */
model_value *model_find(model *m, const model_key *key, uint32_t place);
/* Whether what is built for `owner` is kept, if it fits when all others go. */
bool model_keeps(model_context *context, uint32_t owner);
bool model_fits_alone(model_context *context, uint32_t owner, uint64_t charge);

/* The value enters the list: unlinked, without a reference, its charge not known. */
model_value *model_add(model *m, const model_key *key, uint32_t place, uint32_t owner,
                       uint64_t size);
void model_retain(model_value *value);
void model_release(model_value *value);
void model_link(model_value *value);
void model_unlink(model_value *value);
void model_charge(model_value *value, uint64_t size);
/* Unlinks all that a call is about to drop; `key` NULL: whatever key; serials 0: whatever they are.
 * Returns how many. */
uint64_t model_drop(model *m, uint32_t context, const model_key *key, uint32_t owner,
                    uint32_t place);
void model_count(model_context *context, uint32_t owner, uint32_t kind, model_counter counter);

/* A call begins, and ends: each eviction of it was needed. */
model_call *model_begin(model *m, uint32_t context, uint32_t owner);
void model_end(model *m);

/* The callbacks of the cache; users are a model_context and a model_value. */
void model_on_event(void *user, const lk_event_info *event);
void model_on_destroy(void *value, void *user);

/* Statistics of a context and of its executors `handles` are the model's. What nobody has is gone.
 * After a fault, `learn` takes over counters of look-ups as they are. */
void model_check(model_context *context, lk_executor *const handles[MODEL_EXECUTORS], bool learn);
/* A visit shows what is linked. False: no memory. */
bool model_visit(model_context *context);
