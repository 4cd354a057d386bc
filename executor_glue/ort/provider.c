/* What ONNX Runtime calls of a provider; each function here only goes between the two interfaces. */
#include "executor_glue/ort/provider.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"

/* An entry of a run's options: a file that the statistics of now are written to. */
/* Up to 15 characters: ONNX Runtime makes a string of it for every run. */
#define LK_ORT_RUN_STATISTICS "latchkey.stats"

/* Whether the run that is on in this thread is to end. A run of ONNX Runtime begins and ends on one
 * thread; operators that it hands to others can be ended between fused nodes only. */
static _Thread_local const volatile uint8_t *stop_of_run;

static const char *get_name(const OrtEp *self) {
  (void)self;
  return LK_ORT_PROVIDER_NAME;
}

static OrtStatus *get_capability(OrtEp *self, const OrtGraph *graph, OrtEpGraphSupportInfo *info) {
  lk_ort_provider *provider = (lk_ort_provider *)self;
  lk_error error;
  const lk_status status = lk_ort_claim(provider, graph, info, &error);
  return lk_ort_status(provider->ort, status, &error);
}

/* They end with their provider, which ONNX Runtime releases next: its last report tells of them. */
static void release_infos(OrtEp *self, OrtNodeComputeInfo **infos, size_t count) {
  (void)self, (void)infos, (void)count;
}

static OrtStatus *compile(OrtEp *self, const OrtGraph **graphs, const OrtNode **fused_nodes,
                          size_t count, OrtNodeComputeInfo **out_infos,
                          OrtNode **ep_context_nodes) {
  (void)ep_context_nodes;
  lk_ort_provider *provider = (lk_ort_provider *)self;
  lk_status status = LK_OK;
  lk_error error;
  for (size_t i = 0; i < count && status == LK_OK; i++) {
    lk_ort_subgraph *subgraph = NULL;
    status = lk_ort_compile(provider, graphs[i], fused_nodes[i], &subgraph, &error);
    if (status == LK_OK) out_infos[i] = &subgraph->abi;
  }
  if (status != LK_OK) memset(out_infos, 0, count * sizeof *out_infos);
  return lk_ort_status(provider->ort, status, &error);
}

static OrtStatus *on_run_start(OrtEp *self, const OrtRunOptions *options) {
  const lk_ort_provider *provider = (lk_ort_provider *)self;
  lk_error error;
  lk_status status = LK_OK;
  const char *path = ort_GetRunConfigEntry(provider->ort->api)(options, LK_ORT_RUN_STATISTICS);
  if (path != NULL) status = lk_ort_report_write(provider, path, &error);
  /* A run that has not begun does not end either. */
  if (status == LK_OK) stop_of_run = lk_ort_run_terminate(&provider->ort->offsets, options);
  return lk_ort_status(provider->ort, status, &error);
}

static OrtStatus *on_run_end(OrtEp *self, const OrtRunOptions *options, bool sync_stream) {
  (void)self, (void)options, (void)sync_stream;
  stop_of_run = NULL;
  return NULL;
}

/* ---- fused nodes ------------------------------------------------------------------------------- */

static OrtStatus *create_state(OrtNodeComputeInfo *self, OrtNodeComputeContext *context,
                               void **out) {
  (void)context;
  *out = self; /* all that changes in a run is the run's own */
  return NULL;
}

static OrtStatus *compute(OrtNodeComputeInfo *self, void *state, OrtKernelContext *context) {
  (void)state;
  lk_ort_subgraph *subgraph = (lk_ort_subgraph *)self;
  lk_error error;
  const lk_status status = lk_ort_compute(subgraph, context, stop_of_run, &error);
  return lk_ort_status(subgraph->provider->ort, status, &error);
}

static void release_state(OrtNodeComputeInfo *self, void *state) {
  (void)self, (void)state;
}

const OrtNodeComputeInfo lk_ort_compute_functions = {
    .ort_version_supported = LK_ORT_API_VERSION,
    .CreateState = create_state,
    .Compute = compute,
    .ReleaseState = release_state,
};

/* ---- life -------------------------------------------------------------------------------------- */

static const OrtEp provider_functions = {
    .ort_version_supported = LK_ORT_API_VERSION,
    .GetName = get_name,
    .GetCapability = get_capability,
    .Compile = compile,
    .ReleaseNodeComputeInfos = release_infos,
    .OnRunStart = on_run_start,
    .OnRunEnd = on_run_end,
};

lk_status lk_ort_provider_create(lk_ort_factory *factory, const OrtSessionOptions *session,
                                 const OrtLogger *logger, lk_ort_provider **out, lk_error *error) {
  lk_status status = LK_OK;
  *out = NULL;
  lk_ort_provider *provider = lk_calloc(lk_allocator_default(), 1, sizeof *provider);
  if (provider == NULL) return lk_fail_memory(error, "a provider", sizeof *provider);
  provider->abi = provider_functions;
  provider->factory = factory;
  provider->ort = &factory->ort;
  provider->logger = logger;
  LK_TRY(lk_ort_options_read(provider->ort, session, &provider->options, error));
  LK_TRY(lk_ort_contexts_get(&factory->contexts, &provider->options.context, &provider->context,
                             error));
  *out = provider;
  provider = NULL;
cleanup:
  lk_ort_provider_destroy(provider);
  return status;
}

void lk_ort_provider_destroy(lk_ort_provider *provider) {
  if (provider == NULL) return;
  lk_error error;
  if (provider->options.statistics_file != NULL && provider->context != NULL &&
      lk_ort_report_write(provider, provider->options.statistics_file, &error) != LK_OK) {
    /* The session's own logger may have gone before. */
    lk_ort_log(provider->ort, provider->factory->contexts.logger, ORT_LOGGING_LEVEL_WARNING,
               error.message);
  }
  while (provider->subgraphs != NULL) {
    lk_ort_subgraph *next = provider->subgraphs->next;
    lk_ort_subgraph_destroy(provider->subgraphs);
    provider->subgraphs = next;
  }
  lk_ort_claims_end(&provider->claims);
  lk_ort_contexts_release(&provider->factory->contexts, provider->context);
  lk_ort_options_end(&provider->options);
  lk_free(lk_allocator_default(), provider);
}
