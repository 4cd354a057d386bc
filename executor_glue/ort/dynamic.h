/* What a host asks of a session's cache while the session lives. */
#pragma once

#include "executor_glue/ort/contexts.h"

/* Entries of SetEpDynamicOptions whose keys begin with LK_ORT_OPTION_PREFIX; others are for others.
 * Limits of the cache are set first, then it does what `cache_action` says. They are the context's,
 * which sessions with the same options share. On failure of an entry nothing has changed:
 * LK_INVALID_ARGUMENT names an unknown one, LK_OUT_OF_RANGE says what is allowed.
 * Runs may be on. */
lk_status lk_ort_dynamic_set(const lk_ort_context *context, const char *const *keys,
                             const char *const *values, size_t count, lk_error *error);
