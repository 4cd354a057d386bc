/* What oneDNN allocates while this thread builds something: the linker sends its calls, and those
 * of its C++ library, here (CMakeLists.txt: --wrap). */
#pragma once

#include <stdint.h>

void lk_counted_begin(void);
/* Bytes that were allocated since, less those that were freed. Mapped memory counts as far as it is
 * resident. */
uint64_t lk_counted_end(void);
