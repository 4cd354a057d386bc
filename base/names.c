#include "base/names.h"

#include <latchkey/engine.h>
#include <latchkey/latchkey.h>

const char *lk_kind_name(uint64_t kind) {
  static const char *const names[LK_KIND_COUNT] = {
      [LK_KIND_NAME] = "name",
      [LK_KIND_RUN] = "run",
      [LK_KIND_USER] = "user",
      [LK_KIND_VALUE] = "value",
  };
  return kind < LK_KIND_COUNT ? names[kind] : NULL;
}

const char *lk_post_op_name(uint64_t kind) {
  switch (kind) {
#define LK_POST_OP_CASE(symbol, value, name)                                                       \
  case symbol:                                                                                     \
    return name;
    LK_POST_OP_LIST(LK_POST_OP_CASE)
#undef LK_POST_OP_CASE
  default:
    return NULL;
  }
}

const char *lk_function_name(uint64_t kind) {
  switch (kind) {
#define LK_FUNCTION_CASE(symbol, value, name)                                                      \
  case symbol:                                                                                     \
    return name;
    LK_FUNCTION_LIST(LK_FUNCTION_CASE)
#undef LK_FUNCTION_CASE
  default:
    return lk_post_op_name(kind);
  }
}

const char *lk_cache_mode_name(uint64_t mode) {
  static const char *const names[] = {
      [LK_CACHE_OFF] = "off", [LK_CACHE_THREAD] = "thread", [LK_CACHE_SHARED] = "shared"};
  return mode < sizeof names / sizeof names[0] ? names[mode] : NULL;
}
