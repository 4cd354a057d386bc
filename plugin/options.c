/* Context options: the struct first, then the environment, then the defaults. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/machine_memory.h"
#include "base/parse.h"
#include "base/status.h"
#include "base/struct.h"
#include "base/team/budget.h"
#include "ops/kernel/isa.h"
#include "plugin/internal.h"

#define DEFAULT_ENTRIES UINT64_C(65536)
/* Some hundred sizes of a model of 150 nodes; with an engine that builds values for each, some
 * ten. */
#define DEFAULT_BYTES (UINT64_C(20) << 20)
#define DEFAULT_BYTES_OF_VALUES (UINT64_C(256) << 20)

/* Replaces `*value` by the environment variable's when the variable is set and not empty, and notes
 * that in `*source`. */
static lk_status read_number(const char *variable, bool allow_unit, uint64_t least, uint64_t most,
                             uint64_t *value, uint8_t *source, lk_error *error) {
  const char *text = getenv(variable);
  if (text == NULL || text[0] == '\0') return LK_OK;
  uint64_t number = 0;
  if (!lk_parse_number(text, allow_unit, &number) || number < least || number > most) {
    return lk_fail(
        error, LK_OUT_OF_RANGE,
        "failed to read the environment variable %s: it is '%.64s', a number from %" PRIu64
        " to %" PRIu64 "%s is allowed",
        variable, text, least, most, allow_unit ? ", with k, m or g" : "");
  }
  *value = number;
  *source = LK_FROM_ENVIRONMENT;
  return LK_OK;
}

static lk_status read_mode(uint32_t *mode, uint8_t *source, lk_error *error) {
  const char *text = getenv("LATCHKEY_CACHE");
  if (text == NULL || text[0] == '\0') return LK_OK;
  *source = LK_FROM_ENVIRONMENT;
  if (lk_parse_cache_mode(text, mode)) return LK_OK;
  return lk_fail(error, LK_OUT_OF_RANGE,
                 "failed to read the environment variable LATCHKEY_CACHE: it is '%.64s', one of "
                 "off, thread, shared is allowed",
                 text);
}

/* Kernels read the variable by themselves; here it is only refused. */
static lk_status check_isa(lk_error *error) {
  const char *text = getenv("LATCHKEY_MAX_ISA");
  if (text == NULL || text[0] == '\0' || lk_isa_is_name(text)) return LK_OK;
  return lk_fail(error, LK_OUT_OF_RANGE,
                 "failed to read the environment variable LATCHKEY_MAX_ISA: it is '%.64s', one of "
                 "sse2, avx2, avx512_core, avx512, amx is allowed",
                 text);
}

lk_status lk_processors_read(lk_error *error) {
  uint64_t processors = 0;
  uint8_t source = LK_FROM_DEFAULT;
  LK_RETURN_NOT_OK(
      read_number("LATCHKEY_PROCESSORS", false, 1, LK_MAX_THREADS, &processors, &source, error));
  if (processors > 0) lk_budget_propose_processors((int)processors);
  return LK_OK;
}

static lk_status check_range(const char *option, int64_t value, int least, int most,
                             lk_error *error) {
  if (value >= least && value <= most) return LK_OK;
  return lk_fail(error, LK_OUT_OF_RANGE,
                 "failed to read option '%s': it is %" PRId64 ", %d to %d are allowed", option,
                 value, least, most);
}

static lk_status check_struct(const lk_context_options *options, lk_error *error) {
  if ((options->allocator.alloc != NULL) != (options->allocator.free != NULL)) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to read option 'allocator': one of alloc and free is NULL, give both");
  }
  LK_RETURN_NOT_OK(check_range("cache_mode", options->cache_mode, 0, LK_CACHE_SHARED, error));
  LK_RETURN_NOT_OK(check_range("threads", options->threads, 0, LK_MAX_THREADS, error));
  return check_range("verbose", options->verbose, LK_LOG_OFF, LK_LOG_DEBUG, error);
}

static bool is_unset(uint64_t amount) {
  return amount == 0 || amount == LK_UNSET;
}

static void note(uint8_t sources[LK_OPTION_PROCESSORS], lk_option option, bool is_given) {
  sources[option] = is_given ? LK_FROM_ARGUMENT : LK_FROM_DEFAULT;
}

static void note_given(const lk_context_options *options, uint8_t sources[LK_OPTION_PROCESSORS]) {
  note(sources, LK_OPTION_CACHE_MODE, options->cache_mode != LK_CACHE_DEFAULT);
  note(sources, LK_OPTION_CACHE_ENTRIES, !is_unset(options->cache_entries));
  note(sources, LK_OPTION_CACHE_BYTES, !is_unset(options->cache_bytes));
  note(sources, LK_OPTION_WEIGHTS_BYTES, !is_unset(options->weights_bytes));
  note(sources, LK_OPTION_MEMORY_BYTES, !is_unset(options->memory_bytes));
  note(sources, LK_OPTION_THREADS, options->threads != 0);
  note(sources, LK_OPTION_VERBOSE, options->verbose != LK_LOG_DEFAULT);
  note(sources, LK_OPTION_SOCKET, options->socket != NULL);
  note(sources, LK_OPTION_ENGINE, options->engine != NULL);
  note(sources, LK_OPTION_TUNING, options->tuning != NULL);
}

