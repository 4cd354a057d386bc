/* Which input a node may write its output over. */
#pragma once

#include "executor_glue/run/plan_builder.h"

/* The first input that output 0 may be written over: nobody reads its storage later, and it
 * probably has the output's shape, which is certain only after binding. -1: there is none.
 * Reads the wish for output 0 (builder->wishes). */
int32_t lk_choose_in_place(const lk_plan_builder *builder, int32_t node);
