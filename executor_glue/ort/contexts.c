/* Contexts by their options. */
#include "executor_glue/ort/contexts.h"

#include "plugin/base/alloc.h"
#include "plugin/base/status.h"

static void log_line(void *user, lk_log_level level, const char *line) {
  static const OrtLoggingLevel levels[] = {
      [LK_LOG_OFF] = ORT_LOGGING_LEVEL_VERBOSE,
      [LK_LOG_WARNING] = ORT_LOGGING_LEVEL_WARNING,
      [LK_LOG_INFO] = ORT_LOGGING_LEVEL_INFO,
      [LK_LOG_DEBUG] = ORT_LOGGING_LEVEL_VERBOSE,
  };
  const lk_ort_contexts *contexts = user;
  if (contexts->logger != NULL) lk_ort_log(contexts->ort, contexts->logger, levels[level], line);
}

void lk_ort_contexts_init(lk_ort_contexts *contexts, const lk_ort *ort, const OrtLogger *logger) {
  *contexts = (lk_ort_contexts){.ort = ort, .logger = logger};
  (void)pthread_mutex_init(&contexts->mutex, NULL); /* cannot fail on glibc */
}

void lk_ort_contexts_end(lk_ort_contexts *contexts) {
  pthread_mutex_destroy(&contexts->mutex);
}

static bool same_options(const lk_context_options *a, const lk_context_options *b) {
  return a->cache_mode == b->cache_mode && a->threads == b->threads &&
         a->cache_entries == b->cache_entries && a->cache_bytes == b->cache_bytes &&
         a->weights_bytes == b->weights_bytes && a->verbose == b->verbose;
}

static lk_status create(lk_ort_contexts *contexts, const lk_context_options *options,
                        lk_ort_context **out, lk_error *error) {
  lk_ort_context *made = lk_calloc(lk_allocator_default(), 1, sizeof *made);
  if (made == NULL) return lk_fail_memory(error, "a context", sizeof *made);
  made->options = *options;
  lk_context_options with_log = *options;
  with_log.log = log_line;
  with_log.log_user = contexts;
  const lk_status status =
      contexts->ort->latchkey->context_create(&with_log, &made->context, error);
  if (status != LK_OK) {
    lk_free(lk_allocator_default(), made);
    return status;
  }
  made->next = contexts->first;
  contexts->first = made;
  *out = made;
  return LK_OK;
}

lk_status lk_ort_contexts_get(lk_ort_contexts *contexts, const lk_context_options *options,
                              lk_ort_context **out, lk_error *error) {
  lk_status status = LK_OK;
  pthread_mutex_lock(&contexts->mutex);
  lk_ort_context *found = contexts->first;
  while (found != NULL && !same_options(&found->options, options)) found = found->next;
  if (found == NULL) status = create(contexts, options, &found, error);
  if (found != NULL) found->users++;
  pthread_mutex_unlock(&contexts->mutex);
  *out = found;
  return status;
}

void lk_ort_contexts_release(lk_ort_contexts *contexts, lk_ort_context *context) {
  if (context == NULL) return;
  pthread_mutex_lock(&contexts->mutex);
  const bool last = --context->users == 0;
  lk_ort_context **link = &contexts->first;
  while (last && *link != context) link = &(*link)->next;
  if (last) *link = context->next;
  pthread_mutex_unlock(&contexts->mutex);
  if (!last) return;
  contexts->ort->latchkey->context_destroy(context->context);
  lk_free(lk_allocator_default(), context);
}
