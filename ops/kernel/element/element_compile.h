/* From the steps of an element program to calls of loops: a part of planning. */
#pragma once

#include "ops/kernel/element/element.h"
#include "ops/kernel/element/element_lie.h"

/* Sets everything of `out` but blocks, places of registers, and what lies behind the numbers.
 * `lies`: of inputs and then outputs. */
lk_status lk_element_compile(const lk_element_program *program, const lk_element_lie *lies,
                             lk_element *out, lk_error *error);
