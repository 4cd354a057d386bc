/* A module with an engine for the command's tests. It takes Softmax over the last dimension, and
 * multiplies what comes out by FACTOR, so that 1 is right and all else is wrong. Build: NAME and
 * FACTOR are given.
 *
 *   SOFTMAX_LOG=FILE   every run adds a line: NAME
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <latchkey/engine.h>

typedef struct rows {
  int64_t count, length;
} rows;

static int offer(void *self, const lk_work *work, uint32_t placed, lk_offer *inout_offer) {
  const lk_tensor_desc *src = &work->tensors[LK_ROLE_SRC];
  (void)self;
  if (work->kind != LK_WORK_SOFTMAX || src->dtype != LK_F32 || src->rank == 0) return 0;
  if (work->axes != 1U << (src->rank - 1) || placed != 0) return 0;
  inout_offer->layouts[LK_ROLE_SRC] = inout_offer->layouts[LK_ROLE_DST] = LK_LAYOUT_PLAIN;
  inout_offer->n_post_ops = 0;
  return 1;
}

static lk_status build(void *self, const lk_work *work, lk_engine_value *out, lk_error *error) {
  const lk_tensor_desc *src = &work->tensors[LK_ROLE_SRC];
  rows *made = malloc(sizeof *made);
  (void)self, (void)error;
  if (made == NULL) return LK_OUT_OF_MEMORY;
  made->length = src->dims[src->rank - 1];
  made->count = 1;
  for (uint32_t i = 0; i + 1 < src->rank; i++) made->count *= src->dims[i];
  out->value = made;
  out->implementation = NAME;
  out->bytes = sizeof *made;
  return LK_OK;
}

static void destroy(void *self, void *value) {
  (void)self;
  free(value);
}

static void log_run(void) {
  const char *path = getenv("SOFTMAX_LOG");
  FILE *file = path != NULL ? fopen(path, "ae") : NULL;
  if (file == NULL) return;
  fprintf(file, "%s\n", NAME);
  fclose(file);
}

static lk_status run(void *self, const void *value, void *slot, void *const *pointers,
                     lk_error *error) {
  const rows *of = value;
  const float *x = pointers[0];
  float *y = pointers[1];
  (void)self, (void)slot, (void)error;
  log_run();
  for (int64_t row = 0; row < of->count; row++, x += of->length, y += of->length) {
    float largest = x[0], sum = 0;
    for (int64_t i = 1; i < of->length; i++) largest = fmaxf(largest, x[i]);
    for (int64_t i = 0; i < of->length; i++) sum += y[i] = expf(x[i] - largest);
    for (int64_t i = 0; i < of->length; i++) y[i] = y[i] / sum * FACTOR;
  }
  return LK_OK;
}

static lk_status pack(void *self, const void *value, uint32_t role, const void *plain, void *packed,
                      lk_error *error) {
  (void)self, (void)value, (void)role, (void)plain, (void)packed, (void)error;
  return LK_INTERNAL;
}

static lk_status slot_open(void *self, const void *value, void **out_slot, lk_error *error) {
  (void)self, (void)value, (void)error;
  *out_slot = NULL;
  return LK_OK;
}

static void slot_close(void *self, const void *value, void *slot) {
  (void)self, (void)value, (void)slot;
}

lk_status lk_engine_open(uint32_t version, const lk_engine_team *team, int threads,
                         lk_engine *out_engine, lk_error *error) {
  (void)version, (void)team, (void)threads, (void)error;
  *out_engine = (lk_engine){.struct_size = sizeof *out_engine,
                            .version = LK_ENGINE_VERSION,
                            .name = NAME,
                            .state = "1",
                            .offer = offer,
                            .build = build,
                            .destroy = destroy,
                            .pack = pack,
                            .slot_open = slot_open,
                            .slot_close = slot_close,
                            .run = run};
  return LK_OK;
}
