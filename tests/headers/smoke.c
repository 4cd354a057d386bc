/* A host in plain C11: makes a context and an executor, runs one Relu, a Reshape whose shape is
 * known only then, and stores values of its own. */
#include <latchkey/latchkey.h>
#include <latchkey/session.h>

#include <stdio.h>
#include <string.h>

static lk_error error;

static int failed(const char *what, lk_status status) {
  if (status == LK_OK) return 0;
  fprintf(stderr, "%s: status %d: %s\n", what, (int)status, error.message);
  return 1;
}

static int run_relu(const lk_api *api, lk_executor *executor) {
  const float input[6] = {-2, -1, 0, 1, 2, 3};
  float copy[6], output[6] = {9, 9, 9, 9, 9, 9};
  lk_node_input node_input = {NULL, 0, 0};
  lk_node_desc node = {.struct_size = sizeof(node),
                       .op_type = "Relu",
                       .output_name = "y",
                       .opset = 14,
                       .n_inputs = 1,
                       .n_outputs = 1,
                       .inputs = &node_input};
  lk_tensor tensor = {{LK_F32, 2, LK_LAYOUT_PLAIN, 0, {2, 3}}, NULL};
  lk_bind_desc bind = {.struct_size = sizeof(bind),
                       .inputs = &tensor,
                       .n_inputs = 1,
                       .n_outputs = 1,
                       .in_place_input = -1};
  lk_op *op = NULL;
  lk_plan *plan = NULL;
  lk_frame *frame = NULL;
  uint32_t slot = 0;
  void *inputs[1], *outputs[1];
  int bad = 1, i;

  for (i = 0; i < 6; i++) copy[i] = input[i];
  inputs[0] = copy;
  outputs[0] = output;

  if (failed("op_create", api->op_create(executor, &node, &op, &error))) goto cleanup;
  if (failed("op_bind", api->op_bind(op, &bind, &plan, &error))) goto cleanup;
  if (failed("frame_create", api->frame_create(executor, &frame, &error))) goto cleanup;
  if (failed("frame_attach", api->frame_attach(frame, plan, &slot, &error))) goto cleanup;
  if (failed("op_run", api->op_run(frame, slot, inputs, outputs, &error))) goto cleanup;
  for (i = 0; i < 6; i++) {
    float expected = input[i] > 0 ? input[i] : 0;
    if (output[i] < expected || output[i] > expected) {
      fprintf(stderr, "Relu(%g) = %g\n", (double)input[i], (double)output[i]);
      goto cleanup;
    }
  }
  bad = 0;

cleanup:
  api->frame_destroy(frame);
  if (plan) api->plan_release(plan);
  api->op_destroy(op);
  return bad;
}

/* Reshapes in place: the output may be the input. */
static void *give_input(void *arg, const lk_output_request *request) {
  return request->alias_input == 0 && request->bytes == 6 * sizeof(float) ? arg : NULL;
}

static int run_reshape(const lk_api *api, lk_executor *executor) {
  float data[6] = {0, 1, 2, 3, 4, 5};
  int64_t shape[2] = {3, -1};
  lk_node_input node_inputs[2] = {{NULL, 0, 0}, {NULL, 0, 0}};
  lk_node_desc node = {.struct_size = sizeof(node),
                       .op_type = "Reshape",
                       .output_name = "z",
                       .opset = 14,
                       .n_inputs = 2,
                       .n_outputs = 1,
                       .inputs = node_inputs};
  lk_tensor inputs[2] = {{{LK_F32, 1, LK_LAYOUT_PLAIN, 0, {6}}, data},
                         {{LK_I64, 1, LK_LAYOUT_PLAIN, 0, {2}}, NULL}};
  lk_bind_desc bind = {.struct_size = sizeof(bind),
                       .inputs = inputs,
                       .n_inputs = 2,
                       .n_outputs = 1,
                       .in_place_input = -1};
  lk_plan_info info = {.struct_size = sizeof(info)};
  lk_tensor output;
  lk_op *op = NULL;
  lk_plan *plan = NULL;
  lk_frame *frame = NULL;
  int bad = 1;

  if (failed("op_create", api->op_create(executor, &node, &op, &error))) goto cleanup;
  if (failed("frame_create", api->frame_create(executor, &frame, &error))) goto cleanup;
  if (failed("op_bind", api->op_bind(op, &bind, &plan, &error))) goto cleanup;
  if (failed("plan_info", api->plan_info(plan, &info, &error))) goto cleanup;
  inputs[1].data = shape;
  if (failed("op_run_alloc",
             api->op_run_alloc(frame, op, &bind, give_input, data, &output, &error)))
    goto cleanup;
  bad = info.known_when_run != 1 || output.data != data || output.desc.rank != 2 ||
        output.desc.dims[0] != 3 || output.desc.dims[1] != 2;
  if (bad) fprintf(stderr, "Reshape to (3, -1): a wrong shape\n");

cleanup:
  api->frame_destroy(frame);
  api->plan_release(plan);
  api->op_destroy(op);
  return bad;
}

