/* Engines that come from outside: modules beside the library, and those of hosts. */
#include "plugin/engines.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/require.h"
#include "base/status.h"
#include "base/struct.h"
#include "base/team/team.h"
#include "ops/engine/guard.h"
#include "plugin/internal.h"
#include "plugin/table.h"

enum { MOST_PATH = 4096, MOST_FILE = 64 };

static int is_stopped(void) {
  return lk_team_is_stopped() ? 1 : 0;
}

static const lk_engine_team team = {.struct_size = sizeof team,
                                    .run = lk_team_run,
                                    .threads = lk_team_threads,
                                    .rank = lk_team_rank,
                                    .size = lk_team_size,
                                    .is_stopped = is_stopped};

/* ---- modules ---- */

/* The path of `file` beside this library. False: it does not fit, or nobody knows where that is. */
static bool find_beside(const char *file, char path[MOST_PATH]) {
  Dl_info self;
  if (dladdr((const void *)&team, &self) == 0 || self.dli_fname == NULL) return false;
  const char *slash = strrchr(self.dli_fname, '/');
  if (slash == NULL) return false;
  const int length =
      snprintf(path, MOST_PATH, "%.*s/%s", (int)(slash - self.dli_fname), self.dli_fname, file);
  return length > 0 && length < MOST_PATH;
}

static lk_status load(const char *name, lk_engine_open_fn *out_open, lk_error *error) {
  char file[MOST_FILE], path[MOST_PATH];
  const int length = snprintf(file, sizeof file, "liblatchkey_%s.so", name);
  if (length >= (int)sizeof file || strchr(name, '/') != NULL) {
    return lk_fail(error, LK_NOT_FOUND, "failed to choose engine '%.64s': there is none", name);
  }
  /* one that is there and cannot be loaded is not looked for elsewhere */
  const bool is_beside = find_beside(file, path) && access(path, F_OK) == 0;
  void *module = dlopen(is_beside ? path : file, RTLD_NOW | RTLD_LOCAL);
  if (module == NULL) {
    const char *why = dlerror();
    return lk_fail(
        error, LK_NOT_FOUND,
        "failed to choose engine '%s': its module cannot be loaded (%.300s); 'native' is "
        "always there%s",
        name, why != NULL ? why : "no reason given",
        strcmp(name, "onednn") == 0 ? ", and `tools/setup` and a new build make "
                                      "'onednn'"
                                    : ", and the library has 'auto' and 'onednn' besides");
  }
  /* it stays loaded, as threads may be inside when the last context goes */
  void *found = dlsym(module, LK_ENGINE_OPEN);
  if (found == NULL) {
    (void)dlclose(module);
    return lk_fail(error, LK_NOT_FOUND,
                   "failed to choose engine '%s': %s has no function %s, so it is no engine", name,
                   file, LK_ENGINE_OPEN);
  }
  memcpy(out_open, &found, sizeof found);
  return LK_OK;
}

static lk_status open_module(lk_context *context, const char *name, lk_error *error) {
  lk_engine_open_fn open = NULL;
  lk_engine engine = {.struct_size = sizeof engine};
  LK_RETURN_NOT_OK(load(name, &open, error));
  lk_guard_begin();
  lk_status status = open(LK_ENGINE_VERSION, &team, context->env.threads, &engine, error);
  lk_guard_end();
  LK_RETURN_NOT_OK(status);
  if (engine.name == NULL || strcmp(engine.name, name) != 0) {
    status =
        lk_fail(error, LK_NOT_FOUND, "failed to choose engine '%s': its module has engine '%.64s'",
                name, engine.name != NULL ? engine.name : "NULL");
  } else {
    status = lk_engines_add(context->env.engines, &engine, error);
  }
  if (status != LK_OK && engine.close != NULL) engine.close(engine.self);
  return status;
}

