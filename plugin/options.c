/* Context options: the struct first, then the environment, then the defaults. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/machine_memory.h"
#include "base/parse.h"
#include "base/status.h"
#include "base/struct.h"
#include "base/team/budget.h"
#include "ops/kernel/isa.h"
#include "plugin/internal.h"

#define DEFAULT_ENTRIES UINT64_C(65536)
#define DEFAULT_BYTES (UINT64_C(20) << 20) /* some hundred sizes of a model of 150 nodes */

/* Replaces `*value` by the environment variable's when the variable is set and not empty. */
static lk_status read_number(const char *variable, bool allow_unit, uint64_t least, uint64_t most,
                             uint64_t *value, lk_error *error) {
  const char *text = getenv(variable);
  if (text == NULL || text[0] == '\0') return LK_OK;
  uint64_t number = 0;
  if (!lk_parse_number(text, allow_unit, &number) || number < least || number > most) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to read the environment variable %s: '%.64s', a number from %" PRIu64
                   " to %" PRIu64 "%s",
                   variable, text, least, most, allow_unit ? ", with k, m or g" : "");
  }
  *value = number;
  return LK_OK;
}

static lk_status read_mode(uint32_t *mode, lk_error *error) {
  const char *text = getenv("LATCHKEY_CACHE");
  if (text == NULL || text[0] == '\0' || lk_parse_cache_mode(text, mode)) return LK_OK;
  return lk_fail(error, LK_OUT_OF_RANGE,
                 "failed to read the environment variable LATCHKEY_CACHE: '%.64s', one of off, "
                 "thread, shared",
                 text);
}

/* Kernels read the variable by themselves; here it is only refused. */
static lk_status check_isa(lk_error *error) {
  const char *text = getenv("LATCHKEY_MAX_ISA");
  lk_isa isa;
  if (text == NULL || text[0] == '\0' || lk_isa_parse(text, &isa)) return LK_OK;
  return lk_fail(error, LK_OUT_OF_RANGE,
                 "failed to read the environment variable LATCHKEY_MAX_ISA: '%.64s', one of sse2, "
                 "avx2, avx512, amx",
                 text);
}

lk_status lk_processors_read(lk_error *error) {
  uint64_t processors = 0;
  LK_RETURN_NOT_OK(
      read_number("LATCHKEY_PROCESSORS", false, 1, LK_MAX_THREADS, &processors, error));
  if (processors > 0) lk_budget_propose_processors((int)processors);
  return LK_OK;
}

static lk_status check_range(const char *option, int64_t value, int least, int most,
                             lk_error *error) {
  if (value >= least && value <= most) return LK_OK;
  return lk_fail(error, LK_OUT_OF_RANGE, "failed to read option '%s': %" PRId64 ", %d to %d",
                 option, value, least, most);
}

static lk_status check_struct(const lk_context_options *options, lk_error *error) {
  if ((options->allocator.alloc != NULL) != (options->allocator.free != NULL)) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to read option 'allocator': one of alloc and free is NULL, give both");
  }
  LK_RETURN_NOT_OK(check_range("cache_mode", options->cache_mode, 0, LK_CACHE_SHARED, error));
  LK_RETURN_NOT_OK(check_range("threads", options->threads, 0, LK_MAX_THREADS, error));
  return check_range("verbose", options->verbose, -1, LK_LOG_DEBUG, error);
}

lk_status lk_context_options_read(const lk_context_options *given, lk_context_options *out,
                                  lk_error *error) {
  *out = (lk_context_options)LK_CONTEXT_OPTIONS_INIT;
  if (given != NULL) {
    LK_RETURN_NOT_OK(lk_struct_read(out, sizeof *out, given, "context options", error));
  }
  LK_RETURN_NOT_OK(check_struct(out, error));
  LK_RETURN_NOT_OK(check_isa(error));
  if (out->cache_mode == LK_CACHE_DEFAULT) {
    out->cache_mode = LK_CACHE_SHARED;
    LK_RETURN_NOT_OK(read_mode(&out->cache_mode, error));
  }
  LK_RETURN_NOT_OK(lk_processors_read(error));
  if (out->threads == 0) {
    const int32_t processors = lk_budget_processors();
    uint64_t threads = (uint64_t)(processors < LK_MAX_THREADS ? processors : LK_MAX_THREADS);
    LK_RETURN_NOT_OK(read_number("LATCHKEY_THREADS", false, 1, LK_MAX_THREADS, &threads, error));
    out->threads = (int32_t)threads;
  }
  if (out->cache_entries == LK_UNSET) {
    out->cache_entries = DEFAULT_ENTRIES;
    LK_RETURN_NOT_OK(read_number("LATCHKEY_CACHE_ENTRIES", false, 0, LK_UNLIMITED - 1,
                                 &out->cache_entries, error));
  }
  if (out->cache_bytes == LK_UNSET) {
    out->cache_bytes = DEFAULT_BYTES;
    LK_RETURN_NOT_OK(
        read_number("LATCHKEY_CACHE_BYTES", true, 0, LK_UNLIMITED - 1, &out->cache_bytes, error));
  }
  if (out->weights_bytes == LK_UNSET) out->weights_bytes = LK_UNLIMITED;
  if (out->memory_bytes == LK_UNSET || out->memory_bytes == 0) {
    out->memory_bytes = lk_machine_memory();
    LK_RETURN_NOT_OK(
        read_number("LATCHKEY_MEMORY_BYTES", true, 1, LK_UNLIMITED - 1, &out->memory_bytes, error));
  }
  if (out->verbose == -1) {
    uint64_t verbose = LK_LOG_WARNING;
    LK_RETURN_NOT_OK(read_number("LATCHKEY_VERBOSE", false, 0, LK_LOG_DEBUG, &verbose, error));
    out->verbose = (int32_t)verbose;
  }
  return LK_OK;
}
