/* The names that values of the ABI's enumerations have in keys, options and reports. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NULL: there is no such value. */
const char *lk_kind_name(uint64_t kind);       /* an lk_kind */
const char *lk_post_op_name(uint64_t kind);    /* an lk_post_op_kind */
const char *lk_function_name(uint64_t kind);   /* an lk_post_op_kind, or an lk_function */
const char *lk_cache_mode_name(uint64_t mode); /* an lk_cache_mode, but LK_CACHE_DEFAULT */

#ifdef __cplusplus
}
#endif