static void forget(void *value, void *user) {
  (void)value;
  (void)user;
}

static lk_status build(void *arg, const lk_key *key, lk_built *out, lk_error *build_error) {
  (void)key;
  (void)build_error;
  out->value = arg;
  out->bytes = sizeof(int);
  out->destroy = forget;
  return LK_OK;
}

static int store_value(const lk_api *api, lk_context *context, lk_executor *executor) {
  int value = 7, hit = 0, bad = 1, round;
  lk_key_desc desc = {.struct_size = sizeof(desc), .kind = LK_KEY_USER, .name = "mine"};
  lk_key *key = NULL;

  if (failed("key_create", api->key_create(context, executor, &desc, &key, &error))) return 1;
  for (round = 0; round < 2; round++) {
    lk_ref *ref = NULL;
    if (failed("get_or_create",
               api->get_or_create(context, executor, key, build, &value, &ref, &hit, &error)))
      goto cleanup;
    bad = api->ref_value(ref) != &value || hit != round;
    api->ref_release(ref);
    if (bad) {
      fprintf(stderr, "round %d: wrong value, or hit = %d\n", round, hit);
      goto cleanup;
    }
  }

cleanup:
  api->key_destroy(context, key);
  return bad;
}

/* What a context tells: how many of each event, and the key of the last one. */
typedef struct told {
  const lk_api *api;
  lk_context *context;
  int events[LK_EVENT_COUNT];
  char key[128];
} told;

static void hear(void *user, const lk_event_info *info) {
  told *self = user;
  self->events[info->event]++;
  if (self->api->key_print(self->context, info->key, self->key, sizeof(self->key), NULL, NULL) !=
      LK_OK)
    self->events[info->event] = -100;
}

/* By text: builds, finds, keeps, and drops. */
static int serve_by_text(const lk_api *api) {
  static const char text[] = "user:out=by text";
  int value = 9, bad = 1;
  uint64_t dropped = 0;
  told heard = {.api = api};
  lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
  lk_key *key = NULL;
  lk_ref *made = NULL, *found = NULL, *gone = NULL;

  options.cache_mode = LK_CACHE_SHARED;
  options.event = hear;
  options.event_user = &heard;
  if (failed("context_create", api->context_create(&options, &heard.context, &error))) return 1;
  if (failed("get_or_create_text", api->get_or_create_text(heard.context, NULL, text, build, &value,
                                                           &made, NULL, &error)))
    goto cleanup;
  if (failed("key_parse", api->key_parse(heard.context, text, &key, &error))) goto cleanup;
  if (failed("cache_find", api->cache_find(heard.context, NULL, key, &found, &error))) goto cleanup;
  if (!found || api->ref_value(found) != &value) goto cleanup;
  api->ref_retain(found);
  api->ref_release(found);
  if (failed("cache_drop", api->cache_drop(heard.context, NULL, key, &dropped, &error)))
    goto cleanup;
  if (failed("cache_find", api->cache_find(heard.context, NULL, key, &gone, &error))) goto cleanup;
  bad = dropped != 1 || gone || api->ref_value(found) != &value ||
        heard.events[LK_EVENT_MISS] != 2 || heard.events[LK_EVENT_BUILD] != 1 ||
        heard.events[LK_EVENT_HIT] != 1 || heard.events[LK_EVENT_DROP] != 1 ||
        strcmp(heard.key, text) != 0;

cleanup:
  if (bad) fprintf(stderr, "by text: a wrong value, count or key '%s'\n", heard.key);
  api->ref_release(made);
  api->ref_release(found);
  api->ref_release(gone);
  api->key_destroy(heard.context, key);
  api->context_destroy(heard.context);
  return bad;
}

int main(void) {
  const lk_api *api = lk_get_api(LK_API_VERSION);
  const lk_session_api *sessions = lk_get_session_api(LK_SESSION_API_VERSION);
  lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
  lk_context *context = NULL;
  lk_executor *executor = NULL;
  int bad = 1;

  if (!api || !sessions) {
    fprintf(stderr, "no function table\n");
    return 1;
  }
  options.cache_mode = LK_CACHE_SHARED;
  if (failed("context_create", api->context_create(&options, &context, &error))) goto cleanup;
  if (failed("executor_create", api->executor_create(context, "smoke", &executor, &error)))
    goto cleanup;
  bad = run_relu(api, executor) || run_reshape(api, executor) ||
        store_value(api, context, executor) || serve_by_text(api);

cleanup:
  api->executor_destroy(executor);
  api->context_destroy(context);
  return bad;
}
