/* Value keys: a work and an engine's state as a key, and back. What builds a value reads the work
 * from the key and sees nothing else, so a value depends on nothing that its key does not have. */
#pragma once

#include <latchkey/engine.h>

#include "keys/key_build.h"

/* Begins a key and adds all of it; finish and destroy as ever. `engine` has numbers of names that
 * stay in use while the key does. */
void lk_value_key_begin(lk_key_builder *builder, const lk_allocator *allocator,
                        const lk_key_engine *engine, const lk_work *work);
/* The work of a key that this has made, or that was parsed. LK_MALFORMED: it is no such key. */
lk_status lk_value_key_read(const lk_key *key, lk_work *out_work, lk_error *error);
