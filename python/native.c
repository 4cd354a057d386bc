/* Contexts, sessions and outputs that count their users, and lines for the log, see native.h. */
#include "native.h"

#include <Python.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/whole_file.h"

struct lk_py_context {
  lk_context *context;
  atomic_size_t users;
};

/* A model in memory, counted: clones share it. */
typedef struct lk_py_bytes {
  atomic_size_t users;
  alignas(max_align_t) uint8_t data[];
} lk_py_bytes;

struct lk_py_session {
  lk_py_context *context;
  lk_session *session;
  lk_py_bytes *bytes; /* of a model that came as such, else NULL */
  atomic_size_t users;
};

struct lk_py_trace {
  lk_py_context *context;
  lk_trace *trace;
};

const lk_api *lk_py_api(void) {
  return lk_get_api(LK_API_VERSION);
}

const lk_session_api *lk_py_session_api(void) {
  return lk_get_session_api(LK_SESSION_API_VERSION);
}

/* ---- lines: a list without a lock, so that no thread waits here, whatever it holds ---- */

#define MOST_LINES 1024u

static _Atomic(lk_py_line *) lines; /* newest first */
static atomic_uint n_lines, n_lost;
static atomic_bool is_asked; /* Python is to take them, and has not begun to */

void lk_py_log_lines(void); /* in Python, see generate.py */

static int take_lines(void *arg) {
  (void)arg;
  atomic_store(&is_asked, false);
  lk_py_log_lines();
  return 0;
}

static lk_py_line *line_create(lk_log_level level, const char *text) {
  const size_t bytes = strlen(text) + 1;
  lk_py_line *line = malloc(sizeof *line + bytes);
  if (line == NULL) return NULL;
  line->level = level;
  memcpy(line->text, text, bytes);
  return line;
}

static void log_line(void *user, lk_log_level level, const char *text) {
  (void)user;
  if (!Py_IsInitialized()) { /* a thread of the library that outlives the interpreter */
    fprintf(stderr, "latchkey: %s\n", text);
    return;
  }
  lk_py_line *line = NULL;
  if (atomic_fetch_add(&n_lines, 1) >= MOST_LINES || (line = line_create(level, text)) == NULL) {
    atomic_fetch_sub(&n_lines, 1);
    atomic_fetch_add(&n_lost, 1);
    return;
  }
  line->next = atomic_load(&lines);
  while (!atomic_compare_exchange_weak(&lines, &line->next, line)) {
  }
  /* It needs no lock of the interpreter, and fails when too much else is asked: the next line asks
   * again. */
  if (!atomic_exchange(&is_asked, true) && Py_AddPendingCall(take_lines, NULL) != 0) {
    atomic_store(&is_asked, false);
  }
}

lk_py_line *lk_py_lines_take(uint32_t *out_lost) {
  *out_lost = atomic_exchange(&n_lost, 0);
  lk_py_line *newest = atomic_exchange(&lines, NULL), *oldest = NULL;
  while (newest != NULL) {
    lk_py_line *next = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = next;
    atomic_fetch_sub(&n_lines, 1);
  }
  return oldest;
}

void lk_py_lines_free(lk_py_line *line) {
  while (line != NULL) {
    lk_py_line *next = line->next;
    free(line);
    line = next;
  }
}

/* ---- contexts and sessions ---- */

static lk_status fail_memory(lk_error *error, const char *what, size_t bytes) {
  error->status = LK_OUT_OF_MEMORY;
  snprintf(error->message, sizeof error->message, "failed to allocate %zu bytes for %s", bytes,
           what);
  return LK_OUT_OF_MEMORY;
}

lk_status lk_py_context_create(lk_context_options *options, lk_py_context **out_context,
                               lk_error *error) {
  *out_context = NULL;
  lk_py_context *context = calloc(1, sizeof *context);
  if (context == NULL) return fail_memory(error, "a context", sizeof *context);
  options->log = log_line;
  const lk_status status = lk_py_api()->context_create(options, &context->context, error);
  if (status != LK_OK) {
    free(context);
    return status;
  }
  atomic_init(&context->users, 1);
  *out_context = context;
  return LK_OK;
}

lk_context *lk_py_context_get(const lk_py_context *context) {
  return context->context;
}

void lk_py_context_release(lk_py_context *context) {
  if (context == NULL || atomic_fetch_sub(&context->users, 1) != 1) return;
  lk_py_api()->context_destroy(context->context);
  free(context);
}

static void release_bytes(lk_py_bytes *bytes) {
  if (bytes != NULL && atomic_fetch_sub(&bytes->users, 1) == 1) free(bytes);
}

