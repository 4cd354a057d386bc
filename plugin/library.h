/* oneDNN's process-wide settings: every context holds the library. */
#ifndef LK_PLUGIN_LIBRARY_H
#define LK_PLUGIN_LIBRARY_H

#include <latchkey/base.h>

/* LK_VERSION: oneDNN is too old, and nothing is held. */
lk_status lk_library_retain(lk_error *error);
void lk_library_release(void);

#endif
