/* Options that change while a session lives: limits of its cache, and what it is to do at once. */
#include "executor_glue/ort/dynamic.h"

#include "base/status.h"
#include "executor_glue/ort/options.h"

lk_status lk_ort_dynamic_set(const lk_ort_context *context, const char *const *keys,
                             const char *const *values, size_t count, lk_error *error) {
  const lk_api *latchkey = context->ort->latchkey;
  lk_context *handle = context->handle;
  lk_ort_options given;
  LK_RETURN_NOT_OK(lk_ort_options_change(keys, values, count, &given, error));
  const lk_context_options *to = &given.context;
  LK_RETURN_NOT_OK(
      latchkey->cache_set_capacity(handle, NULL, to->cache_entries, to->cache_bytes, error));
  LK_RETURN_NOT_OK(latchkey->cache_set_weights_capacity(handle, to->weights_bytes, error));
  LK_RETURN_NOT_OK(latchkey->memory_set_limit(handle, to->memory_bytes, error));
  if (given.clears) LK_RETURN_NOT_OK(latchkey->cache_clear(handle, NULL, error));
  if (given.trims) latchkey->cache_trim(handle);
  return LK_OK;
}
