/* Which implementation each node of a graph used when it was bound last. */
#pragma once

#include <latchkey/base.h>

typedef struct lk_implementation_names lk_implementation_names;

lk_status lk_implementation_names_create(const lk_allocator *allocator, size_t n_nodes,
                                         lk_implementation_names **out_names, lk_error *error);
void lk_implementation_names_destroy(lk_implementation_names *names); /* NULL is allowed */

/* From any thread. A name that finds no memory is not noted. `implementation`: NULL is "". */
void lk_implementation_names_note(lk_implementation_names *names, int32_t node,
                                  const char *implementation);
/* "" before the first bind; lives as long as `names`. From any thread. */
const char *lk_implementation_names_get(const lk_implementation_names *names, size_t node);
