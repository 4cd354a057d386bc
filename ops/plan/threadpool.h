/* How oneDNN gets its threads: they are those of the team (base/team) of the thread that calls. */
#pragma once

#include <oneapi/dnnl/dnnl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Creates a stream whose primitives run on the lk_team_threads() of the thread that executes them.
 */
dnnl_status_t lk_stream_create(dnnl_engine_t engine, dnnl_stream_t *out_stream);

/* What this thread creates from now on is for so many threads. */
void lk_dnnl_create_for(int threads);

#ifdef __cplusplus
}
#endif
