/* Which element programs need no wider type than that of their operands: a part of planning. */
#pragma once

#include "ops/kernel/element/element_lie.h"
#include "ops/kernel/element/element_program.h"

/* The lk_element_narrow of a program that is computed in a narrow type, with the same results as in
 * its class: all operands have it, or are logical values, and lie side by side, and every step has
 * a loop for it. LK_ELEMENT_NARROWS: there is none. `level`: lk_element_level of its result. */
uint32_t lk_element_narrow_find(const lk_element_program *program, const lk_element_lie *lies,
                                uint32_t level);
