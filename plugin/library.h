/* oneDNN's process-wide settings: every context holds the library. */
#pragma once

#include <latchkey/base.h>

/* LK_VERSION: oneDNN is too old, and nothing is held. */
lk_status lk_library_retain(lk_error *error);
void lk_library_release(void);
