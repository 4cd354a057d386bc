/* Inputs with a default, and the variants of a session in which runs give them. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/passes/pass.h"
#include "executor_glue/run/invocation.h"
#include "executor_glue/run/watch.h"
#include "executor_glue/session/session.h"

/* ---- which there are ---- */

/* The thread that built is not in the child. */
static void forget_building(void *object) {
  lk_session_defaults *self = object;
  self->is_building = false;
  lk_wait_limit_cond_init(&self->built);
}

void lk_session_defaults_init(lk_session *session) {
  lk_session_defaults *self = &session->defaults;
  (void)pthread_mutex_init(&self->mutex, NULL); /* cannot fail on glibc */
  lk_wait_limit_cond_init(&self->built);
  self->memory = lk_bump_begin(session->allocator, NULL, 0, 1024);
  self->fork = (lk_fork_entry){
      .level = LK_FORK_LEAF, .mutex = &self->mutex, .child = forget_building, .object = self};
  lk_fork_enter(&self->fork);
}

static const char *copy_text(lk_bump *memory, const char *text) {
  if (text == NULL) return "";
  const size_t bytes = strlen(text) + 1;
  char *copy = lk_bump_alloc(memory, bytes);
  return copy != NULL ? memcpy(copy, text, bytes) : NULL;
}

lk_status lk_session_defaults_take(lk_session *session, lk_error *error) {
  const lk_graph *graph = session->graph;
  lk_session_defaults *self = &session->defaults;
  const size_t bytes = graph->n_defaults * sizeof *self->infos;
  self->infos = lk_bump_alloc(&self->memory, bytes);
  if (self->infos == NULL) return lk_fail_memory(error, "inputs with a default", bytes);
  for (size_t i = 0; i < graph->n_defaults; i++) {
    const lk_graph_default *from = &graph->defaults[i];
    lk_value_info *to = &self->infos[i];
    *to = (lk_value_info){.struct_size = sizeof *to,
                          .name = copy_text(&self->memory, from->name),
                          .dtype = from->declared->dtype,
                          .rank = from->declared->rank};
    bool is_whole = to->name != NULL;
    for (int32_t d = 0; d < LK_MAX_RANK; d++) {
      to->dims[d] = from->declared->dims[d];
      to->symbols[d] = copy_text(&self->memory, from->declared->symbols[d]);
      is_whole = is_whole && to->symbols[d] != NULL;
    }
    if (!is_whole) return lk_fail_memory(error, "the name of an input", strlen(from->name) + 1);
  }
  self->count = graph->n_defaults;
  return LK_OK;
}

/* LK_NO_VALUE: none. */
static int32_t find(const lk_session *session, const char *name) {
  const lk_session_defaults *self = &session->defaults;
  for (size_t i = 0; name != NULL && i < self->count; i++) {
    if (strcmp(self->infos[i].name, name) == 0) return (int32_t)i;
  }
  return LK_NO_VALUE;
}

bool lk_session_gives_default(const lk_session *session, const lk_named_tensor *inputs,
                              uint32_t n_inputs) {
  for (uint32_t i = 0; session->defaults.count > 0 && i < n_inputs; i++) {
    if (find(session, inputs[i].name) != LK_NO_VALUE) return true;
  }
  return false;
}

/* ---- variants ---- */

static void destroy(lk_session *session, lk_session_variant *variant) {
  if (variant == NULL) return;
  lk_flow_destroy(variant->flow);
  if (variant->executor != NULL) session->api->executor_destroy(variant->executor);
  lk_graph_destroy(variant->graph);
  lk_free(session->allocator, variant->covers);
  lk_free(session->allocator, variant);
}

static void add_runs(lk_session_variant *variant, lk_session_stats *sum) {
  lk_session_stats one = {0};
  lk_flow_stats(variant->flow, &one);
  sum->runs += one.runs;
  sum->run_plan_hits += one.run_plan_hits;
  sum->run_plan_builds += one.run_plan_builds;
  sum->parallel_runs += one.parallel_runs;
  sum->waits += one.waits;
}

static lk_status build(lk_session *session, const bool *covers, lk_session_variant **out,
                       lk_error *error) {
  lk_status status = LK_OK;
  const lk_session_options *options = &session->options;
  const lk_session_defaults *self = &session->defaults;
  const lk_pass_env env = {.api = session->api,
                           .context = session->context,
                           .max_folded_bytes = options->max_folded_bytes};
  const lk_graph_executor_options how = lk_session_executor_options(session->api, options);
  const char *path = lk_onnx_model_path(session->model);
  size_t n_given = 0;
  *out = NULL;
  const char **given = lk_calloc(session->allocator, self->count, sizeof *given);
  lk_session_variant *made = lk_calloc(session->allocator, 1, sizeof *made);
  if (given == NULL || made == NULL) LK_TRY(lk_fail_memory(error, "a variant", sizeof *made));
  for (size_t i = 0; i < self->count; i++) {
    if (covers[i]) given[n_given++] = self->infos[i].name;
  }
  LK_TRY(lk_onnx_model_read_variant(session->model, session->context, given, n_given, &made->graph,
                                    error));
  LK_TRY(lk_graph_fix_dims(made->graph, options->fixed_dims, options->n_fixed_dims, error));
  LK_TRY(session->api->executor_create(session->context, path != NULL ? path : "a model in memory",
                                       &made->executor, error));
  LK_TRY(lk_passes_run(&env, made->graph, options->disabled_passes, options->n_disabled_passes,
                       NULL, error));
  LK_TRY(lk_onnx_model_refuse_unread(session->model, made->graph, error));
  if (lk_session_has_lendable(made->graph)) atomic_store(&session->has_lendable, true);
  LK_TRY(lk_flow_create(session->api, session->context, made->executor, made->graph, &how,
                        &made->flow, error));
  lk_onnx_model_drop_pages(session->model);
  *out = made;
  made = NULL;
cleanup:
  destroy(session, made);
  lk_free(session->allocator, given);
  return status;
}

