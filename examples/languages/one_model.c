/* One context and one session. A program with several models has one context for all. */
#include "one_model.h"

#include <latchkey/session.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct one_model {
  const lk_api *api;
  const lk_session_api *sessions;
  lk_context *context;
  lk_session *session;
  lk_value_info input, output;
};

static void say(char *message, size_t size, const char *text) {
  if (size > 0) snprintf(message, size, "%s", text);
}

/* The names of input and output. */
static lk_status find_names(one_model *model, lk_error *error) {
  const lk_session_api *sessions = model->sessions;
  model->input.struct_size = model->output.struct_size = sizeof(lk_value_info);
  if (sessions->input_count(model->session) != 1 || sessions->output_count(model->session) != 1) {
    say(error->message, sizeof error->message, "the model has not one input and one output");
    return LK_UNSUPPORTED;
  }
  lk_status status = sessions->input_info(model->session, 0, &model->input, error);
  if (status == LK_OK) status = sessions->output_info(model->session, 0, &model->output, error);
  if (status == LK_OK && (model->input.dtype != LK_F32 || model->output.dtype != LK_F32)) {
    say(error->message, sizeof error->message, "the model's input or output is not of f32");
    return LK_UNSUPPORTED;
  }
  return status;
}

one_model *one_model_open(const char *path, char *message, size_t size) {
  lk_error error = {.message = "memory is out"};
  one_model *model = calloc(1, sizeof *model);
  if (model == NULL) goto failed;
  model->api = lk_get_api(LK_API_VERSION);
  model->sessions = lk_get_session_api(LK_SESSION_API_VERSION);
  if (model->api == NULL || model->sessions == NULL) {
    say(error.message, sizeof error.message, "the library was built with other headers");
    goto failed;
  }
  if (model->api->context_create(NULL, &model->context, &error) == LK_OK &&
      model->sessions->open(model->context, path, NULL, &model->session, &error) == LK_OK &&
      find_names(model, &error) == LK_OK) {
    return model;
  }
failed:
  say(message, size, error.message);
  one_model_close(model);
  return NULL;
}

int64_t one_model_run(one_model *model, const float *x, int64_t rows, int64_t columns, float *y,
                      int64_t room, char *message, size_t size) {
  const lk_tensor_desc desc = {LK_F32, 2, LK_LAYOUT_PLAIN, 0, {rows, columns}};
  const lk_named_tensor in = {model->input.name, {desc, (void *)(uintptr_t)x}};
  lk_named_tensor out = {model->output.name, {{0}, NULL}}; /* NULL: the library allocates it */
  lk_error error;
  if (model->sessions->run(model->session, &in, 1, &out, 1, NULL, &error) != LK_OK) {
    say(message, size, error.message);
    return -1;
  }
  int64_t count = 1;
  for (uint32_t i = 0; i < out.tensor.desc.rank; i++) count *= out.tensor.desc.dims[i];
  if (count <= room) {
    if (count > 0) memcpy(y, out.tensor.data, (size_t)count * sizeof *y);
  } else {
    say(message, size, "the output has more numbers than there is room for");
    count = -1;
  }
  model->sessions->outputs_release(model->session, &out, 1);
  return count;
}

void one_model_close(one_model *model) {
  if (model == NULL) return;
  if (model->session != NULL) model->sessions->close(model->session);
  if (model->context != NULL) model->api->context_destroy(model->context);
  free(model);
}
