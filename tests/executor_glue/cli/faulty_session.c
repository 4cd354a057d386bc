/* Stands between the command and the library (LD_PRELOAD), and makes runs slow, wrong or failing by
 * number, so that tests know what bench must report. Runs are counted from 1, over all sessions.
 *
 *   FAULTY_SLEEP_MS=M   every run takes M milliseconds more
 *   FAULTY_STALL=N:M    run N does
 *   FAULTY_FAIL=N       every Nth run fails
 *   FAULTY_ALTER=N      every Nth run has another first number in its first output
 *   FAULTY_LOG=FILE     every run adds a line: rows and first number of its first input
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <latchkey/session.h>

static const lk_session_api *original;
static atomic_ulong runs;

static unsigned long number_of(const char *variable) {
  const char *text = getenv(variable);
  return text != NULL ? strtoul(text, NULL, 10) : 0;
}

static int is_turn(const char *variable, unsigned long number) {
  unsigned long every = number_of(variable);
  return every > 0 && number % every == 0;
}

static void sleep_ms(unsigned long ms) {
  struct timespec time = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
  if (ms > 0) nanosleep(&time, NULL);
}

static void log_run(const lk_named_tensor *input) {
  const char *path = getenv("FAULTY_LOG");
  FILE *file = path != NULL ? fopen(path, "ae") : NULL;
  if (file == NULL) return;
  fprintf(file, "%lld %.9g\n", (long long)input->tensor.desc.dims[0],
          (double)*(const float *)input->tensor.data);
  fclose(file);
}

static lk_status run(lk_session *session, const lk_named_tensor *inputs, uint32_t n_inputs,
                     lk_named_tensor *outputs, uint32_t n_outputs, const lk_run_options *options,
                     lk_error *error) {
  unsigned long number = atomic_fetch_add(&runs, 1) + 1;
  unsigned long stalled = 0, stall_ms = 0;
  const char *stall = getenv("FAULTY_STALL");
  log_run(&inputs[0]);
  sleep_ms(number_of("FAULTY_SLEEP_MS"));
  if (stall != NULL && sscanf(stall, "%lu:%lu", &stalled, &stall_ms) == 2 && stalled == number) {
    sleep_ms(stall_ms);
  }
  if (is_turn("FAULTY_FAIL", number)) {
    error->status = LK_INTERNAL;
    snprintf(error->message, sizeof error->message, "failed to run: this is the turn to fail");
    return LK_INTERNAL;
  }
  lk_status status = original->run(session, inputs, n_inputs, outputs, n_outputs, options, error);
  if (status == LK_OK && is_turn("FAULTY_ALTER", number)) *(float *)outputs[0].tensor.data += 1.0f;
  return status;
}

const lk_session_api *lk_get_session_api(uint32_t version) {
  static lk_session_api table;
  const lk_session_api *(*next)(uint32_t) =
      (const lk_session_api *(*)(uint32_t))dlsym(RTLD_NEXT, "lk_get_session_api");
  original = next(version);
  if (original == NULL) return NULL;
  table = *original;
  table.run = run;
  return &table;
}
