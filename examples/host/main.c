/* A foreign executor in one file: it loads Latchkey as a plugin and includes nothing but its public
 * headers. Two executors with equal tensor names and different weights run
 *
 *     image -> Conv -> "feature" -> Relu (in place) -> Softmax -> "scores"
 *
 * in one process: first in turn, then at the same time on two threads, then with a thread that the
 * host lends. Each must get its own numbers, which are checked against plain loops, and the cache
 * must tell what it did. Build: cc main.c -I <include> -ldl -lm -lpthread */
#include <dlfcn.h>
#include <latchkey/latchkey.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHANNELS = 3, FILTERS = 8, SIDE = 6, PIXELS = SIDE * SIDE, ROUNDS = 8, LENT_RUNS = 100 };

static const lk_api *api;
static _Thread_local lk_error error;

static void check(lk_status status, const char *doing) {
  if (status == LK_OK) return;
  fprintf(stderr, "%s: %s: %s\n", doing, api->status_text(status), error.message);
  exit(1);
}

static lk_tensor_desc describe(int64_t n, int64_t c, int64_t h, int64_t w) {
  return (lk_tensor_desc){.dtype = LK_F32, .rank = 4, .dims = {n, c, h, w}};
}

/* A node of the graph: its op, the plan of the last bind, and the place in the frame. */
typedef struct node {
  lk_op *op;
  lk_plan *plan;
  uint32_t slot;
} node;

typedef struct model {
  lk_executor *executor;
  lk_frame *frame;
  node conv, relu, softmax;
  float weights[FILTERS * CHANNELS]; /* 1x1 kernels: must stay valid while the op lives */
} model;

static node make_node(model *self, const char *type, const char *output, uint32_t position,
                      const lk_attr *attr, const lk_tensor *weights) {
  const lk_node_input inputs[] = {{.constant = NULL}, {.constant = weights}};
  const lk_node_desc desc = {.struct_size = sizeof desc,
                             .op_type = type,
                             .output_name = output,
                             .position = position,
                             .opset = 13,
                             .n_inputs = weights != NULL ? 2 : 1,
                             .n_outputs = 1,
                             .n_attrs = attr != NULL ? 1 : 0,
                             .inputs = inputs,
                             .attrs = attr};
  node made = {0};
  check(api->op_create(self->executor, &desc, &made.op, &error), "op_create");
  return made;
}

static void open_model(lk_context *context, model *self, const char *name, float scale) {
  const int64_t axis = 1;
  const lk_attr softmax_axis = {"axis", LK_ATTR_INTS, 1, &axis};
  for (int i = 0; i < FILTERS * CHANNELS; i++) self->weights[i] = scale * (float)(i % 7 - 3);
  const lk_tensor weights = {describe(FILTERS, CHANNELS, 1, 1), self->weights};
  check(api->executor_create(context, name, &self->executor, &error), "executor_create");
  check(api->frame_create(self->executor, &self->frame, &error), "frame_create");
  /* both models use the same names; Relu writes over the tensor that Conv made */
  self->conv = make_node(self, "Conv", "feature", 0, NULL, &weights);
  self->relu = make_node(self, "Relu", "feature", 1, NULL, NULL);
  self->softmax = make_node(self, "Softmax", "scores", 0, &softmax_axis, NULL);
}

static void close_model(model *self) {
  const node nodes[] = {self->conv, self->relu, self->softmax};
  api->frame_destroy(self->frame);
  for (int i = 0; i < 3; i++) {
    api->plan_release(nodes[i].plan);
    api->op_destroy(nodes[i].op);
  }
  api->executor_destroy(self->executor);
}

/* Binds a node as an executor without run plans does: at every run, by name key. */
static lk_tensor_desc bind_node(model *self, node *which, const lk_tensor_desc *input, int32_t over,
                                lk_layout wish) {
  const lk_tensor inputs[] = {{.desc = *input}, {.data = NULL}};
  const lk_bind_desc desc = {.struct_size = sizeof desc,
                             .inputs = inputs,
                             .wishes = &wish,
                             .n_inputs = which == &self->conv ? 2 : 1,
                             .n_outputs = 1,
                             .in_place_input = over};
  lk_tensor_desc output;
  api->plan_release(which->plan); /* forget the last plan, to ask the cache again */
  which->plan = NULL;
  check(api->op_bind(which->op, &desc, &which->plan, &error), "op_bind");
  check(api->plan_output(which->plan, 0, &output, &error), "plan_output");
  check(api->frame_attach(self->frame, which->plan, &which->slot, &error), "frame_attach");
  return output;
}

static void run_model(model *self, float *image, float *scores) {
  const lk_tensor_desc input = describe(1, CHANNELS, SIDE, SIDE);
  float feature[FILTERS * PIXELS];
  api->frame_reset(self->frame);
  const lk_tensor_desc conv = bind_node(self, &self->conv, &input, -1, LK_LAYOUT_ANY);
  const lk_tensor_desc relu = bind_node(self, &self->relu, &conv, 0, conv.layout);
  (void)bind_node(self, &self->softmax, &relu, -1, LK_LAYOUT_PLAIN);
  void *const conv_in[] = {image, NULL}, *const middle[] = {feature}, *const out[] = {scores};
  check(api->op_run(self->frame, self->conv.slot, conv_in, middle, &error), "run Conv");
  check(api->op_run(self->frame, self->relu.slot, middle, middle, &error), "run Relu");
  check(api->op_run(self->frame, self->softmax.slot, middle, out, &error), "run Softmax");
}

