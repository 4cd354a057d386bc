/* A host with two operators of its own, of domain com.example, which ONNX does not have:
 *   Shift adds to each element how far its row lies from the first one. The host computes it.
 *   Standardize brings each row to mean 0 and deviation 1. The host says that this is a layer norm,
 *   and the engine of the context computes it.
 * Of both the host says what shape comes out. The library runs models that have them, beside its
 * own operators, and finds their plans by key. The model here is
 * y = Relu(Shift(Standardize(x), by = 1)).
 * Build: cc main.c -I <include> -ldl -lm. Run: ./a.out path/to/liblatchkey.so */
#include <dlfcn.h>
#include <latchkey/session.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EPSILON 1e-5F

/* ---- an operator that the host computes ---- */

/* When shapes are bound. What it leaves in `params` comes to each run of the plan. */
static lk_status infer(void *user, const lk_operator_node *node, lk_operator_shapes *out_shapes,
                       lk_error *error) {
  const lk_tensor_desc *x = &node->inputs[0].desc;
  const float by = node->n_attrs > 0 ? *(const float *)node->attrs[0].data : 1;
  (void)user;
  if (x->rank != 2) {
    snprintf(error->message, sizeof error->message, "x has rank %u, a matrix is required", x->rank);
    return LK_INVALID_ARGUMENT;
  }
  out_shapes->outputs[0].rank = x->rank;
  memcpy(out_shapes->outputs[0].dims, x->dims, sizeof x->dims);
  memcpy(out_shapes->params, &by, sizeof by);
  out_shapes->params_bytes = sizeof by;
  return LK_OK;
}

/* At each run, from any thread. It finds all that it needs, and allocates nothing. */
static lk_status run(const lk_operator_run *run, lk_error *error) {
  const int64_t rows = run->inputs[0].dims[0], columns = run->inputs[0].dims[1];
  const float *x = run->input_data[0];
  float *y = run->output_data[0], by;
  (void)error;
  memcpy(&by, run->params, sizeof by);
  for (int64_t row = 0; row < rows; row++) {
    for (int64_t i = row * columns; i < (row + 1) * columns; i++) y[i] = x[i] + by * (float)row;
  }
  return LK_OK;
}

static const lk_op_attr attrs[] = {
    {.name = "by", .type = LK_ATTR_FLOATS, .has_default = 1, .number = 1}};

static const lk_operator shift = {.struct_size = sizeof shift,
                                  .op_type = "Shift",
                                  .domain = "com.example",
                                  .summary = "x + by times the number of the row",
                                  .since = 1,
                                  .min_inputs = 1,
                                  .max_inputs = 1,
                                  .max_outputs = 1,
                                  .n_attrs = 1,
                                  .input_types = "T",
                                  .output_types = "T",
                                  .types = {LK_TYPE(LK_F32)},
                                  .attrs = attrs,
                                  .infer = infer,
                                  .run = run};

/* ---- an operator that the engine computes ---- */

static lk_status infer_same(void *user, const lk_operator_node *node,
                            lk_operator_shapes *out_shapes, lk_error *error) {
  const lk_tensor_desc *x = &node->inputs[0].desc;
  (void)user;
  if (x->rank == 0) {
    snprintf(error->message, sizeof error->message, "x is one number, rows are required");
    return LK_INVALID_ARGUMENT;
  }
  out_shapes->outputs[0].rank = x->rank;
  memcpy(out_shapes->outputs[0].dims, x->dims, sizeof x->dims);
  return LK_OK;
}

/* Behind `infer`, when a plan is made. Input 0 is the source, output 0 the destination. */
static lk_status work(void *user, const lk_operator_node *node, const lk_operator_shapes *shapes,
                      lk_operator_work *out_work, lk_error *error) {
  lk_work *norm = &out_work->work;
  (void)user, (void)shapes, (void)error;
  norm->kind = LK_WORK_LAYER_NORM;
  norm->roles = 1u << LK_ROLE_SRC | 1u << LK_ROLE_DST;
  norm->axes = 1u << (node->inputs[0].desc.rank - 1); /* the last dimension */
  norm->is_centered = 1;
  norm->epsilon = EPSILON;
  return LK_OK;
}

