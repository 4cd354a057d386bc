/* How oneDNN gets its threads: they are those of the library's team. */
#pragma once

#include <latchkey/engine.h>
#include <oneapi/dnnl/dnnl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What this thread creates from now on is cut for so many threads, however many will run it. */
dnnl_status_t lk_onednn_set_threads(int threads);
/* How many that were until now, and as it was: where oneDNN is a library of the system, others may
 * create something on this thread, too. */
int lk_onednn_threads(void);
void lk_onednn_reset_threads(int threads);

/* The team of the process, which lives as long as that does, and how many threads it is to show.
 * NULL: no memory. */
typedef struct lk_onednn_pool lk_onednn_pool;
lk_onednn_pool *lk_onednn_pool_create(const lk_engine_team *team, int threads);
void lk_onednn_pool_destroy(lk_onednn_pool *pool);

/* A stream whose primitives run on the pool, by the thread that executes them. */
dnnl_status_t lk_onednn_stream_create(dnnl_engine_t engine, lk_onednn_pool *pool,
                                      dnnl_stream_t *out_stream);

/* dnnl_primitive_execute on such a stream. What is thrown meanwhile, std::bad_alloc in a turn too,
 * goes on from here, and oneDNN has let go of the pool. */
dnnl_status_t lk_onednn_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream, int n_args,
                                const dnnl_exec_arg_t *args);

#ifdef __cplusplus
}
#endif
