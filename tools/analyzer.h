/* Put before every file that clang-tidy looks at, and into no build: tells its analyzer, which
 * sees one file at a time, that the functions whose work is to fail never return LK_OK. Without
 * it, it follows every failed allocation past its check. */
#include "base/status.h"

#define lk_fail(error, status, ...) ((void)(lk_fail)(error, status, __VA_ARGS__), (status))
#define lk_fail_memory(error, what, bytes)                                                         \
  ((void)(lk_fail_memory)(error, what, bytes), LK_OUT_OF_MEMORY)

/* gcc's own builtin, which clang does not have: any vector of that type. */
#define __builtin_shuffle(a, b, from) ((a) + (b) + (from))
