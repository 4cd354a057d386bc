/* A provider: what one session of ONNX Runtime has of Latchkey. */
#ifndef LK_ORT_PROVIDER_H
#define LK_ORT_PROVIDER_H

#include <pthread.h>
#include <stdatomic.h>

#include "executor_glue/ort/contexts.h"
#include "executor_glue/ort/options.h"
#include "executor_glue/run/executor.h"

typedef struct lk_ort_provider lk_ort_provider;

/* One registration of the library. */
typedef struct lk_ort_factory {
  OrtEpFactory abi; /* first: ONNX Runtime's pointer is ours */
  lk_ort ort;
  lk_ort_contexts contexts;
} lk_ort_factory;

/* A fused node. */
typedef struct lk_ort_subgraph {
  OrtNodeComputeInfo abi; /* first */
  struct lk_ort_subgraph *next;
  lk_ort_provider *provider;
  lk_executor *executor;
  lk_graph *graph;
  lk_graph_executor *graph_executor;
  char *name;
  size_t n_nodes;                 /* as claimed; graph->n_nodes are left after the passes */
  int threads;                    /* of an operator that is split */
  atomic_bool wants_threads;      /* a run has had operators of several threads */
  _Atomic uint64_t n_lent_shares; /* of such operators, that the session's threads have done */
} lk_ort_subgraph;

/* Operators that were left, by type and reason. */
typedef struct lk_ort_left {
  struct lk_ort_left *next;
  char *op_type, *domain, *reason;
  uint32_t count;
} lk_ort_left;

/* What was claimed of a session's graphs. */
typedef struct lk_ort_claims {
  uint32_t n_claimed, n_left, n_subgraphs;
  lk_ort_left *left;
  char *model_path;
} lk_ort_claims;

struct lk_ort_provider {
  OrtEp abi; /* first */
  lk_ort_factory *factory;
  const lk_ort *ort;
  const OrtLogger *logger; /* the session's */
  lk_ort_options options;
  lk_ort_context *context;
  lk_ort_claims claims;       /* written while the session is made */
  lk_ort_subgraph *subgraphs; /* written while the session is made */
};

static inline lk_context *lk_ort_provider_context(const lk_ort_provider *provider) {
  return provider->context->context;
}

/* provider.c */
lk_status lk_ort_provider_create(lk_ort_factory *factory, const OrtSessionOptions *session,
                                 const OrtLogger *logger, lk_ort_provider **out, lk_error *error);
void lk_ort_provider_destroy(lk_ort_provider *provider); /* NULL is allowed */
extern const OrtNodeComputeInfo lk_ort_compute_functions;

/* claim.c: tells ONNX Runtime which nodes to fuse, and notes what was left and why. */
lk_status lk_ort_claim(lk_ort_provider *provider, const OrtGraph *graph,
                       OrtEpGraphSupportInfo *info, lk_error *error);
void lk_ort_claims_end(lk_ort_claims *claims);

/* compile.c: makes an executor of what was fused. `*out` belongs to the provider's list. */
lk_status lk_ort_compile(lk_ort_provider *provider, const OrtGraph *graph, const OrtNode *fused,
                         lk_ort_subgraph **out, lk_error *error);
void lk_ort_subgraph_destroy(lk_ort_subgraph *subgraph); /* NULL is allowed */

/* compute.c: runs a fused node. Any number of threads at once. `stop`: see lk_ort_run_terminate. */
lk_status lk_ort_compute(lk_ort_subgraph *subgraph, OrtKernelContext *context,
                         const volatile uint8_t *stop, lk_error *error);

/* report.c: what was claimed, what was left and why, and what the cache does, as JSON. */
lk_status lk_ort_report_write(const lk_ort_provider *provider, const char *path, lk_error *error);
/* The one line of a session: "3 of 40 nodes left ...". */
void lk_ort_report_line(const lk_ort_provider *provider, char *buffer, size_t capacity);

#endif