static void read_text(const char *variable, const char **out, uint8_t *source) {
  const char *text = getenv(variable);
  if (*out != NULL || text == NULL || text[0] == '\0') return;
  *out = text;
  *source = LK_FROM_ENVIRONMENT;
}

/* An amount that is given, as the cache takes it. */
static void read_none(uint64_t *amount) {
  if (*amount == LK_NONE) *amount = 0;
}

static lk_status read_cache(lk_context_options *out, uint8_t sources[LK_OPTION_PROCESSORS],
                            lk_error *error) {
  if (out->cache_mode == LK_CACHE_DEFAULT) {
    out->cache_mode = LK_CACHE_SHARED;
    LK_RETURN_NOT_OK(read_mode(&out->cache_mode, &sources[LK_OPTION_CACHE_MODE], error));
  }
  if (sources[LK_OPTION_CACHE_ENTRIES] == LK_FROM_DEFAULT) {
    out->cache_entries = DEFAULT_ENTRIES;
    LK_RETURN_NOT_OK(read_number("LATCHKEY_CACHE_ENTRIES", false, 0, LK_NONE - 1,
                                 &out->cache_entries, &sources[LK_OPTION_CACHE_ENTRIES], error));
  }
  if (sources[LK_OPTION_CACHE_BYTES] == LK_FROM_DEFAULT) {
    const bool is_cheap = strcmp(out->engine, "native") == 0 || strcmp(out->engine, "auto") == 0;
    out->cache_bytes = is_cheap ? DEFAULT_BYTES : DEFAULT_BYTES_OF_VALUES;
    LK_RETURN_NOT_OK(read_number("LATCHKEY_CACHE_BYTES", true, 0, LK_NONE - 1, &out->cache_bytes,
                                 &sources[LK_OPTION_CACHE_BYTES], error));
  }
  if (sources[LK_OPTION_WEIGHTS_BYTES] == LK_FROM_DEFAULT) out->weights_bytes = LK_UNLIMITED;
  read_none(&out->cache_entries);
  read_none(&out->cache_bytes);
  read_none(&out->weights_bytes);
  return LK_OK;
}

static lk_status read_threads(int32_t *out, uint8_t *source, lk_error *error) {
  const int32_t processors = lk_budget_processors();
  uint64_t threads = (uint64_t)(processors < LK_MAX_THREADS ? processors : LK_MAX_THREADS);
  LK_RETURN_NOT_OK(
      read_number("LATCHKEY_THREADS", false, 1, LK_MAX_THREADS, &threads, source, error));
  *out = (int32_t)threads;
  return LK_OK;
}

lk_status lk_context_options_read(const lk_context_options *given, lk_context_options *out,
                                  uint8_t sources[LK_OPTION_PROCESSORS], lk_error *error) {
  *out = (lk_context_options)LK_CONTEXT_OPTIONS_INIT;
  if (given != NULL) {
    LK_RETURN_NOT_OK(lk_struct_read(out, sizeof *out, given, "context options", error));
  }
  LK_RETURN_NOT_OK(check_struct(out, error));
  LK_RETURN_NOT_OK(check_isa(error));
  note_given(out, sources);
  read_text("LATCHKEY_ENGINE", &out->engine, &sources[LK_OPTION_ENGINE]);
  if (out->engine == NULL || out->engine[0] == '\0') out->engine = "auto";
  read_text("LATCHKEY_TUNING", &out->tuning, &sources[LK_OPTION_TUNING]);
  LK_RETURN_NOT_OK(read_cache(out, sources, error));
  LK_RETURN_NOT_OK(lk_processors_read(error));
  if (out->threads == 0) {
    LK_RETURN_NOT_OK(read_threads(&out->threads, &sources[LK_OPTION_THREADS], error));
  }
  if (sources[LK_OPTION_MEMORY_BYTES] == LK_FROM_DEFAULT) {
    bool by_group = false;
    out->memory_bytes = lk_machine_memory(&by_group);
    sources[LK_OPTION_MEMORY_BYTES] = by_group ? LK_FROM_CGROUP : LK_FROM_MACHINE;
    LK_RETURN_NOT_OK(read_number("LATCHKEY_MEMORY_BYTES", true, 1, LK_NONE - 1, &out->memory_bytes,
                                 &sources[LK_OPTION_MEMORY_BYTES], error));
  }
  read_text("LATCHKEY_SOCKET", &out->socket, &sources[LK_OPTION_SOCKET]);
  if (out->verbose == LK_LOG_DEFAULT) {
    uint64_t verbose = LK_LOG_WARNING;
    LK_RETURN_NOT_OK(read_number("LATCHKEY_VERBOSE", false, 0, LK_LOG_DEBUG, &verbose,
                                 &sources[LK_OPTION_VERBOSE], error));
    out->verbose = verbose == 0 ? LK_LOG_OFF : (int32_t)verbose;
  }
  return LK_OK;
}
