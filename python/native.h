/* What the Python package calls: contexts, sessions and outputs that count their users.
 *
 * Python destroys objects in any order, above all those of a reference cycle. So a session holds
 * its context, and an output array its session, here and not by references between Python objects.
 * cffi releases the interpreter's lock around each call: no function here needs it. */
#ifndef LATCHKEY_PYTHON_NATIVE_H
#define LATCHKEY_PYTHON_NATIVE_H

#include <latchkey/session.h>

typedef struct lk_py_context lk_py_context;
typedef struct lk_py_session lk_py_session;
typedef struct lk_py_trace lk_py_trace;

const lk_api *lk_py_api(void);
const lk_session_api *lk_py_session_api(void);

/* A line that the library has logged. */
typedef struct lk_py_line {
  struct lk_py_line *next;
  int32_t level; /* lk_log_level */
  char text[];
} lk_py_line;

/* Takes the lines that wait, oldest first, for lk_py_lines_free; and how many there was no room
 * for since the last time. */
lk_py_line *lk_py_lines_take(uint32_t *out_lost);
void lk_py_lines_free(lk_py_line *line); /* and those behind it; NULL is allowed */

/* Its log lines wait for lk_py_lines_take: any thread of the library may log, with locks held that
 * a fork waits for while it has the interpreter's lock. Python's main thread is asked to take them
 * (lk_py_log_lines). */
lk_status lk_py_context_create(lk_context_options *options, lk_py_context **out_context,
                               lk_error *error);
lk_context *lk_py_context_get(const lk_py_context *context);
void lk_py_context_release(lk_py_context *context);

/* Opens `path`, or where that is NULL a copy of `data`. */
lk_status lk_py_session_open(lk_py_context *context, const char *path, const void *data,
                             size_t size, const lk_session_options *options,
                             lk_py_session **out_session, lk_error *error);
/* As `clone` in latchkey/session.h; the bytes of a model in memory are shared. */
lk_status lk_py_session_clone(lk_py_session *session, lk_py_session **out_session, lk_error *error);
lk_session *lk_py_session_get(const lk_py_session *session);
void lk_py_session_release(lk_py_session *session);

/* Outputs that the library allocates each hold the session until lk_py_output_release. */
lk_status lk_py_session_run(lk_py_session *session, const lk_named_tensor *inputs,
                            uint32_t n_inputs, lk_named_tensor *outputs, uint32_t n_outputs,
                            const lk_run_options *options, lk_error *error);
void lk_py_output_release(lk_py_session *session, void *data);

/* Holds the context: its events are in memory of it. */
lk_status lk_py_trace_create(lk_py_context *context, const lk_trace_options *options,
                             lk_py_trace **out_trace, lk_error *error);
lk_trace *lk_py_trace_get(const lk_py_trace *trace);
void lk_py_trace_release(lk_py_trace *trace);

/* Writes a file as base/whole_file.h says. */
lk_status lk_py_file_write(const char *what, const char *path, const void *bytes, size_t size,
                           lk_error *error);

#endif
