/* What an engine has offered for the works of nodes, and what was chosen: the newest of each work
 * of each node, for people. Any thread. */
#pragma once

#include <latchkey/context.h>
#include <stdbool.h>

#include "base/alloc.h"

typedef struct lk_choices lk_choices;

lk_status lk_choices_create(const lk_allocator *allocator, lk_choices **out_choices,
                            lk_error *error);
void lk_choices_destroy(lk_choices *choices); /* NULL is allowed */

/* Keeps a choice in place of that which the node had for the work of this kind and number
 * (`numbers->index`). Nodes differ by their whole names; texts are cut as lk_engine_choice_info has
 * room, and NULL is "". `numbers`: its texts are not read. At most 4,096 are kept, and none where
 * there is no memory. `is_reference`: a slow reference implementation was all that there is; true
 * is returned at the first one of a work that is kept. */
bool lk_choices_note(lk_choices *choices, const char *node, const char *work, const char *engine,
                     const char *reason, const lk_engine_choice_info *numbers, bool is_reference);
/* Choice `index`, in the order in which works came first. False: there are no more. */
bool lk_choices_get(lk_choices *choices, uint32_t index, lk_engine_choice_info *out_info);
