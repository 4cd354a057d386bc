/* Where the values of options come from: the struct first, then the environment, then the
 * default. */
#pragma once

#include <latchkey/latchkey.h>

/* `given` may be NULL. */
lk_status lk_context_options_read(const lk_context_options *given, lk_context_options *out,
                                  lk_error *error);
/* Hands what LATCHKEY_PROCESSORS says to the budget. */
lk_status lk_processors_read(lk_error *error);