/* With one user; its bytes and its lk_session are still to come. */
static lk_status session_create(lk_py_context *context, lk_py_session **out, lk_error *error) {
  *out = calloc(1, sizeof **out);
  if (*out == NULL) return fail_memory(error, "a session", sizeof **out);
  atomic_fetch_add(&context->users, 1);
  (*out)->context = context;
  atomic_init(&(*out)->users, 1);
  return LK_OK;
}

/* Hands the session to the caller, or releases it after a failure. */
static lk_status hand_out(lk_py_session *session, lk_status status, lk_py_session **out_session) {
  if (status == LK_OK) {
    *out_session = session;
  } else {
    lk_py_session_release(session);
  }
  return status;
}

lk_status lk_py_session_open(lk_py_context *context, const char *path, const void *data,
                             size_t size, const lk_session_options *options,
                             lk_py_session **out_session, lk_error *error) {
  const lk_session_api *api = lk_py_session_api();
  lk_py_session *session = NULL;
  *out_session = NULL;
  lk_status status = session_create(context, &session, error);
  if (status != LK_OK) return status;
  if (path != NULL) {
    status = api->open(context->context, path, options, &session->session, error);
  } else if ((session->bytes = malloc(sizeof *session->bytes + size)) == NULL) {
    status = fail_memory(error, "a copy of the model", size);
  } else {
    atomic_init(&session->bytes->users, 1);
    memcpy(session->bytes->data, data, size);
    status = api->open_memory(context->context, session->bytes->data, size, options,
                              &session->session, error);
  }
  return hand_out(session, status, out_session);
}

lk_status lk_py_session_clone(lk_py_session *session, lk_py_session **out_session,
                              lk_error *error) {
  lk_py_session *made = NULL;
  *out_session = NULL;
  lk_status status = session_create(session->context, &made, error);
  if (status != LK_OK) return status;
  made->bytes = session->bytes;
  if (made->bytes != NULL) atomic_fetch_add(&made->bytes->users, 1);
  status = lk_py_session_api()->clone(session->session, &made->session, error);
  return hand_out(made, status, out_session);
}

lk_session *lk_py_session_get(const lk_py_session *session) {
  return session->session;
}

void lk_py_session_release(lk_py_session *session) {
  if (session == NULL || atomic_fetch_sub(&session->users, 1) != 1) return;
  lk_py_session_api()->close(session->session);
  lk_py_context_release(session->context);
  release_bytes(session->bytes);
  free(session);
}

lk_status lk_py_session_run(lk_py_session *session, const lk_named_tensor *inputs,
                            uint32_t n_inputs, lk_named_tensor *outputs, uint32_t n_outputs,
                            const lk_run_options *options, lk_error *error) {
  size_t wanted = 0;
  for (uint32_t i = 0; i < n_outputs; i++) wanted += outputs[i].tensor.data == NULL;
  const lk_status status = lk_py_session_api()->run(session->session, inputs, n_inputs, outputs,
                                                    n_outputs, options, error);
  if (status == LK_OK) atomic_fetch_add(&session->users, wanted);
  return status;
}

void lk_py_output_release(lk_py_session *session, void *data) {
  lk_named_tensor output = {.tensor = {.data = data}};
  lk_py_session_api()->outputs_release(session->session, &output, 1);
  lk_py_session_release(session);
}

/* ---- traces ---- */

lk_status lk_py_trace_create(lk_py_context *context, const lk_trace_options *options,
                             lk_py_trace **out_trace, lk_error *error) {
  *out_trace = NULL;
  lk_py_trace *made = calloc(1, sizeof *made);
  if (made == NULL) return fail_memory(error, "a trace", sizeof *made);
  const lk_status status =
      lk_py_session_api()->trace_create(context->context, options, &made->trace, error);
  if (status != LK_OK) {
    free(made);
    return status;
  }
  atomic_fetch_add(&context->users, 1);
  made->context = context;
  *out_trace = made;
  return LK_OK;
}

lk_trace *lk_py_trace_get(const lk_py_trace *trace) {
  return trace->trace;
}

void lk_py_trace_release(lk_py_trace *trace) {
  if (trace == NULL) return;
  lk_py_session_api()->trace_release(trace->trace);
  lk_py_context_release(trace->context);
  free(trace);
}

lk_status lk_py_file_write(const char *what, const char *path, const void *bytes, size_t size,
                           lk_error *error) {
  return lk_whole_file_write(lk_allocator_default(), what, path, bytes, size, error);
}
