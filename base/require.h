/* Arguments that must not be NULL, refused by name. */
#pragma once

#include <stdbool.h>

#include "base/status.h"

/* LK_INVALID_ARGUMENT, which names the first of the pointers behind `error` that is NULL. They are
 * plain names of parameters; `call` is the function that the host has called. */
#define LK_REQUIRED(call, error, ...)                                                              \
  lk_required((const bool[]){__VA_ARGS__}, sizeof((const bool[]){__VA_ARGS__}), #__VA_ARGS__,      \
              call, error)
#define LK_REQUIRE(call, error, ...) LK_RETURN_NOT_OK(LK_REQUIRED(call, error, __VA_ARGS__))
/* The same where the header has other names than the definition: `names`, separated by ", ". */
#define LK_REQUIRE_AS(call, names, error, ...)                                                     \
  LK_RETURN_NOT_OK(lk_required((const bool[]){__VA_ARGS__}, sizeof((const bool[]){__VA_ARGS__}),   \
                               names, call, error))

/* Names argument `index` of `names`, which are separated by commas. */
lk_status lk_fail_null(const char *names, size_t index, const char *call, lk_error *error);

/* Inline: where all are given, which is nearly always, it costs a comparison for each. */
static inline lk_status lk_required(const bool *given, size_t count, const char *names,
                                    const char *call, lk_error *error) {
  for (size_t i = 0; i < count; i++) {
    if (!given[i]) return lk_fail_null(names, i, call, error);
  }
  return LK_OK;
}