static const lk_operator standardize = {.struct_size = sizeof standardize,
                                        .op_type = "Standardize",
                                        .domain = "com.example",
                                        .summary = "rows with mean 0 and deviation 1",
                                        .since = 1,
                                        .min_inputs = 1,
                                        .max_inputs = 1,
                                        .max_outputs = 1,
                                        .input_types = "T",
                                        .output_types = "T",
                                        .types = {LK_TYPE(LK_F32)},
                                        .infer = infer_same,
                                        .work = work};

/* ---- a model that has them ---- */

/* In ONNX's format: three nodes between x and y, of N x 2 numbers each. It imports opset 13 of
 * ai.onnx and opset 1 of com.example. */
static const char model[] = "\x08\x08:\x89\x01\n"
                            " \n\x01x\x12\x01n\"\x0bStandardize:\x0b"
                            "com.example\n"
                            "(\n\x01n\x12\x01s\"\x05Shift*\x0c\n\x02"
                            "by\x15\x00\x00\x80\x3f\xa0\x01\x01:\x0b"
                            "com.example\n"
                            "\x0c\n\x01s\x12\x01y\"\x04Relu\x12\x01gZ\x14\n\x01x\x12\x0f\n"
                            "\r\x08\x01\x12\t\n\x03\x12\x01N\n\x02\x08\x02"
                            "b\x14\n\x01y\x12\x0f\n"
                            "\r\x08\x01\x12\t\n\x03\x12\x01N\n\x02\x08\x02"
                            "B\x04\n\x00\x10\rB\x0f\n\x0b"
                            "com.example\x10\x01";

static lk_error error;

static void check(const lk_api *api, lk_status status, const char *doing) {
  if (status == LK_OK) return;
  fprintf(stderr, "%s: %s: %s\n", doing, api->status_text(status), error.message);
  exit(1);
}

/* Runs the model on `rows` x 2 numbers: how far y is from what it should be. */
static float run_rows(const lk_api *api, const lk_session_api *level2, lk_session *session,
                      int64_t rows) {
  float x[16], worst = 0;
  for (int i = 0; i < 16; i++) x[i] = (float)(i % 5) - 1;
  const lk_named_tensor input = {
      .name = "x", .tensor = {.desc = {.dtype = LK_F32, .rank = 2, .dims = {rows, 2}}, .data = x}};
  lk_named_tensor output = {.name = "y"};
  check(api, level2->run(session, &input, 1, &output, 1, NULL, &error), "run");
  const float *y = output.tensor.data;
  for (int64_t i = 0; i < rows * 2; i++) {
    const int64_t row = i / 2;
    const float half = (x[i] - x[i ^ 1]) / 2; /* from the mean of both */
    const float standard = half / sqrtf(half * half + EPSILON);
    worst = fmaxf(worst, fabsf(y[i] - fmaxf(standard + (float)row, 0)));
  }
  level2->outputs_release(session, &output, 1);
  return worst;
}

int main(int argc, char **argv) {
  void *library = dlopen(argc > 1 ? argv[1] : "liblatchkey.so", RTLD_NOW);
  const lk_api *(*get_api)(uint32_t) = NULL;
  const lk_session_api *(*get_session_api)(uint32_t) = NULL;
  if (library != NULL) {
    *(void **)&get_api = dlsym(library, "lk_get_api");
    *(void **)&get_session_api = dlsym(library, "lk_get_session_api");
  }
  const lk_api *api = get_api != NULL ? get_api(LK_API_VERSION) : NULL;
  const lk_session_api *level2 =
      get_session_api != NULL ? get_session_api(LK_SESSION_API_VERSION) : NULL;
  if (api == NULL || level2 == NULL) {
    fprintf(stderr, "cannot load Latchkey: %s\n", library == NULL ? dlerror() : "other version");
    return 1;
  }
  lk_context *context = NULL;
  lk_session *session = NULL;
  float worst = 0;
  check(api, api->context_create(NULL, &context, &error), "context_create");
  check(api, api->op_register(context, &shift, &error), "op_register");
  check(api, api->op_register(context, &standardize, &error), "op_register");
  check(api, level2->open_memory(context, model, sizeof model - 1, NULL, &session, &error),
        "open_memory");
  for (int round = 0; round < 4; round++) {
    worst = fmaxf(worst, run_rows(api, level2, session, 3));
    worst = fmaxf(worst, run_rows(api, level2, session, 8));
  }
  printf("y is right within %g\n", (double)worst);
  level2->close(session);
  api->context_destroy(context);
  return worst > 1e-5F;
}
