/* Memory that is mapped and may be gone all the same: of a file that was cut. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Whether the last one of `size` bytes of mapped memory can be read, which goes first when a file
 * is cut: to read it where this says no ends the process with SIGBUS. Where the system does not
 * say, before Linux 5.14, it counts as readable. Any thread; a call of the system, of half a
 * microsecond. */
bool lk_is_readable(const void *bytes, size_t size);
