/* What a plan does that only moves blocks of bytes from inputs to outputs, so that an executor may
 * place values within each other instead of running it. */
#pragma once

#include "ops/plan/plan_body.h"

/* 0: it does more, or some bytes of an output come from nowhere. */
uint16_t lk_plan_count_blocks(const lk_plan_body *body);
/* Block `index`, of so many. */
lk_block lk_plan_describe_block(const lk_plan_body *body, uint32_t index);
