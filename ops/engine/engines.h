/* The engines of a context.
 *
 * `native` (native/) is always there, takes every work, and is what is left where the chosen engine
 * does not take one. Others come as an lk_engine (latchkey/engine.h), by lk_engines_add. */
#pragma once

#include <latchkey/engine.h>

#include "keys/key_build.h"
#include "ops/engine/choice.h"
#include "ops/engine/tuning.h"
#include "ops/plan/work.h"

enum { LK_MAX_ENGINES = 8 };

/* An engine of a context. It does not move. */
typedef struct lk_engine_entry {
  lk_engine engine;  /* as given, with names of its own */
  lk_key_engine key; /* its part of value keys: names that stay in use while it is here */
  lk_key *value_keys[LK_WORK_KINDS]; /* what these begin with */
} lk_engine_entry;

/* What the chosen engine does with a task. */
typedef struct lk_engine_answer {
  bool is_planned; /* a step by a value that was there, or that was built; else it is native's */
  bool is_offered; /* and `choice` and `tensor_bytes` are set; only where lk_engines_notes */
  lk_choice choice;
  uint64_t tensor_bytes;               /* of the work */
  uint64_t built_bytes;                /* of the value of the step */
  uint32_t n_post_ops, taken_post_ops; /* as lk_engine_choice_info has them */
  uint32_t references; /* slow reference implementations that it has just built and that are left */
  bool is_reference;   /* it was left since there is only such a one */
  bool leaves_part;    /* it was planned, but for post-ops, or but for f16 and bf16 as they are */
  const char *reason;  /* why it left the task or a part of it; NULL: no word of that */
} lk_engine_answer;

typedef struct lk_engines_stats {
  uint64_t works;      /* that the chosen engine took */
  uint64_t left;       /* and that it left to `native` */
  uint64_t references; /* of these, such that it has only slow reference implementations of */
  /* choices, where it is asked for what it takes less time for: by times of the work, by those of
   * its size class, by estimates alone */
  uint64_t measured, of_class, estimated;
  uint64_t fitting; /* works with measured times that are of the chosen engine in its state */
} lk_engines_stats;

lk_status lk_engines_create(const lk_allocator *allocator, lk_intern *intern,
                            lk_engines **out_engines, lk_error *error);
/* Closes all engines. Their values must be gone; NULL is allowed. */
void lk_engines_destroy(lk_engines *engines);

/* Takes over the engine, which is closed by lk_engines_destroy; on failure it stays the caller's.
 * LK_VERSION; LK_INVALID_ARGUMENT: a name that is taken or is none, or a function that is NULL;
 * LK_OUT_OF_RANGE: there are LK_MAX_ENGINES. Not while other threads use the context. */
lk_status lk_engines_add(lk_engines *engines, const lk_engine *engine, lk_error *error);
/* By name: "native", or one that was added. `is_auto`: only for works of sizes that recur, and that
 * it takes less time for. LK_NOT_FOUND. */
lk_status lk_engines_choose(lk_engines *engines, const char *name, bool is_auto, lk_error *error);
/* Where sizes recur `open`, which adds an engine and chooses it as `auto`, is called at the first
 * bind for such a size: until then the engine costs nothing. Where it fails, native computes all;
 * if for want of memory, a later bind tries again. `open` itself tells why it fails. */
typedef lk_status lk_engines_open_fn(void *arg);
lk_status lk_engines_choose_later(lk_engines *engines, lk_engines_open_fn *open, void *arg,
                                  lk_error *error);
/* "native", "auto", or the name of the engine that is chosen. */
const char *lk_engines_chosen(const lk_engines *engines);
/* Who is asked for the works of a bind with these lk_bind_flags. */
lk_plan_asks lk_engines_asks(lk_engines *engines, uint32_t bind_flags);
/* Whether plans of a host's own are made without a look-up. Those of native cost less than that,
 * and those for which `auto` asks an engine are few: of sizes that recur. Where an engine is asked
 * each time, plans are dear, and found by name key. */
bool lk_engines_has_own_plans(const lk_engines *engines);
/* What the engine is, and how it is asked, in a name key; nothing for native alone. */
void lk_engines_add_to_key(const lk_engines *engines, lk_plan_asks asks, lk_key_builder *key);
/* Measured times, by which `auto` chooses. */
lk_tuning *lk_engines_tuning(const lk_engines *engines);
/* As lk_choices_get. */
bool lk_engines_choice(const lk_engines *engines, uint32_t index, lk_engine_choice_info *out_info);
lk_engines_stats lk_engines_stats_get(const lk_engines *engines);
/* As lk_left_get. */
bool lk_engines_left(const lk_engines *engines, uint32_t index, lk_engine_left_info *out_info);

/* ---- for planning.c ---- */

/* Whether the engine is the one of `auto`. */
bool lk_engines_is_auto(const lk_engines *engines);
/* NULL: native. */
const lk_engine_entry *lk_engines_asked(const lk_engines *engines, lk_plan_asks asks);
/* Whether choices are noted: not where `auto` measures what it would not choose. */
bool lk_engines_notes(const lk_engines *engines, lk_plan_asks asks);
/* Counts what was answered for a work of this kind. */
void lk_engines_count(lk_engines *engines, uint32_t kind, const lk_engine_answer *answer,
                      const char *node);
/* Notes what was chosen for work `index` of the node, or that there was nothing to choose from;
 * where lk_engines_notes. True: it was left for the first time since there is only a slow reference
 * implementation, by an engine that computes all that it takes. */
bool lk_engines_note(lk_engines *engines, uint32_t kind, uint32_t index, lk_plan_asks asks,
                     const lk_engine_answer *answer, const char *node);
