/* An engine of a host's own, in fifty lines: it takes one kind of work, Softmax over the last
 * dimension, and leaves everything else to the library's engine. Two nodes with other names want
 * the same; the engine builds for the first one, and the second one finds it by key.
 * Build: cc main.c -I <include> -ldl -lm. Run: ./a.out path/to/liblatchkey.so */
#include <dlfcn.h>
#include <latchkey/latchkey.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the engine ---- */

typedef struct rows {
  int64_t count, length;
} rows;

static int builds;

static int offer(void *self, const lk_work *work, uint32_t placed, lk_offer *inout_offer) {
  const lk_tensor_desc *src = &work->tensors[LK_ROLE_SRC];
  (void)self;
  inout_offer->reason = "it is no Softmax of f32 over the last dimension";
  if (work->kind != LK_WORK_SOFTMAX || src->dtype != LK_F32 || src->rank == 0) return 0;
  if (work->axes != 1U << (src->rank - 1) || placed != 0) return 0;
  inout_offer->reason = NULL;
  inout_offer->layouts[LK_ROLE_SRC] = inout_offer->layouts[LK_ROLE_DST] = LK_LAYOUT_PLAIN;
  return 1;
}

/* It sees the work and nothing else: so what it makes is right for whoever wants the same work. */
static lk_status build(void *self, const lk_work *work, lk_engine_value *out, lk_error *error) {
  const lk_tensor_desc *src = &work->tensors[LK_ROLE_SRC];
  rows *made = malloc(sizeof *made);
  (void)self;
  (void)error;
  if (made == NULL) return LK_OUT_OF_MEMORY;
  made->length = src->dims[src->rank - 1];
  made->count = 1;
  for (uint32_t i = 0; i + 1 < src->rank; i++) made->count *= src->dims[i];
  out->value = made;
  out->implementation = "rows of the host";
  out->bytes = sizeof *made;
  builds++;
  return LK_OK;
}

static void destroy(void *self, void *value) {
  (void)self;
  free(value);
}

static lk_status run(void *self, const void *value, void *slot, void *const *pointers,
                     lk_error *error) {
  const rows *of = value;
  const float *x = pointers[0];
  float *y = pointers[1];
  (void)self;
  (void)slot;
  (void)error;
  for (int64_t row = 0; row < of->count; row++, x += of->length, y += of->length) {
    float largest = x[0], sum = 0;
    for (int64_t i = 1; i < of->length; i++) largest = fmaxf(largest, x[i]);
    for (int64_t i = 0; i < of->length; i++) sum += y[i] = expf(x[i] - largest);
    for (int64_t i = 0; i < of->length; i++) y[i] /= sum;
  }
  return LK_OK;
}

/* It has no constants to pack, and a run changes nothing but its output. */
static lk_status pack(void *self, const void *value, uint32_t role, const void *plain, void *packed,
                      lk_error *error) {
  (void)self, (void)value, (void)role, (void)plain, (void)packed, (void)error;
  return LK_INTERNAL;
}
static lk_status slot_open(void *self, const void *value, void **out_slot, lk_error *error) {
  (void)self, (void)value, (void)error;
  *out_slot = self;
  return LK_OK;
}
static void slot_close(void *self, const void *value, void *slot) {
  (void)self, (void)value, (void)slot;
}

/* ---- a host that uses it ---- */

static const lk_api *api;
static lk_error error;

static void check(lk_status status, const char *doing) {
  if (status == LK_OK) return;
  fprintf(stderr, "%s: %s: %s\n", doing, api->status_text(status), error.message);
  exit(1);
}

/* Runs a node of that name once, on `x` of 2 x 3: how far the sums of its rows are from 1. */
static float run_node(lk_executor *executor, const char *name, float *x) {
  const lk_node_input input = {.constant = NULL};
  const lk_node_desc node = {.struct_size = sizeof node,
                             .op_type = "Softmax",
                             .output_name = name,
                             .opset = 13,
                             .n_inputs = 1,
                             .n_outputs = 1,
                             .inputs = &input};
  const lk_tensor tensor = {.desc = {.dtype = LK_F32, .rank = 2, .dims = {2, 3}}};
  const lk_bind_desc bind = {.struct_size = sizeof bind,
                             .inputs = &tensor,
                             .n_inputs = 1,
                             .n_outputs = 1,
                             .in_place_input = -1};
  lk_plan_info info = {.struct_size = sizeof info};
  lk_op *op = NULL;
  lk_plan *plan = NULL;
  lk_frame *frame = NULL;
  uint32_t slot = 0;
  float y[6] = {0};
  void *const inputs[] = {x}, *const outputs[] = {y};
  check(api->op_create(executor, &node, &op, &error), "op_create");
  check(api->op_bind(op, &bind, &plan, &error), "op_bind");
  check(api->plan_info(plan, &info, &error), "plan_info");
  check(api->frame_create(executor, &frame, &error), "frame_create");
  check(api->frame_attach(frame, plan, &slot, &error), "frame_attach");
  check(api->op_run(frame, slot, inputs, outputs, &error), "op_run");
  printf("%s: by %s\n", name, info.implementation);
  api->frame_destroy(frame);
  api->plan_release(plan);
  api->op_destroy(op);
  return fmaxf(fabsf(y[0] + y[1] + y[2] - 1), fabsf(y[3] + y[4] + y[5] - 1));
}

int main(int argc, char **argv) {
  void *library = dlopen(argc > 1 ? argv[1] : "liblatchkey.so", RTLD_NOW);
  const lk_api *(*get_api)(uint32_t) = NULL;
  if (library != NULL) *(void **)&get_api = dlsym(library, "lk_get_api");
  api = get_api != NULL ? get_api(LK_API_VERSION) : NULL;
  if (api == NULL) {
    fprintf(stderr, "cannot load Latchkey: %s\n", library == NULL ? dlerror() : "other version");
    return 1;
  }
  const lk_engine engine = {.struct_size = sizeof engine,
                            .version = LK_ENGINE_VERSION,
                            .name = "rows",
                            .state = "1",
                            .offer = offer,
                            .build = build,
                            .destroy = destroy,
                            .pack = pack,
                            .slot_open = slot_open,
                            .slot_close = slot_close,
                            .run = run};
  lk_context *context = NULL;
  lk_executor *executor = NULL;
  float x[] = {1, 2, 3, -1, 0, 5}, worst = 0;
  check(api->context_create(NULL, &context, &error), "context_create");
  check(api->engine_register(context, &engine, LK_ENGINE_CHOOSE, &error), "engine_register");
  check(api->executor_create(context, "host", &executor, &error), "executor_create");
  worst = fmaxf(worst, run_node(executor, "first", x));
  worst = fmaxf(worst, run_node(executor, "second", x));
  lk_stats stats = {.struct_size = sizeof stats};
  check(api->cache_stats(context, NULL, &stats, &error), "cache_stats");
  const uint64_t found = stats.kind[LK_KIND_VALUE].hits;
  printf("built %d, found by key %lu; rows sum to 1 within %g\n", builds, found, (double)worst);
  api->executor_destroy(executor);
  api->context_destroy(context);
  return builds != 1 || found != 1 || worst > 1e-6F;
}