/* The same, which the run that asks for it may end. */
static lk_status build_watched(lk_session *session, const bool *covers, const lk_stop *stop,
                               lk_session_variant **out, lk_error *error) {
  lk_thread_watch room;
  *out = NULL;
  LK_RETURN_NOT_OK(lk_watch_thread_begin(session->api, &room, stop, error));
  const lk_status status = build(session, covers, out, error);
  session->api->thread_unwatch(&room);
  return status;
}

/* Until nobody builds any more. With the mutex. */
static lk_status wait_for_build(lk_session_defaults *self, const lk_wait_limit *limit,
                                lk_error *error) {
  while (self->is_building) {
    const int why = lk_wait_limit_reached(limit);
    if (why != 0) {
      return lk_fail(error, lk_wait_limit_status(why),
                     "failed to run: %s while another run built the program for such inputs",
                     lk_wait_limit_text(why));
    }
    lk_wait_limit_wait(limit, &self->built, &self->mutex);
  }
  return LK_OK;
}

/* Which the variant must cover: those of the run, and those that the one before covers. */
static bool add_given(const lk_session *session, const lk_named_tensor *inputs, uint32_t n_inputs,
                      bool *covers) {
  const lk_session_variant *newest = session->defaults.newest;
  bool is_more = newest == NULL;
  if (newest != NULL) memcpy(covers, newest->covers, session->defaults.count);
  for (uint32_t i = 0; i < n_inputs; i++) {
    const int32_t at = find(session, inputs[i].name);
    if (at == LK_NO_VALUE || covers[at]) continue;
    covers[at] = true;
    is_more = true;
  }
  return is_more;
}

/* The mutex is locked. Returns what is to be destroyed after it has been unlocked. */
static lk_session_variant *drop_user(lk_session_defaults *self, lk_session_variant *variant) {
  if (variant == NULL || --variant->users > 0) return NULL;
  add_runs(variant, &self->gone);
  return variant;
}

lk_status lk_session_variant_enter(lk_session *session, const lk_named_tensor *inputs,
                                   uint32_t n_inputs, const lk_run_options *options,
                                   lk_session_variant **out_variant, lk_error *error) {
  lk_session_defaults *self = &session->defaults;
  const lk_graph_run run = {.options = options};
  lk_stop stop;
  lk_graph_run_stop(&run, &stop);
  lk_session_variant *old = NULL, *made = NULL;
  *out_variant = NULL;
  bool *covers = lk_calloc(session->allocator, self->count, sizeof *covers);
  if (covers == NULL) return lk_fail_memory(error, "inputs with a default", self->count);
  pthread_mutex_lock(&self->mutex);
  lk_status status = wait_for_build(self, &stop.limit, error);
  if (status != LK_OK) {
    pthread_mutex_unlock(&self->mutex);
    lk_free(session->allocator, covers);
    return status;
  }
  if (!add_given(session, inputs, n_inputs, covers)) {
    *out_variant = self->newest;
    self->newest->users++;
    pthread_mutex_unlock(&self->mutex);
    lk_free(session->allocator, covers);
    return LK_OK;
  }
  self->is_building = true;
  pthread_mutex_unlock(&self->mutex);

  status = build_watched(session, covers, &stop, &made, error);

  pthread_mutex_lock(&self->mutex);
  self->is_building = false;
  if (status == LK_OK) {
    made->covers = covers;
    made->users = 2;
    old = drop_user(self, self->newest);
    self->newest = made;
  }
  pthread_cond_broadcast(&self->built);
  pthread_mutex_unlock(&self->mutex);
  if (status != LK_OK) lk_free(session->allocator, covers);
  destroy(session, old);
  *out_variant = made;
  return status;
}

void lk_session_variant_leave(lk_session *session, lk_session_variant *variant) {
  lk_session_defaults *self = &session->defaults;
  pthread_mutex_lock(&self->mutex);
  lk_session_variant *unused = drop_user(self, variant);
  pthread_mutex_unlock(&self->mutex);
  destroy(session, unused);
}

void lk_session_defaults_stats(lk_session *session, lk_session_stats *stats) {
  lk_session_defaults *self = &session->defaults;
  pthread_mutex_lock(&self->mutex);
  stats->runs += self->gone.runs;
  stats->run_plan_hits += self->gone.run_plan_hits;
  stats->run_plan_builds += self->gone.run_plan_builds;
  stats->parallel_runs += self->gone.parallel_runs;
  stats->waits += self->gone.waits;
  if (self->newest != NULL) add_runs(self->newest, stats);
  pthread_mutex_unlock(&self->mutex);
}

void lk_session_defaults_destroy(lk_session *session) {
  lk_session_defaults *self = &session->defaults;
  lk_fork_leave(&self->fork);
  destroy(session, self->newest);
  lk_bump_end(&self->memory);
  pthread_cond_destroy(&self->built);
  pthread_mutex_destroy(&self->mutex);
}
