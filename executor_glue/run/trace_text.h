/* Traces as JSON for Chrome and Perfetto: docs/trace.md has the names. */
#pragma once

#include "executor_glue/run/trace.h"

/* Writes a file as base/whole_file.h says. LK_IO: it cannot be written, with its name;
 * LK_OUT_OF_MEMORY. */
lk_status lk_trace_save(lk_trace *trace, const char *path, lk_error *error);
/* The same as text with a NUL, from the context's allocator: lk_trace_text_release. */
lk_status lk_trace_text(lk_trace *trace, char **out_text, lk_error *error);
void lk_trace_text_release(lk_trace *trace, char *text); /* NULL is allowed */
