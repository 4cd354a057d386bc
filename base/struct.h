/* Structs that cross the ABI: each begins with its size, as the caller's header knew it. */
#pragma once

#include <latchkey/base.h>

/* Copies a caller's struct `from` over `to`, which holds the defaults and is `size` bytes long. A
 * longer struct is accepted when what this library does not know of it is zero; a struct_size of 0
 * is LK_INVALID_ARGUMENT. The sentence names `what`. */
lk_status lk_struct_read(void *to, size_t size, const void *from, const char *what,
                         lk_error *error);
/* Copies as much of `from` (`size` bytes) as the caller's struct has room for, and sets what a
 * longer one has behind it to zero; its struct_size stays. */
lk_status lk_struct_write(void *to, const void *from, size_t size, const char *what,
                          lk_error *error);
