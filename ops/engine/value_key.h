/* Value keys: a work and an engine's state as a key, and back. What builds a value reads the work
 * from the key and sees nothing else, so a value depends on nothing that its key does not have. */
#pragma once

#include <latchkey/engine.h>

#include "keys/key_build.h"

/* As keys have it. */
const char *lk_work_kind_name(uint32_t kind);

/* The fixed part of the keys of one kind of works: the kind and the engine, whose names stay in use
 * while it does. Freed by lk_key_destroy. */
lk_status lk_value_key_fix(const lk_allocator *allocator, const lk_key_engine *engine,
                           uint32_t kind, lk_key **out_fixed, lk_error *error);
/* Begins a key and adds all of it; finish and destroy as ever. `fixed`: of each kind, and stays
 * while the key does. The window's rank is at most LK_MAX_SPATIAL. */
void lk_value_key_begin(lk_key_builder *builder, const lk_allocator *allocator,
                        lk_key *const fixed[LK_WORK_KINDS], const lk_work *work);
/* The same without what was fixed before: dearer. */
void lk_value_key_begin_anew(lk_key_builder *builder, const lk_allocator *allocator,
                             const lk_key_engine *engine, const lk_work *work);
/* The engine of a key that this has made. False: another key may have none. */
bool lk_value_key_engine(const lk_key *key, lk_key_engine *out_engine);
/* The work of a key that this has made, or that was parsed. LK_MALFORMED: it is no such key. */
lk_status lk_value_key_read(const lk_key *key, lk_work *out_work, lk_error *error);
