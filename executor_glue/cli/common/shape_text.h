/* The shapes of a request as text, in the words of --shape. */
#pragma once

#include <stdio.h>

#include <latchkey/session.h>

/* Writes "x=1x3x48x320 mask=1x320", names escaped (base/text.h). LK_OUT_OF_MEMORY. */
lk_status shape_text_write(const lk_named_tensor *inputs, uint32_t count, FILE *stream,
                           lk_error *error);
/* The same, which the caller gives to free(). */
lk_status shape_text_create(const lk_named_tensor *inputs, uint32_t count, char **out_text,
                            lk_error *error);
