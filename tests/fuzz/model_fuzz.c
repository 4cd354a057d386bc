/* A model: opened, run with small inputs, with little memory and until a deadline. */
#include <latchkey/session.h>
#include <string.h>

#include "base/clock.h"
#include "base/tensor.h"
#include "tests/fuzz/fuzz.h"

enum { MOST_INPUTS = 8, MOST_OUTPUTS = 8, MOST_BYTES = 1 << 16 };
#define MEMORY ((size_t)64 << 20)
#define RUN_NS UINT64_C(200000000)

/* Dimensions that are open are 2. False: it is no small tensor. */
static bool fill_input(const lk_session *session, uint32_t index, lk_named_tensor *out,
                       uint8_t *room) {
  lk_value_info info = {.struct_size = sizeof info};
  int64_t bytes = 0;
  if (lk_get_session_api(LK_SESSION_API_VERSION)->input_info(session, index, &info, NULL) !=
      LK_OK) {
    return false;
  }
  int64_t dims[LK_MAX_RANK] = {0};
  const uint32_t rank = info.rank < 0 ? 1 : (uint32_t)info.rank;
  for (uint32_t i = 0; i < rank; i++)
    dims[i] = info.rank < 0 || info.dims[i] < 0 ? 2 : info.dims[i];
  out->name = info.name;
  out->tensor.desc = lk_tensor_desc_make(info.dtype, rank, dims);
  out->tensor.data = room;
  return lk_tensor_size(&out->tensor.desc, "it", NULL, &bytes, NULL) == LK_OK &&
         bytes <= MOST_BYTES;
}

static void run(lk_session *session, uint8_t *rooms) {
  const lk_session_api *api = lk_get_session_api(LK_SESSION_API_VERSION);
  const uint32_t n_inputs = api->input_count(session), n_outputs = api->output_count(session);
  lk_named_tensor inputs[MOST_INPUTS] = {{0}}, outputs[MOST_OUTPUTS] = {{0}};
  lk_error error;
  if (n_inputs > MOST_INPUTS || n_outputs > MOST_OUTPUTS) return;
  for (uint32_t i = 0; i < n_inputs; i++) {
    if (!fill_input(session, i, &inputs[i], rooms + i * MOST_BYTES)) return;
  }
  for (uint32_t i = 0; i < n_outputs; i++) {
    lk_value_info info = {.struct_size = sizeof info};
    if (api->output_info(session, i, &info, &error) != LK_OK) return;
    outputs[i].name = info.name;
  }
  const lk_run_options options = {.struct_size = sizeof options,
                                  .deadline_ns = lk_now_ns() + RUN_NS};
  for (int i = 0; i < 2; i++) { /* the second time by the run plan of the first */
    if (api->run(session, inputs, n_inputs, outputs, n_outputs, &options, &error) == LK_OK) {
      api->outputs_release(session, outputs, n_outputs);
    } else {
      fuzz_check_sentence(&error);
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const lk_api *api = lk_get_api(LK_API_VERSION);
  const lk_session_api *sessions = lk_get_session_api(LK_SESSION_API_VERSION);
  static uint8_t rooms[MOST_INPUTS * MOST_BYTES];
  fuzz_memory memory = {.limit = MEMORY};
  lk_context_options given = LK_CONTEXT_OPTIONS_INIT;
  lk_session_options options = LK_SESSION_OPTIONS_INIT;
  lk_context *context = NULL;
  lk_session *session = NULL;
  lk_error error;
  given.allocator = fuzz_allocator(&memory);
  given.threads = 1;
  options.max_folded_bytes = 1 << 20;
  FUZZ_CHECK(api->context_create(&given, &context, &error) == LK_OK);
  if (sessions->open_memory(context, data, size, &options, &session, &error) == LK_OK) {
    run(session, rooms);
    sessions->close(session);
  } else {
    FUZZ_CHECK(session == NULL);
    fuzz_check_sentence(&error);
  }
  api->context_destroy(context);
  FUZZ_CHECK(memory.used == 0);
  return 0;
}
