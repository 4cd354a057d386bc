/* What the functions in front of the C library's share. */
#pragma once

#include "tests/faults/faults.h"

#ifndef __USE_GNU
#error "RTLD_NEXT needs _GNU_SOURCE"
#endif
#include <dlfcn.h>
#include <errno.h>

/* Counts a call of the function that asks, and tells whether it must fail. */
#define fault_takes(kind) fault_takes_of((kind), __builtin_return_address(0))
bool fault_takes_of(fault_kind kind, const void *caller);

void fault_count_maps(long bytes);

/* What most functions of the system return then. */
static inline int fault_fail(int code) {
  errno = code;
  return -1;
}

/* The C library's own function, found at the first call: there are calls before any constructor. */
#define FAULT_NEXT(result, name, ...)                                                              \
  static result (*next)(__VA_ARGS__);                                                              \
  if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, #name)
