/* A host with oneDNN code of its own, which has Latchkey as the cache of its primitives and packed
 * weights: an executor of one operator at a time, with a handler for each operator. Two executors
 * with equal tensor names, of which the second works in place, run sizes that change from run to
 * run, on two threads each, twice over. In the second round nothing is built and nothing is packed.
 * All results are checked by plain loops.
 * Build: cc *.c -I <include> -I <oneDNN>/include -L <oneDNN>/lib -ldnnl -lstdc++ -ldl -lm -lpthread
 * (a shared oneDNN needs no -lstdc++). Run: ./a.out path/to/liblatchkey.so */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "executor.h"

enum { EXECUTORS = 2, THREADS = 2, RUNS = 8 };

static const lk_api *api;
static _Thread_local lk_error error;

static void check(lk_status status, const char *doing) {
  if (status == LK_OK) return;
  fprintf(stderr, "%s: %s: %s\n", doing, api->status_text(status), error.message);
  exit(1);
}

static void check_onednn(dnnl_status_t status, const char *doing) {
  check(lk_dnnl_check(&error, status, doing), doing);
}

static void fill(float *data, int count, float step) {
  for (int i = 0; i < count; i++) data[i] = sinf(step * (float)(i + 1));
}

/* ---- a thread that runs an executor ---- */

typedef struct runner {
  const executor *executor;
  int first; /* of the sizes */
  float worst;
} runner;

static void *run_sizes(void *arg) {
  static const int64_t sizes[] = {1, 17, 5, 64};
  runner *self = arg;
  scope names = {0};
  float x[MOST_ROWS * WIDTH], gate[MOST_ROWS * HIDDEN];
  dnnl_stream_t stream = NULL;
  fill(x, MOST_ROWS * WIDTH, 0.37F);
  fill(gate, MOST_ROWS * HIDDEN, 0.11F);
  check_onednn(dnnl_stream_create(&stream, self->executor->cache.engine, dnnl_stream_default_flags),
               "make a stream");
  for (int run = 0; run < RUNS; run++) {
    const int64_t rows = sizes[(self->first + run) % 4];
    const matrix in = {rows, WIDTH, x}, gates = {rows, HIDDEN, gate};
    matrix p;
    check(executor_run(self->executor, &names, stream, in, gates, &p, &error), "run");
    self->worst = fmaxf(self->worst, executor_difference(self->executor, in, gates, p));
  }
  check_onednn(dnnl_stream_destroy(stream), "end a stream");
  scope_close(&names);
  return NULL;
}

static float run_all(executor executors[EXECUTORS]) {
  pthread_t threads[EXECUTORS * THREADS];
  runner runners[EXECUTORS * THREADS];
  float worst = 0;
  for (int i = 0; i < EXECUTORS * THREADS; i++) {
    runners[i] = (runner){.executor = &executors[i % EXECUTORS], .first = i};
    if (pthread_create(&threads[i], NULL, run_sizes, &runners[i]) != 0) exit(1);
  }
  for (int i = 0; i < EXECUTORS * THREADS; i++) {
    (void)pthread_join(threads[i], NULL);
    worst = fmaxf(worst, runners[i].worst);
  }
  return worst;
}

/* ---- rounds ---- */

static lk_stats stats_of(lk_context *context) {
  lk_stats stats = {.struct_size = sizeof stats};
  check(api->cache_stats(context, NULL, &stats, &error), "cache_stats");
  return stats;
}

/* Prints what a round has built and found; returns how much it has built and packed. */
static long run_round(lk_context *context, int round, executor executors[EXECUTORS]) {
  static const char *const names[] = {"matmul", "activation", "multiply", "softmax"};
  operator_counts before[OPERATOR_KINDS];
  long built = 0;
  for (int i = 0; i < OPERATOR_KINDS; i++) before[i] = counts_of((operator_kind)i);
  const uint64_t packed_before = stats_of(context).weights_packed;
  const float worst = run_all(executors);
  for (int i = 0; i < OPERATOR_KINDS; i++) {
    const operator_counts now = counts_of((operator_kind)i);
    const long made = now.built - before[i].built;
    printf("round %d  %-10s  built %2ld  found %3ld\n", round, names[i], made,
           now.asked - before[i].asked - made);
    built += made;
  }
  const uint64_t packed = stats_of(context).weights_packed - packed_before;
  printf("round %d  weights     packed %llu  largest difference %.1g\n", round,
         (unsigned long long)packed, (double)worst);
  if (!(worst < 1e-4F)) {
    fprintf(stderr, "the results are not those of plain loops\n");
    exit(1);
  }
  return built + (long)packed;
}

static void run_host(lk_context *context, dnnl_engine_t engine) {
  static float w1[EXECUTORS][WIDTH * HIDDEN], w2[EXECUTORS][HIDDEN * CLASSES];
  executor executors[EXECUTORS];
  lk_dnnl cache;
  check(lk_dnnl_open(api, context, NULL, engine, 0, 1, &cache, &error), "open oneDNN");
  for (int i = 0; i < EXECUTORS; i++) {
    fill(w1[i], WIDTH * HIDDEN, 0.2F + 0.1F * (float)i); /* others for each */
    fill(w2[i], HIDDEN * CLASSES, 0.7F);                 /* equal ones, at two places */
    check(executor_open(&cache, i == 0 ? RELU : GELU, i == 1, w1[i], w2[i], &executors[i], &error),
          "open an executor");
  }
  const long first = run_round(context, 1, executors);
  const long second = run_round(context, 2, executors);
  for (int i = 0; i < EXECUTORS; i++) executor_close(&executors[i]);
  lk_dnnl_close(&cache);
  if (first == 0 || second != 0) {
    fprintf(stderr, "the first round has made %ld objects, the second %ld, which must be 0\n",
            first, second);
    exit(1);
  }
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
  dnnl_engine_t engine = NULL;
  const dnnl_version_t *version = dnnl_version();
  /* a cache for each thread would build for each thread */
  lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
  options.cache_mode = LK_CACHE_SHARED;
  check(api->context_create(&options, &context, &error), "context_create");
  /* or what Latchkey evicts would stay in oneDNN's own cache */
  check_onednn(dnnl_set_primitive_cache_capacity(0), "switch off oneDNN's cache");
  check_onednn(dnnl_engine_create(&engine, dnnl_cpu, 0), "make an engine");
  printf("latchkey %s, oneDNN %d.%d.%d\n", api->version_text(), version->major, version->minor,
         version->patch);
  run_host(context, engine);
  /* primitives are of the engine, which ends after them */
  api->context_destroy(context);
  check_onednn(dnnl_engine_destroy(engine), "end an engine");
  return 0;
}
