/* What ONNX Runtime calls of a provider. Each of these functions only translates between the two
 * interfaces. */
#include "executor_glue/ort/provider.h"

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/ort/dynamic.h"
#include "executor_glue/ort/report.h"
#include "executor_glue/ort/run_stops.h"
#include "executor_glue/run/trace_text.h"

/* An entry of a run's options: a file that the statistics of now are written to. Up to 15
 * characters: ONNX Runtime makes a string of it for every run. Who sends a run may not be who owns
 * the files of the process, so the session has to allow it. */
#define LK_ORT_RUN_STATISTICS "latchkey.stats"

typedef struct provider {
  OrtEp abi; /* first: ONNX Runtime's pointer is ours */
  const lk_ort *ort;
  const OrtLogger *logger; /* the session's */
  lk_ort_options options;
  lk_ort_context *context;
  lk_trace *trace;            /* NULL: no file is asked for */
  lk_ort_claims claims;       /* written while the session is made */
  lk_ort_subgraph *subgraphs; /* written while the session is made; the newest first */
  lk_reporter reporter;       /* entered by the first run, when all of the above is made */
  atomic_bool is_reported;
} provider;

static lk_status write_report(const provider *self, const char *path, lk_error *error) {
  return lk_ort_report_write(self->context, &self->claims, self->subgraphs, path, error);
}

static lk_status write_run_report(const provider *self, const char *path, lk_error *error) {
  if (self->options.run_statistics) return write_report(self, path, error);
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "failed to write statistics to '%.128s': the session does not allow its runs to "
                 "write files, it does with the provider option run_statistics=on",
                 path);
}

static char *make_text(void *object) {
  const provider *self = object;
  char *text = NULL;
  (void)lk_ort_report_text(self->context, &self->claims, self->subgraphs, &text, NULL);
  return text;
}

static void release_text(void *object, char *text) {
  const provider *self = object;
  lk_free(self->ort->latchkey->context_allocator(self->context->handle), text);
}

/* The socket of the process tells of the session from now on. */
static void enter_reporter(provider *self) {
  if (atomic_load_explicit(&self->is_reported, memory_order_relaxed)) return;
  if (atomic_exchange_explicit(&self->is_reported, true, memory_order_relaxed)) return;
  self->reporter = (lk_reporter){
      .context = self->context->handle, .make = make_text, .release = release_text, .object = self};
  self->ort->latchkey->reporter_enter(&self->reporter);
}

/* ---- fused nodes ---- */

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
  const lk_status status = lk_ort_compute(subgraph, context, lk_ort_run_stop(), &error);
  return lk_ort_status(subgraph->context->ort, status, &error);
}

static void release_state(OrtNodeComputeInfo *self, void *state) {
  (void)self, (void)state;
}

static const OrtNodeComputeInfo compute_functions = {
    .ort_version_supported = LK_ORT_API_VERSION,
    .CreateState = create_state,
    .Compute = compute,
    .ReleaseState = release_state,
};

/* ---- a session ---- */

static const char *get_name(const OrtEp *ep) {
  (void)ep;
  return LK_ORT_PROVIDER_NAME;
}

static OrtStatus *get_capability(OrtEp *ep, const OrtGraph *graph, OrtEpGraphSupportInfo *info) {
  provider *self = (provider *)ep;
  lk_error error;
  const lk_status status =
      lk_ort_claim(self->context, self->options.claims_all, graph, info, &self->claims, &error);
  if (status == LK_OK && self->claims.is_complete) {
    char line[1024];
    lk_ort_claims_text(&self->claims, line, sizeof line);
    lk_ort_log(self->ort, self->logger, ORT_LOGGING_LEVEL_INFO, line);
  }
  return lk_ort_status(self->ort, status, &error);
}

static OrtStatus *compile(OrtEp *ep, const OrtGraph **graphs, const OrtNode **fused_nodes,
                          size_t count, OrtNodeComputeInfo **out_infos,
                          OrtNode **ep_context_nodes) {
  (void)ep_context_nodes;
  provider *self = (provider *)ep;
  lk_status status = LK_OK;
  lk_error error;
  for (size_t i = 0; i < count; i++) {
    lk_ort_subgraph *subgraph = NULL;
    status = lk_ort_subgraph_create(self->context, &self->options, graphs[i], fused_nodes[i],
                                    &subgraph, &error);
    if (status != LK_OK) break;
    subgraph->abi = compute_functions;
    subgraph->trace = self->trace;
    subgraph->next = self->subgraphs;
    self->subgraphs = subgraph;
    out_infos[i] = &subgraph->abi;
  }
  if (status != LK_OK) memset(out_infos, 0, count * sizeof *out_infos);
  return lk_ort_status(self->ort, status, &error);
}

