/* Where numbers come from: machine, version, model and options. */
#include "executor_glue/cli/bench/origin.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <latchkey/latchkey.h>
#include <xxhash.h>

#include "base/status.h"

/* ---- the machine ----------------------------------------------------------------------------- */

/* "": the system does not say. */
static void read_processor(char *out, size_t capacity) {
  char line[512];
  out[0] = '\0';
  FILE *file = fopen("/proc/cpuinfo", "re");
  if (file == NULL) return;
  while (out[0] == '\0' && fgets(line, sizeof line, file) != NULL) {
    const char *colon = strchr(line, ':');
    if (strncmp(line, "model name", strlen("model name")) != 0 || colon == NULL) continue;
    colon += strspn(colon, ": ");
    (void)snprintf(out, capacity, "%.*s", (int)strcspn(colon, "\n"), colon);
  }
  (void)fclose(file);
}

static int64_t count_cores(void) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
  return sysconf(_SC_NPROCESSORS_ONLN);
}

/* "0.1.0 (AVX2)" is the version and the instruction set. */
static void split_version(char *version, char *isa, size_t capacity) {
  const lk_api *api = lk_get_api(LK_API_VERSION);
  const char *text = api != NULL ? api->version_text() : "";
  const size_t length = strcspn(text, " ");
  (void)snprintf(version, capacity, "%.*s", (int)length, text);
  text += length + strspn(text + length, " (");
  (void)snprintf(isa, capacity, "%.*s", (int)strcspn(text, ")"), text);
}

static json_t *machine_json(const char *isa) {
  char processor[256];
  read_processor(processor, sizeof processor);
  return json_pack("{s:o, s:o, s:I}", "processor", lk_json_text(processor), "isa",
                   lk_json_text(isa), "cores", (json_int_t)count_cores());
}

/* ---- the model ------------------------------------------------------------------------------- */

#define DIGEST_CAPACITY 64

static lk_status read_into(XXH3_state_t *state, FILE *file, const char *path, lk_error *error) {
  unsigned char chunk[1 << 16];
  size_t bytes = 0;
  while ((bytes = fread(chunk, 1, sizeof chunk, file)) > 0) {
    (void)XXH3_128bits_update(state, chunk, bytes);
  }
  if (!ferror(file)) return LK_OK;
  return lk_fail(error, LK_IO, "failed to read '%s': %s", path, strerror(errno));
}

static lk_status read_file(XXH3_state_t *state, const char *path, lk_error *error) {
  FILE *file = fopen(path, "rbe");
  if (file == NULL) {
    return lk_fail(error, LK_IO, "failed to read '%s': %s", path, strerror(errno));
  }
  lk_status status = read_into(state, file, path, error);
  (void)fclose(file);
  return status;
}

/* Of the files of all models, one behind the other. */
static lk_status digest(const bench_models_arg *models, char out[DIGEST_CAPACITY],
                        lk_error *error) {
  lk_status status = LK_OK;
  XXH3_state_t *state = XXH3_createState();
  if (state == NULL) LK_TRY(lk_fail_memory(error, "a digest", 0));
  (void)XXH3_128bits_reset(state);
  for (size_t m = 0; m < models->count; m++) {
    LK_TRY(read_file(state, models->items[m].path, error));
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(state);
  (void)snprintf(out, DIGEST_CAPACITY, "xxh3:%016" PRIx64 "%016" PRIx64, (uint64_t)hash.high64,
                 (uint64_t)hash.low64);

cleanup:
  (void)XXH3_freeState(state);
  return status;
}

/* ---- the options ----------------------------------------------------------------------------- */

/* null: not given. */
static json_t *given(uint64_t value) {
  if (value == 0 || value == LK_UNSET) return json_null();
  return lk_json_number(value != LK_NONE ? value : 0);
}

static json_t *options_json(const bench_args *args) {
  const lk_context_options *context = &args->common.model.context;
  const lk_session_options *session = &args->common.model.session;
  json_t *passes = json_array();
  for (uint32_t i = 0; i < session->n_disabled_passes; i++) {
    (void)json_array_append_new(passes, lk_json_text(session->disabled_passes[i]));
  }
  json_t *fixed = json_object();
  for (uint32_t i = 0; i < session->n_fixed_dims; i++) {
    report_json_set(fixed, session->fixed_dims[i].name,
                    lk_json_number((uint64_t)session->fixed_dims[i].size));
  }
  return json_pack(
      "{s:o, s:o, s:o, s:o, s:s, s:i, s:o, s:b, s:o, s:o, s:o, s:f, s:f, s:o, s:o, s:b, s:b}",
      "tuning", context->tuning != NULL ? lk_json_text(context->tuning) : json_null(),
      "cache_entries", given(context->cache_entries), "cache_bytes", given(context->cache_bytes),
      "memory_bytes", given(context->memory_bytes), "executor",
      session->executor == LK_EXECUTOR_PARALLEL ? "parallel" : "naive", "inter",
      (int)session->inter, "max_folded_bytes", lk_json_number(session->max_folded_bytes),
      "run_plans", session->run_plans >= 0, "disabled_passes", passes, "fixed_dims", fixed,
      "warmup_requests", lk_json_number(args->warmup_requests), "warmup_s",
      (double)args->warmup_ns / 1e9, "duration_s", (double)args->duration_ns / 1e9, "rate",
      args->rate > 0 ? json_real(args->rate) : json_null(), "mix",
      args->models.mix != NULL ? lk_json_text(args->models.mix) : json_null(), "clones",
      (int)args->clones, "check", (int)args->check);
}

static json_t *environment_json(void) {
  static const char prefix[] = "LATCHKEY_";
  json_t *object = json_object();
  for (char **variable = environ; *variable != NULL; variable++) {
    const char *equals = strchr(*variable, '=');
    char name[128];
    if (strncmp(*variable, prefix, sizeof prefix - 1) != 0 || equals == NULL) continue;
    (void)snprintf(name, sizeof name, "%.*s", (int)(equals - *variable), *variable);
    report_json_set(object, name, lk_json_text(equals + 1));
  }
  return object;
}

lk_status bench_origin_add(const bench_args *args, json_t *report, lk_error *error) {
  char hash[DIGEST_CAPACITY], version[64], isa[64], date[32];
  struct tm utc;
  const time_t now = time(NULL);
  LK_RETURN_NOT_OK(digest(&args->models, hash, error));
  split_version(version, isa, sizeof version);
  (void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
  (void)json_object_set_new(report, "schema", json_string("latchkey-bench-1"));
  (void)json_object_set_new(report, "date", json_string(date));
  (void)json_object_set_new(report, "latchkey", lk_json_text(version));
  (void)json_object_set_new(report, "machine", machine_json(isa));
  (void)json_object_set_new(report, "model_digest", json_string(hash));
  (void)json_object_set_new(report, "options", options_json(args));
  (void)json_object_set_new(report, "environment", environment_json());
  return LK_OK;
}
