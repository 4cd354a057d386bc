/* How oneDNN gets its threads: they are those of the team (base/team) of the thread that calls. */
#pragma once

#include <oneapi/dnnl/dnnl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Into so many parts oneDNN cuts its work, whatever threads there are: how it is cut is part of
 * what a primitive is made for, and the last bits of a sum depend on it. */
enum { LK_DNNL_SHARES = 8 };

/* What this thread creates from now on is cut so. */
void lk_dnnl_set_shares(void);

/* Creates a stream for such primitives. Each thread of the team does its part of the shares. */
dnnl_status_t lk_stream_create(dnnl_engine_t engine, dnnl_stream_t *out_stream);

#ifdef __cplusplus
}
#endif
