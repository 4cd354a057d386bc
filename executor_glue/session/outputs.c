/* Which output memory the library allocated: a small table by address. */
#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/run/reclaim.h"
#include "executor_glue/session/session.h"

static lk_session_output **bucket_of(lk_session *session, const void *data) {
  return &session->outputs.buckets[((uintptr_t)data / LK_DATA_ALIGNMENT) % LK_OUTPUT_BUCKETS];
}

void lk_session_outputs_init(lk_session *session) {
  lk_session_outputs *outputs = &session->outputs;
  (void)pthread_mutex_init(&outputs->mutex, NULL); /* cannot fail on glibc */
  outputs->fork = (lk_fork_entry){.level = LK_FORK_LEAF, .mutex = &outputs->mutex};
  lk_fork_enter(&outputs->fork);
}

void lk_session_outputs_destroy(lk_session *session) {
  lk_fork_leave(&session->outputs.fork);
  for (uint32_t i = 0; i < LK_OUTPUT_BUCKETS; i++) {
    while (session->outputs.buckets[i] != NULL) {
      lk_session_output *output = session->outputs.buckets[i];
      session->outputs.buckets[i] = output->next;
      lk_free(session->allocator, output->data);
      lk_free(session->allocator, output);
    }
  }
  pthread_mutex_destroy(&session->outputs.mutex);
}

lk_status lk_session_output_add(lk_session *session, void *data, lk_error *error) {
  lk_session_output *output = lk_alloc(session->allocator, sizeof *output);
  /* The results are there: for a few bytes they are not computed again. */
  if (output == NULL && lk_reclaim_idle(session->api, session->context, NULL)) {
    output = lk_alloc(session->allocator, sizeof *output);
  }
  if (output == NULL) return lk_fail_memory(error, "a note of an output", sizeof *output);
  pthread_mutex_lock(&session->outputs.mutex);
  lk_session_output **bucket = bucket_of(session, data);
  *output = (lk_session_output){.next = *bucket, .data = data};
  *bucket = output;
  pthread_mutex_unlock(&session->outputs.mutex);
  return LK_OK;
}

void lk_session_outputs_release(lk_session *session, lk_named_tensor *outputs, uint32_t n_outputs) {
  for (uint32_t i = 0; i < n_outputs; i++) {
    void *data = outputs[i].tensor.data;
    if (data == NULL) continue;
    pthread_mutex_lock(&session->outputs.mutex);
    lk_session_output **at = bucket_of(session, data);
    while (*at != NULL && (*at)->data != data) at = &(*at)->next;
    lk_session_output *output = *at;
    if (output != NULL) *at = output->next;
    pthread_mutex_unlock(&session->outputs.mutex);
    if (output == NULL) continue; /* the caller's own */
    lk_free(session->allocator, data);
    lk_free(session->allocator, output);
    outputs[i].tensor.data = NULL;
  }
}
