/* Contexts by their options. */
#include "executor_glue/ort/contexts.h"

#include "base/alloc.h"
#include "base/status.h"

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
  contexts->fork = (lk_fork_entry){.level = LK_FORK_LEAF, .mutex = &contexts->mutex};
  lk_fork_enter(&contexts->fork);
}

void lk_ort_contexts_end(lk_ort_contexts *contexts) {
  lk_fork_leave(&contexts->fork);
  pthread_mutex_destroy(&contexts->mutex);
}

static bool same_options(const lk_context_options *a, const lk_context_options *b) {
  return a->cache_mode == b->cache_mode && a->threads == b->threads &&
         a->cache_entries == b->cache_entries && a->cache_bytes == b->cache_bytes &&
         a->weights_bytes == b->weights_bytes && a->verbose == b->verbose &&
         a->adapt_threads == b->adapt_threads;
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
  *out = made;
  return LK_OK;
}

static void destroy(const lk_ort_contexts *contexts, lk_ort_context *context) {
  if (context == NULL) return;
  contexts->ort->latchkey->context_destroy(context->context);
  lk_free(lk_allocator_default(), context);
}

/* With the lock. One more user; NULL: not there. */
static lk_ort_context *find(lk_ort_contexts *contexts, const lk_context_options *options) {
  lk_ort_context *found = contexts->first;
  while (found != NULL && !same_options(&found->options, options)) found = found->next;
  if (found != NULL) found->users++;
  return found;
}

/* The library is not called with the lock: a fork takes the library's locks in an order of its own. */
lk_status lk_ort_contexts_get(lk_ort_contexts *contexts, const lk_context_options *options,
                              lk_ort_context **out, lk_error *error) {
  lk_ort_context *made = NULL;
  *out = NULL;
  pthread_mutex_lock(&contexts->mutex);
  lk_ort_context *found = find(contexts, options);
  pthread_mutex_unlock(&contexts->mutex);
  if (found == NULL) {
    const lk_status status = create(contexts, options, &made, error);
    if (status != LK_OK) return status;
    pthread_mutex_lock(&contexts->mutex);
    found = find(contexts, options); /* of somebody who was quicker */
    if (found == NULL) {
      found = made;
      made = NULL;
      found->users = 1;
      found->next = contexts->first;
      contexts->first = found;
    }
    pthread_mutex_unlock(&contexts->mutex);
    destroy(contexts, made);
  }
  *out = found;
  return LK_OK;
}

void lk_ort_contexts_release(lk_ort_contexts *contexts, lk_ort_context *context) {
  if (context == NULL) return;
  pthread_mutex_lock(&contexts->mutex);
  const bool last = --context->users == 0;
  lk_ort_context **link = &contexts->first;
  while (last && *link != context) link = &(*link)->next;
  if (last) *link = context->next;
  pthread_mutex_unlock(&contexts->mutex);
  if (last) destroy(contexts, context);
}
