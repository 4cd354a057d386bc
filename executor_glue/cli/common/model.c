/* An open model, as the subcommands use it: context, session, and a run. */
#include "executor_glue/cli/common/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/names.h"
#include "base/status.h"
#include "base/tensor.h"
#include "base/text.h"

lk_status cli_context_open(const model_args *args, cli_model *out, lk_error *error) {
  *out = (cli_model){.api = lk_get_api(LK_API_VERSION),
                     .sessions = lk_get_session_api(LK_SESSION_API_VERSION)};
  if (out->api == NULL || out->sessions == NULL) {
    return lk_fail(error, LK_VERSION,
                   "failed to load the library: it does not speak version %u of its interface",
                   LK_API_VERSION);
  }
  LK_RETURN_NOT_OK(out->api->context_create(&args->context, &out->context, error));
  if (args->trace == NULL) return LK_OK;
  const lk_trace_options options = {.struct_size = sizeof options, .events = args->trace_events};
  return out->sessions->trace_create(out->context, &options, &out->trace, error);
}

/* On cache lines that nothing else is on: threads that share a session write theirs at each run. */
static lk_status make_outputs(cli_model *model, lk_error *error) {
  model->n_outputs = cli_value_count(model, true);
  size_t bytes = model->n_outputs * sizeof *model->outputs;
  bytes = (bytes / LK_DATA_ALIGNMENT + 1) * LK_DATA_ALIGNMENT;
  model->outputs = lk_alloc_aligned(lk_allocator_default(), bytes, LK_DATA_ALIGNMENT);
  if (model->outputs == NULL) return lk_fail_memory(error, "outputs", bytes);
  memset(model->outputs, 0, bytes);
  for (uint32_t i = 0; i < model->n_outputs; i++) {
    model->outputs[i].name = cli_value_info(model, true, i).name;
  }
  return LK_OK;
}

lk_status cli_session_open(const model_args *args, const char *path, cli_model *model,
                           lk_error *error) {
  LK_RETURN_NOT_OK(
      model->sessions->open(model->context, path, &args->session, &model->session, error));
  model->sessions->trace_attach(model->session, model->trace);
  return make_outputs(model, error);
}

lk_status cli_session_share(const cli_model *from, bool clone, cli_model *out, lk_error *error) {
  *out = *from;
  out->borrowed = !clone;
  out->outputs = NULL;
  if (!clone) return make_outputs(out, error);
  LK_RETURN_NOT_OK(from->sessions->clone(from->session, &out->session, error));
  out->sessions->trace_attach(out->session, out->trace);
  return make_outputs(out, error);
}

lk_status cli_model_open(const model_args *args, const char *path, cli_model *out,
                         lk_error *error) {
  LK_RETURN_NOT_OK(cli_context_open(args, out, error));
  return cli_session_open(args, path, out, error);
}

lk_status cli_trace_save(const model_args *args, const cli_model *model, lk_error *error) {
  if (model->trace == NULL) return LK_OK;
  return model->sessions->trace_save(model->trace, args->trace, error);
}

void cli_session_close(cli_model *model) {
  if (model->session == NULL) return;
  if (model->outputs != NULL) cli_model_release_outputs(model);
  lk_free(lk_allocator_default(), model->outputs);
  if (!model->borrowed) model->sessions->close(model->session);
  model->outputs = NULL;
  model->session = NULL;
  model->n_outputs = 0;
}

void cli_model_close(cli_model *model) {
  cli_session_close(model);
  if (model->trace != NULL) model->sessions->trace_release(model->trace);
  model->trace = NULL;
  if (model->context != NULL) model->api->context_destroy(model->context);
  model->context = NULL;
}

lk_status cli_model_run_with(cli_model *model, const lk_named_tensor *inputs, uint32_t n_inputs,
                             const lk_run_options *options, lk_error *error) {
  cli_model_release_outputs(model);
  return model->sessions->run(model->session, inputs, n_inputs, model->outputs, model->n_outputs,
                              options, error);
}

lk_status cli_model_run(cli_model *model, const lk_named_tensor *inputs, uint32_t n_inputs,
                        lk_error *error) {
  return cli_model_run_with(model, inputs, n_inputs, NULL, error);
}

lk_status cli_model_run_profiled(cli_model *model, const lk_named_tensor *inputs, uint32_t n_inputs,
                                 lk_profile *profile, lk_error *error) {
  const lk_run_options options = {.struct_size = sizeof options, .profile = profile};
  return cli_model_run_with(model, inputs, n_inputs, &options, error);
}

void cli_model_release_outputs(cli_model *model) {
  model->sessions->outputs_release(model->session, model->outputs, model->n_outputs);
}

uint32_t cli_value_count(const cli_model *model, bool output) {
  return output ? model->sessions->output_count(model->session)
                : model->sessions->input_count(model->session);
}

lk_value_info cli_value_info(const cli_model *model, bool output, uint32_t index) {
  lk_value_info info = {.struct_size = sizeof info};
  /* An index in range is all that either asks for. */
  (void)(output ? model->sessions->output_info(model->session, index, &info, NULL)
                : model->sessions->input_info(model->session, index, &info, NULL));
  return info;
}

uint32_t cli_default_count(const cli_model *model) {
  return model->sessions->default_count(model->session);
}

lk_value_info cli_default_info(const cli_model *model, uint32_t index) {
  lk_value_info info = {.struct_size = sizeof info};
  (void)model->sessions->default_info(model->session, index, &info, NULL); /* in range, too */
  return info;
}

lk_status cli_stats(const cli_model *model, lk_stats *out, lk_error *error) {
  *out = (lk_stats){.struct_size = sizeof *out};
  return model->api->cache_stats(model->context, NULL, out, error);
}

lk_status cli_session_stats(const cli_model *model, lk_session_stats *out, lk_error *error) {
  *out = (lk_session_stats){.struct_size = sizeof *out};
  return model->sessions->stats(model->session, out, error);
}

const char *cli_cache_mode_text(const cli_model *model) {
  return lk_cache_mode_name(model->api->context_cache_mode(model->context));
}

const char *cli_value_text(const lk_value_info *info, char buffer[CLI_VALUE_TEXT_CAPACITY]) {
  const char *type = lk_dtype_name(info->dtype);
  if (info->rank < 0) {
    (void)snprintf(buffer, CLI_VALUE_TEXT_CAPACITY, "any shape %s", type);
    return buffer;
  }
  /* 8 dimensions of 40 bytes, with what stands between them, always fit. */
  size_t used = (size_t)snprintf(buffer, CLI_VALUE_TEXT_CAPACITY, "[");
  for (int32_t i = 0; i < info->rank && i < LK_MAX_RANK; i++) {
    char dim[41] = "?";
    if (info->dims[i] >= 0) {
      (void)snprintf(dim, sizeof dim, "%" PRId64, info->dims[i]);
    } else if (info->symbols[i] != NULL && info->symbols[i][0] != '\0') {
      (void)lk_text_escape(info->symbols[i], dim, sizeof dim);
    }
    used += (size_t)snprintf(buffer + used, CLI_VALUE_TEXT_CAPACITY - used, "%s%s",
                             i > 0 ? ", " : "", dim);
  }
  (void)snprintf(buffer + used, CLI_VALUE_TEXT_CAPACITY - used, "] %s", type);
  return buffer;
}
