/* What every caller of oneDNN needs: its names for types, its statuses, and a guard against
 * forks. */
#pragma once

#include <latchkey/base.h>
#include <oneapi/dnnl/dnnl.h>

/* oneDNN's type of an lk_dtype; dnnl_data_type_undef where it has none. */
dnnl_data_type_t lk_dnnl_type(uint32_t dtype);

/* Maps a failed oneDNN call to a status; the sentence names `what` and oneDNN's own status. */
lk_status lk_dnnl_fail(lk_error *error, dnnl_status_t dnnl, const char *what);
/* LK_OK when oneDNN succeeded. */
lk_status lk_dnnl_check(lk_error *error, dnnl_status_t dnnl, const char *what);

/* Around what oneDNN creates: while it does, it holds locks of its own, and fills tables at their
 * first use. A fork waits until nobody is between these two, and nobody enters meanwhile. Hits do
 * not come here. Pairs are not nested, and no host code runs in between. */
void lk_dnnl_create_begin(void);
void lk_dnnl_create_end(void);
