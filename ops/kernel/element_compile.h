/* From the steps of an element program to calls of loops: a part of planning. */
#pragma once

#include "ops/kernel/element.h"

/* Sets everything of `out` but blocks, places of registers, and what lies behind the numbers. `levels` are those of the
 * inputs (lk_element_level), `col_strides` the bytes from element to element of inputs and then
 * outputs. */
lk_status lk_element_compile(const lk_element_program *program, const uint8_t *levels,
                             const int64_t *col_strides, lk_element *out, lk_error *error);
