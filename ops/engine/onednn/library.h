/* Which oneDNN this is. It is inside the module, or a library of the system: maybe another one than
 * the module was compiled for, and maybe one that others in the process use, too. */
#pragma once

#include <latchkey/base.h>
#include <stdbool.h>

/* LK_NOT_FOUND: it is too old, or computes by threads of its own. Then the module is of no use. */
lk_status lk_onednn_library_check(lk_error *error);

/* Whether the module alone uses it, so that its settings, which are the process's, are the
 * module's. False, too, where that cannot be told. */
bool lk_onednn_library_is_ours(void);
