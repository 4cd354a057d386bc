/* Contexts by their options. */
#include "executor_glue/ort/contexts.h"

#include <string.h>

#include "base/alloc.h"
#include "base/list.h"
#include "base/status.h"

static void log_line(void *user, lk_log_level level, const char *line) {
  static const OrtLoggingLevel levels[] = {
      [LK_LOG_DEFAULT] = ORT_LOGGING_LEVEL_VERBOSE,
      [LK_LOG_WARNING] = ORT_LOGGING_LEVEL_WARNING,
      [LK_LOG_INFO] = ORT_LOGGING_LEVEL_INFO,
      [LK_LOG_DEBUG] = ORT_LOGGING_LEVEL_VERBOSE,
  };
  const lk_ort_contexts *contexts = user;
  if (contexts->logger != NULL) lk_ort_log(contexts->ort, contexts->logger, levels[level], line);
}

void lk_ort_contexts_create(const lk_ort *ort, const OrtLogger *logger, lk_ort_contexts *out) {
  *out = (lk_ort_contexts){.ort = ort, .logger = logger};
  (void)pthread_mutex_init(&out->mutex, NULL); /* cannot fail on glibc */
  out->fork = (lk_fork_entry){.level = LK_FORK_LEAF, .mutex = &out->mutex};
  lk_fork_enter(&out->fork);
}

void lk_ort_contexts_destroy(lk_ort_contexts *contexts) {
  lk_fork_leave(&contexts->fork);
  pthread_mutex_destroy(&contexts->mutex);
}

static bool same_text(const char *a, const char *b) {
  return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_options(const lk_context_options *a, const lk_context_options *b) {
  return a->cache_mode == b->cache_mode && a->threads == b->threads &&
         a->cache_entries == b->cache_entries && a->cache_bytes == b->cache_bytes &&
         a->weights_bytes == b->weights_bytes && a->memory_bytes == b->memory_bytes &&
         a->verbose == b->verbose && same_text(a->engine, b->engine) &&
         same_text(a->tuning, b->tuning);
}

static void destroy(lk_ort_context *context) {
  if (context == NULL) return;
  context->ort->latchkey->context_destroy(context->handle);
  lk_free(lk_allocator_default(), context->tuning);
  lk_free(lk_allocator_default(), context->engine);
  lk_free(lk_allocator_default(), context);
}

/* `*out`: the context's own; NULL where there is none. */
static lk_status copy(const char *text, char **out, lk_error *error) {
  if (text == NULL) return LK_OK;
  *out = lk_strdup(lk_allocator_default(), text);
  return *out != NULL ? LK_OK : lk_fail_memory(error, "an option", strlen(text));
}

static lk_status create(lk_ort_contexts *owner, const lk_context_options *options,
                        lk_ort_context **out, lk_error *error) {
  lk_status status = LK_OK;
  lk_context_options with_log = *options;
  with_log.log = log_line;
  with_log.log_user = owner;
  lk_ort_context *made = lk_calloc(lk_allocator_default(), 1, sizeof *made);
  if (made == NULL) return lk_fail_memory(error, "a context", sizeof *made);
  *made = (lk_ort_context){.ort = owner->ort, .owner = owner, .options = *options};
  LK_TRY(copy(options->tuning, &made->tuning, error));
  LK_TRY(copy(options->engine, &made->engine, error));
  made->options.tuning = made->tuning;
  made->options.engine = made->engine;
  LK_TRY(made->ort->latchkey->context_create(&with_log, &made->handle, error));
  *out = made;
  made = NULL;
cleanup:
  destroy(made);
  return status;
}

/* With the lock. One more user; NULL: not there. */
static lk_ort_context *find(lk_ort_contexts *contexts, const lk_context_options *options) {
  lk_ort_context *found = contexts->first;
  while (found != NULL && !same_options(&found->options, options)) found = found->next;
  if (found != NULL) found->users++;
  return found;
}

/* The library is not called with the lock held: a fork has an order for all locks. */
lk_status lk_ort_context_retain(lk_ort_contexts *contexts, const lk_context_options *options,
                                lk_ort_context **out, lk_error *error) {
  lk_ort_context *made = NULL;
  *out = NULL;
  pthread_mutex_lock(&contexts->mutex);
  *out = find(contexts, options);
  pthread_mutex_unlock(&contexts->mutex);
  if (*out != NULL) return LK_OK;
  LK_RETURN_NOT_OK(create(contexts, options, &made, error));
  pthread_mutex_lock(&contexts->mutex);
  *out = find(contexts, options); /* another thread may have been quicker */
  if (*out == NULL) {
    made->users = 1;
    LK_LIST_ADD(contexts->first, made, next, link);
    *out = made;
    made = NULL;
  }
  pthread_mutex_unlock(&contexts->mutex);
  destroy(made);
  return LK_OK;
}

void lk_ort_context_release(lk_ort_context *context) {
  if (context == NULL) return;
  lk_ort_contexts *owner = context->owner;
  pthread_mutex_lock(&owner->mutex);
  const bool is_last = --context->users == 0;
  if (is_last) LK_LIST_REMOVE(context, next, link);
  pthread_mutex_unlock(&owner->mutex);
  if (is_last) destroy(context);
}
