/* What stages do themselves, besides running operators: copies, and steps of their own. They look
 * in between whether the run has to end, for which the run watches its thread (lk_flow_run). */
#pragma once

#include <latchkey/latchkey.h>

/* LK_CANCELLED or LK_DEADLINE once the run has to end. */
lk_status lk_flow_look(const lk_api *api, lk_error *error);
/* The same after `bytes` of work of many, counted in `*done`, which begins with 0: looks where
 * enough has been done since the last look. A step that copies next to nothing counts as well. */
lk_status lk_flow_look_after(const lk_api *api, size_t bytes, size_t *done, lk_error *error);

/* Pieces of memory that lie one behind the other in equal steps. */
typedef struct lk_flow_pieces {
  size_t count, bytes;       /* of pieces; of each */
  size_t from_step, to_step; /* bytes from one to the next */
} lk_flow_pieces;

/* Copies them, which may have no bytes. */
lk_status lk_flow_copy(const lk_api *api, const void *from, void *to, const lk_flow_pieces *pieces,
                       lk_error *error);
/* One piece. */
lk_status lk_flow_copy_bytes(const lk_api *api, const void *from, void *to, size_t bytes,
                             lk_error *error);