/* Of the default, which nobody has asked for: one that is no good is logged, and does no harm. */
static lk_status open_later(void *arg) {
  lk_context *context = arg;
  lk_error error;
  lk_status status = open_module(context, "onednn", &error);
  if (status == LK_OK) status = lk_engines_choose(context->env.engines, "onednn", true, &error);
  if (status != LK_OK) lk_context_log(context, LK_LOG_WARNING, error.message);
  return status;
}

lk_status lk_engine_choose_default(lk_context *context, lk_error *error) {
  char path[MOST_PATH];
  const bool is_there = find_beside("liblatchkey_onednn.so", path) && access(path, R_OK) == 0;
  if (!is_there) return lk_engines_choose(context->env.engines, "native", false, error);
  return lk_engines_choose_later(context->env.engines, open_later, context, error);
}

/* What it would be asked for, native computes as well, if not as soon. */
static lk_status choose_auto(lk_context *context, lk_error *error) {
  lk_error why;
  const lk_status status = open_module(context, "onednn", &why);
  if (status != LK_OK && status != LK_NOT_FOUND) {
    return lk_fail(error, status, "%s", why.message);
  }
  if (status != LK_OK) lk_context_log(context, LK_LOG_INFO, why.message);
  const char *name = status == LK_OK ? "onednn" : "native";
  return lk_engines_choose(context->env.engines, name, true, error);
}

lk_status lk_engine_choose(lk_context *context, const char *name, lk_error *error) {
  lk_engines *engines = context->env.engines;
  if (strcmp(name, "auto") == 0) return choose_auto(context, error);
  if (lk_engines_choose(engines, name, false, NULL) == LK_OK) return LK_OK;
  LK_RETURN_NOT_OK(open_module(context, name, error));
  return lk_engines_choose(engines, name, false, error);
}

/* ---- of hosts ---- */

lk_status lk_engine_register(lk_context *context, const lk_engine *engine, uint32_t flags,
                             lk_error *error) {
  LK_REQUIRE("engine_register", error, context, engine);
  if (flags != 0 && flags != LK_ENGINE_CHOOSE && flags != LK_ENGINE_AUTO) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to register an engine: flags are 0x%x, only 0x1 (LK_ENGINE_CHOOSE) or "
                   "0x2 (LK_ENGINE_AUTO) is allowed",
                   flags);
  }
  if (flags != 0 && atomic_load(&context->had_executor)) {
    return lk_fail(
        error, LK_BUSY,
        "failed to choose an engine: the context has had an executor, whose plans are by "
        "the former one; choose before the first");
  }
  LK_RETURN_NOT_OK(lk_engines_add(context->env.engines, engine, error));
  if (flags == 0) return LK_OK;
  LK_RETURN_NOT_OK(
      lk_engines_choose(context->env.engines, engine->name, flags == LK_ENGINE_AUTO, error));
  atomic_store(&context->engine_by_call, true);
  return LK_OK;
}

const char *lk_engine_chosen(const lk_context *context) {
  return lk_engines_chosen(context->env.engines);
}

lk_status lk_engine_left(lk_context *context, uint32_t index, lk_engine_left_info *out_info,
                         lk_error *error) {
  LK_REQUIRE("engine_left", error, context, out_info);
  lk_engine_left_info found = {.struct_size = sizeof found};
  if (!lk_engines_left(context->env.engines, index, &found)) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to tell why works were left: reason %u is asked for, there are fewer",
                   index);
  }
  return lk_struct_write(out_info, &found, sizeof found, "a reason of an engine", error);
}

lk_status lk_engine_choice(lk_context *context, uint32_t index, lk_engine_choice_info *out_info,
                           lk_error *error) {
  LK_REQUIRE("engine_choice", error, context, out_info);
  lk_engine_choice_info found = {.struct_size = sizeof found};
  if (!lk_engines_choice(context->env.engines, index, &found)) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to tell what was chosen: choice %u is asked for, there are fewer",
                   index);
  }
  return lk_struct_write(out_info, &found, sizeof found, "a choice of an engine", error);
}
