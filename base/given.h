/* What a host hands in, and cannot be trusted to be what it is said to be. */
#pragma once

#include <latchkey/base.h>
#include <stdbool.h>
#include <stddef.h>

/* One of lk_status. */
bool lk_is_status(lk_status given);
/* 1 to `most` letters, digits and characters of `others`; NULL is none. It is not read further. */
bool lk_is_name(const char *given, size_t most, const char *others);
