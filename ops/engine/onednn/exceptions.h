/* oneDNN throws where it has no memory, also out of its functions for C. */
#pragma once

#include <latchkey/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Calls `fn`, and gives what it returns. An exception may end `fn` at any call of oneDNN, so `fn`
 * keeps in `arg` what must be freed. LK_OUT_OF_MEMORY; LK_INTERNAL for what nobody expects; both
 * with the sentence "failed to <what>: oneDNN ...". */
lk_status lk_onednn_try(lk_status (*fn)(void *arg), void *arg, const char *what, lk_error *error);

#ifdef __cplusplus
}
#endif