/* The same in plain loops: the largest difference to what Latchkey computed. */
static float difference(const model *self, const float *image, const float *scores) {
  float worst = 0;
  for (int p = 0; p < PIXELS; p++) {
    float value[FILTERS], sum = 0;
    for (int f = 0; f < FILTERS; f++) {
      float dot = 0;
      for (int c = 0; c < CHANNELS; c++) {
        dot += self->weights[f * CHANNELS + c] * image[c * PIXELS + p];
      }
      value[f] = expf(dot > 0 ? dot : 0);
      sum += value[f];
    }
    for (int f = 0; f < FILTERS; f++) value[f] = fabsf(scores[f * PIXELS + p] - value[f] / sum);
    for (int f = 0; f < FILTERS; f++) worst = fmaxf(worst, value[f]);
  }
  return worst;
}

static float run_and_check(model *self, float *image) {
  float scores[FILTERS * PIXELS];
  run_model(self, image, scores);
  return difference(self, image, scores);
}

/* ---- threads ---- */

typedef struct share {
  model *models; /* two */
  float *image;
  float worst[2];
} share;

/* Each model on a thread of its own, or one after the other where there is one thread. */
static void run_models(void *arg, int32_t index, int32_t count) {
  share *self = arg;
  for (int i = index; i < 2; i += count) {
    self->worst[i] = run_and_check(&self->models[i], self->image);
  }
}

static float run_at_the_same_time(lk_context *context, model models[2], float *image) {
  share both = {.models = models, .image = image};
  const lk_threads_ask ask = {.struct_size = sizeof ask, .least = 1, .most = 2};
  int32_t threads = 0;
  check(api->threads_enter(context, &ask, &threads, &error), "threads_enter");
  api->parallel_run(context, threads, run_models, &both);
  api->threads_leave(context);
  printf("at the same time: on %d threads\n", threads);
  return fmaxf(both.worst[0], both.worst[1]);
}

typedef struct lent {
  lk_context *context;
  lk_loan loan;
  unsigned long n_shares;
} lent;

static void *assist(void *arg) {
  lent *self = arg;
  self->n_shares = api->loan_assist(self->context, &self->loan);
  return NULL;
}

/* A run that a second thread of the host's helps. How much it does is a matter of chance: the run
 * waits for nobody. */
static float run_with_a_loan(lk_context *context, model *self, float *image) {
  lent with = {.context = context};
  pthread_t helper;
  const uint64_t before = api->parallel_regions();
  const bool is_lent = pthread_create(&helper, NULL, assist, &with) == 0;
  api->loan_open(context, &with.loan, 2);
  float worst = 0;
  for (int run = 0; run < LENT_RUNS; run++) worst = fmaxf(worst, run_and_check(self, image));
  api->loan_close(context, &with.loan);
  if (is_lent) pthread_join(helper, NULL);
  printf("with a loan: %lu regions, the host's thread did %lu shares\n",
         (unsigned long)(api->parallel_regions() - before), with.n_shares);
  return worst;
}

/* ---- the cache ---- */

/* A value of the executor's own in the same cache: a table of 256 floats. */
static void free_table(void *value, void *user) {
  (void)user;
  free(value);
}

static lk_status build_table(void *arg, const lk_key *key, lk_built *out, lk_error *unused) {
  (void)key;
  (void)unused;
  ++*(int *)arg;
  *out = (lk_built){calloc(256, sizeof(float)), 256 * sizeof(float), free_table, NULL};
  return out->value != NULL ? LK_OK : LK_OUT_OF_MEMORY;
}

static int cache_own_type(lk_context *context, lk_executor *executor) {
  int built = 0, hit = 0;
  const lk_key_desc desc = {.struct_size = sizeof desc, .name = "table", .tag = "gamma=2.2"};
  lk_key *key = NULL;
  char text[512];
  check(api->key_create(context, executor, &desc, &key, &error), "key_create");
  check(api->key_print(context, key, text, sizeof text, NULL, &error), "key_print");
  for (int i = 0; i < 3; i++) {
    lk_ref *ref = NULL;
    check(api->get_or_create(context, executor, key, build_table, &built, &ref, &hit, &error),
          "get_or_create");
    api->ref_release(ref);
  }
  printf("own type: built %d, last was a %s\n  %s\n", built, hit ? "hit" : "miss", text);
  api->key_destroy(context, key);
  return built == 1 && hit ? 0 : 1;
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
  lk_context *context = NULL;
  model models[2] = {0};
  float image[CHANNELS * PIXELS], worst = 0;
  check(api->context_create(NULL, &context, &error), "context_create");
  printf("latchkey %s, %d threads\n", api->version_text(), api->context_threads(context));
  open_model(context, &models[0], "first", 0.25F);
  open_model(context, &models[1], "second", -0.5F);
  for (int i = 0; i < CHANNELS * PIXELS; i++) image[i] = sinf((float)i);
  for (int round = 0; round < ROUNDS; round++) {
    worst = fmaxf(worst, run_and_check(&models[round % 2], image)); /* A, B, A, B */
  }
  worst = fmaxf(worst, run_at_the_same_time(context, models, image));
  worst = fmaxf(worst, run_with_a_loan(context, &models[0], image));
  lk_stats stats = {.struct_size = sizeof stats};
  check(api->cache_stats(context, NULL, &stats, &error), "cache_stats");
  printf("largest difference to plain loops: %g\n", (double)worst);
  const lk_kind_stats *names = &stats.kind[LK_KIND_NAME];
  printf("name keys: %lu hits, %lu builds; weights: %lu packed, %lu shared\n", names->hits,
         names->builds, stats.weights_packed, stats.weights_shared);
  const int failed = cache_own_type(context, models[0].executor);
  close_model(&models[0]);
  close_model(&models[1]);
  api->context_destroy(context);
  return failed != 0 || worst > 1e-5F;
}
