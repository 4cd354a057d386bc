/* File names for a model's outputs, whose own names may hold anything. */
#pragma once

#include <latchkey/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One name for each output, without folder and extension: letters, digits, '.', '_' and '-' are
 * kept, every other byte becomes '_', and so does a '.' in front; at most 200 bytes. A name that an
 * earlier output has (whatever the case of its letters) gets "-2", "-3" ... behind it. */
lk_status output_names_create(const lk_allocator *allocator, const lk_named_tensor *outputs,
                              uint32_t n_outputs, char ***out, lk_error *error);
void output_names_destroy(const lk_allocator *allocator, char **names, uint32_t n_outputs);

#ifdef __cplusplus
}
#endif
