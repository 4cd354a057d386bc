/* option_info: the options of a context as they are in force, and where they come from. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/names.h"
#include "base/require.h"
#include "base/struct.h"
#include "base/team/budget.h"
#include "base/team/processors.h"
#include "ops/kernel/isa.h"
#include "plugin/internal.h"
#include "plugin/table.h"

static const struct {
  const char *name, *variable;
} names[LK_OPTION_COUNT] = {
    [LK_OPTION_CACHE_MODE] = {"cache_mode", "LATCHKEY_CACHE"},
    [LK_OPTION_CACHE_ENTRIES] = {"cache_entries", "LATCHKEY_CACHE_ENTRIES"},
    [LK_OPTION_CACHE_BYTES] = {"cache_bytes", "LATCHKEY_CACHE_BYTES"},
    [LK_OPTION_WEIGHTS_BYTES] = {"weights_bytes", ""},
    [LK_OPTION_MEMORY_BYTES] = {"memory_bytes", "LATCHKEY_MEMORY_BYTES"},
    [LK_OPTION_THREADS] = {"threads", "LATCHKEY_THREADS"},
    [LK_OPTION_VERBOSE] = {"verbose", "LATCHKEY_VERBOSE"},
    [LK_OPTION_SOCKET] = {"socket", "LATCHKEY_SOCKET"},
    [LK_OPTION_ENGINE] = {"engine", "LATCHKEY_ENGINE"},
    [LK_OPTION_TUNING] = {"tuning", "LATCHKEY_TUNING"},
    [LK_OPTION_PROCESSORS] = {"processors", "LATCHKEY_PROCESSORS"},
    [LK_OPTION_MAX_ISA] = {"max_isa", "LATCHKEY_MAX_ISA"},
};

static void set_number(lk_option_info *info, uint64_t number) {
  if (number == LK_UNLIMITED) {
    (void)snprintf(info->text, sizeof info->text, "unlimited");
  } else {
    (void)snprintf(info->text, sizeof info->text, "%" PRIu64, number);
  }
}

static void set_word(lk_option_info *info, const char *word) {
  (void)snprintf(info->text, sizeof info->text, "%s", word);
}

/* A limit that may have been changed since the context was made. */
static void set_limit(lk_option_info *info, uint64_t made, uint64_t now) {
  set_number(info, now);
  if (made != now) info->source = LK_FROM_CALL;
}

static uint32_t source_of_processors(void) {
  switch (lk_budget_chosen_by()) {
  case LK_BUDGET_SET:
    return LK_FROM_CALL;
  case LK_BUDGET_PROPOSED:
    return LK_FROM_ENVIRONMENT;
  default:
    return lk_processors_by_quota() ? LK_FROM_CGROUP : LK_FROM_MACHINE;
  }
}

static void set_isa(lk_option_info *info) {
  const char *text = getenv("LATCHKEY_MAX_ISA");
  set_word(info, lk_isa_in_use());
  info->source = text != NULL && text[0] != '\0' ? LK_FROM_ENVIRONMENT : LK_FROM_MACHINE;
}

static void fill(lk_context *context, lk_option option, lk_option_info *info) {
  const lk_context_options *made = &context->made;
  lk_stats now = {.struct_size = sizeof now};
  lk_weights_stats weights = {0};
  lk_cache_get_stats(context->env.cache, NULL, &now);
  switch (option) {
  case LK_OPTION_CACHE_MODE:
    set_word(info, lk_cache_mode_name(made->cache_mode));
    return;
  case LK_OPTION_CACHE_ENTRIES:
    set_limit(info, made->cache_entries, now.capacity_entries);
    return;
  case LK_OPTION_CACHE_BYTES:
    set_limit(info, made->cache_bytes, now.capacity_bytes);
    return;
  case LK_OPTION_WEIGHTS_BYTES:
    lk_weights_get_stats(context->env.weights, &weights);
    set_limit(info, made->weights_bytes, weights.capacity_bytes);
    return;
  case LK_OPTION_MEMORY_BYTES:
    set_limit(info, made->memory_bytes, lk_memory_budget_state(&context->memory).limit);
    return;
  case LK_OPTION_THREADS:
    set_number(info, (uint64_t)made->threads);
    if (info->source == LK_FROM_DEFAULT) info->source = source_of_processors();
    return;
  case LK_OPTION_VERBOSE: /* LK_LOG_OFF is 0 to who reads it, as in LATCHKEY_VERBOSE */
    set_number(info, made->verbose > 0 ? (uint64_t)made->verbose : 0);
    return;
  case LK_OPTION_SOCKET:
    set_word(info, "off");
    if (context->served_at != NULL) context->served_at(info->text, sizeof info->text);
    return;
  case LK_OPTION_ENGINE:
    set_word(info, lk_engines_chosen(context->env.engines));
    if (atomic_load(&context->engine_by_call)) info->source = LK_FROM_CALL;
    return;
  case LK_OPTION_TUNING:
    set_word(info, context->tuning != NULL ? context->tuning : "none");
    return;
  case LK_OPTION_PROCESSORS:
    set_number(info, (uint64_t)lk_budget_processors());
    info->source = source_of_processors();
    return;
  default:
    set_isa(info);
    return;
  }
}

lk_status lk_option_info_get(lk_context *context, uint32_t index, lk_option_info *out,
                             lk_error *error) {
  LK_REQUIRE("option_info", error, context, out);
  if (index >= LK_OPTION_COUNT) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to describe option %" PRIu32 ": there are %d, numbered from 0", index,
                   LK_OPTION_COUNT);
  }
  lk_option_info info = {
      .struct_size = sizeof info, .name = names[index].name, .variable = names[index].variable};
  if (index < LK_OPTION_PROCESSORS) info.source = context->sources[index];
  fill(context, (lk_option)index, &info);
  return lk_struct_write(out, &info, sizeof info, "lk_option_info", error);
}
