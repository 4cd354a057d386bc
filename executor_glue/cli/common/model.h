/* An open model, as the subcommands use it: context, session, and a run. */
#pragma once

#include <latchkey/session.h>

#include "executor_glue/cli/common/options.h"

typedef struct cli_model {
  const lk_api *api;
  const lk_session_api *sessions;
  lk_context *context;
  lk_session *session;
  lk_trace *trace;          /* of the context: NULL without --trace */
  lk_named_tensor *outputs; /* [n_outputs]: all of the model's */
  uint32_t n_outputs;
  bool borrowed; /* the session belongs to another cli_model, the outputs to this one */
} cli_model;

/* Makes a context and opens the file in it; with --trace, what it runs is traced. cli_model_close
 * is needed even after a failure. */
lk_status cli_model_open(const model_args *args, const char *path, cli_model *out, lk_error *error);
/* The two halves: a context for several models, one after the other. */
lk_status cli_context_open(const model_args *args, cli_model *out, lk_error *error);
lk_status cli_session_open(const model_args *args, const char *path, cli_model *model,
                           lk_error *error);
/* The session of `from`, which must stay open, or a clone of it, with outputs of its own: for
 * another thread. */
lk_status cli_session_share(const cli_model *from, bool clone, cli_model *out, lk_error *error);
/* Writes the file of --trace, where it is given. */
lk_status cli_trace_save(const model_args *args, const cli_model *model, lk_error *error);
void cli_session_close(cli_model *model);
void cli_model_close(cli_model *model);

/* Runs the model; all its outputs are in `model->outputs` until they are released. */
lk_status cli_model_run(cli_model *model, const lk_named_tensor *inputs, uint32_t n_inputs,
                        lk_error *error);
/* The same, with options; NULL: none. */
lk_status cli_model_run_with(cli_model *model, const lk_named_tensor *inputs, uint32_t n_inputs,
                             const lk_run_options *options, lk_error *error);
/* The same, with its times added to a profile. */
lk_status cli_model_run_profiled(cli_model *model, const lk_named_tensor *inputs, uint32_t n_inputs,
                                 lk_profile *profile, lk_error *error);
void cli_model_release_outputs(cli_model *model);

/* The model's inputs, or its outputs. `index` is less than their count. */
uint32_t cli_value_count(const cli_model *model, bool output);
lk_value_info cli_value_info(const cli_model *model, bool output, uint32_t index);
/* Inputs with a default, which are not among those. */
uint32_t cli_default_count(const cli_model *model);
lk_value_info cli_default_info(const cli_model *model, uint32_t index);
lk_status cli_stats(const cli_model *model, lk_stats *out, lk_error *error);
lk_status cli_session_stats(const cli_model *model, lk_session_stats *out, lk_error *error);

/* "off", "thread", "shared" */
const char *cli_cache_mode_text(const cli_model *model);
/* "[batch, 3, 48, ?] f32": a dimension that is not fixed shows its name, escaped, or ?. */
#define CLI_VALUE_TEXT_CAPACITY 512
const char *cli_value_text(const lk_value_info *info, char buffer[CLI_VALUE_TEXT_CAPACITY]);
