/* Contexts that keep the socket of their process, where their options ask for it. */
#pragma once

#include <latchkey/latchkey.h>

/* As context_create and context_destroy of lk_api. */
lk_status lk_served_context_create(const lk_context_options *options, lk_context **out_context,
                                   lk_error *error);
void lk_served_context_destroy(lk_context *context);
