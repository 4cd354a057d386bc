/* Engines that come from outside: modules beside the library, and those of hosts. */
#pragma once

#include <latchkey/latchkey.h>

/* Chooses the engine of the context by name. One that is not there yet is opened from the module
 * liblatchkey_<name>.so, which is looked for beside the library, and then where the system looks
 * for libraries. LK_NOT_FOUND: it is not there; LK_VERSION, or what the module says. "auto": that
 * of oneDNN, where sizes recur; without its module native alone. */
lk_status lk_engine_choose(lk_context *context, const char *name, lk_error *error);
/* As "auto", but the module is opened where a size recurs for the first time. One that is no good
 * is told then, and native computes all. */
lk_status lk_engine_choose_default(lk_context *context, lk_error *error);
