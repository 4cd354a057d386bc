/* The trace that is attached to a session, and what its runs are called in it. */
#include "executor_glue/run/trace.h"
#include "base/clock.h"
#include "executor_glue/session/session.h"

void lk_session_trace_init(lk_session *session) {
  lk_session_trace *self = &session->trace;
  (void)pthread_mutex_init(&self->mutex, NULL); /* cannot fail on glibc */
  self->fork = (lk_fork_entry){.level = LK_FORK_LEAF, .mutex = &self->mutex};
  lk_fork_enter(&self->fork);
}

void lk_session_trace_destroy(lk_session *session) {
  lk_session_trace *self = &session->trace;
  lk_fork_leave(&self->fork);
  pthread_mutex_destroy(&self->mutex);
  lk_trace_release(atomic_load(&self->attached));
  lk_labels_release(atomic_load(&self->labels));
}

void lk_session_trace_attach(lk_session *session, lk_trace *trace) {
  lk_session_trace *self = &session->trace;
  if (trace != NULL) lk_trace_retain(trace);
  pthread_mutex_lock(&self->mutex);
  lk_trace *before = atomic_exchange(&self->attached, trace);
  pthread_mutex_unlock(&self->mutex);
  lk_trace_release(before);
}

lk_trace *lk_session_trace_retain(lk_session *session) {
  lk_session_trace *self = &session->trace;
  if (atomic_load_explicit(&self->attached, memory_order_relaxed) == NULL) return NULL;
  pthread_mutex_lock(&self->mutex);
  lk_trace *trace = atomic_load(&self->attached);
  if (trace != NULL) lk_trace_retain(trace);
  pthread_mutex_unlock(&self->mutex);
  return trace;
}

/* NULL: no memory. */
static lk_labels *model_labels(lk_session *session) {
  const char *path = lk_onnx_model_path(session->model);
  return lk_labels_once(session->allocator, path != NULL ? path : "a model in memory",
                        &session->trace.labels);
}

void lk_session_trace_note(lk_session *session, lk_trace *trace, uint64_t begin_ns,
                           lk_status status) {
  lk_trace_add(trace, (lk_trace_event){.begin_ns = begin_ns,
                                       .ns = lk_now_ns() - begin_ns,
                                       .labels = model_labels(session),
                                       .number = (int32_t)status,
                                       .kind = LK_TRACE_RUN});
}