/* The last report, which the provider writes when ONNX Runtime releases it next, tells of fused
 * nodes: so they are destroyed with the provider. */
static void release_infos(OrtEp *ep, OrtNodeComputeInfo **infos, size_t count) {
  (void)ep, (void)infos, (void)count;
}

static OrtStatus *set_dynamic_options(OrtEp *ep, const char *const *keys, const char *const *values,
                                      size_t count) {
  const provider *self = (provider *)ep;
  lk_error error;
  const lk_status status = lk_ort_dynamic_set(self->context, keys, values, count, &error);
  return lk_ort_status(self->ort, status, &error);
}

static OrtStatus *on_run_start(OrtEp *ep, const OrtRunOptions *options) {
  provider *self = (provider *)ep;
  const lk_ort *ort = self->ort;
  lk_error error;
  lk_status status = LK_OK;
  enter_reporter(self);
  const char *path = ort_GetRunConfigEntry(ort->api)(options, LK_ORT_RUN_STATISTICS);
  if (path != NULL) status = write_run_report(self, path, &error);
  /* A run that has not begun does not end either. */
  if (status == LK_OK) lk_ort_run_enter(lk_ort_run_terminate(&ort->offsets, options));
  return lk_ort_status(ort, status, &error);
}

static OrtStatus *on_run_end(OrtEp *ep, const OrtRunOptions *options, bool sync_stream) {
  (void)ep, (void)options, (void)sync_stream;
  lk_ort_run_leave();
  return NULL;
}

static const OrtEp provider_functions = {
    .ort_version_supported = LK_ORT_API_VERSION,
    .GetName = get_name,
    .GetCapability = get_capability,
    .Compile = compile,
    .ReleaseNodeComputeInfos = release_infos,
    .SetDynamicOptions = set_dynamic_options,
    .OnRunStart = on_run_start,
    .OnRunEnd = on_run_end,
};

/* ---- life ---- */

lk_status lk_ort_provider_create(lk_ort_contexts *contexts, const OrtSessionOptions *session,
                                 const OrtLogger *logger, OrtEp **out, lk_error *error) {
  lk_status status = LK_OK;
  *out = NULL;
  provider *made = lk_calloc(lk_allocator_default(), 1, sizeof *made);
  if (made == NULL) return lk_fail_memory(error, "a provider", sizeof *made);
  made->abi = provider_functions;
  made->ort = contexts->ort;
  made->logger = logger;
  LK_TRY(lk_ort_options_read(made->ort, session, &made->options, error));
  LK_TRY(lk_ort_context_retain(contexts, &made->options.context, &made->context, error));
  if (made->options.trace_file != NULL) {
    LK_TRY(lk_trace_create(made->context->handle, NULL, &made->trace, error));
  }
  *out = &made->abi;
  made = NULL;
cleanup:
  lk_ort_provider_destroy((OrtEp *)made);
  return status;
}

/* The session's own logger may have gone before. */
static void warn(const provider *self, const lk_error *error) {
  lk_ort_log(self->ort, self->context->owner->logger, ORT_LOGGING_LEVEL_WARNING, error->message);
}

static void write_files(const provider *self) {
  lk_error error;
  const lk_ort_options *options = &self->options;
  if (self->context == NULL) return;
  if (options->statistics_file != NULL &&
      write_report(self, options->statistics_file, &error) != LK_OK) {
    warn(self, &error);
  }
  if (self->trace != NULL && lk_trace_save(self->trace, options->trace_file, &error) != LK_OK) {
    warn(self, &error);
  }
}

void lk_ort_provider_destroy(OrtEp *ep) {
  provider *self = (provider *)ep;
  if (self == NULL) return;
  self->ort->latchkey->reporter_leave(&self->reporter);
  write_files(self);
  while (self->subgraphs != NULL) {
    lk_ort_subgraph *next = self->subgraphs->next;
    lk_ort_subgraph_destroy(self->subgraphs);
    self->subgraphs = next;
  }
  lk_ort_claims_destroy(&self->claims);
  lk_trace_release(self->trace);
  lk_ort_context_release(self->context);
  lk_ort_options_destroy(&self->options);
  lk_free(lk_allocator_default(), self);
}
