/* Weighs an offer against native: for `auto` to choose, and for people. */
#pragma once

#include "ops/engine/engines.h"

/* `work` is as the offer has it, and so in the key of its value; `given` has the layouts in which
 * its tensors lie now, and in which outputs are wished for. LK_OUT_OF_MEMORY. */
lk_status lk_weigh(const lk_planner *planner, const lk_engine_entry *entry, const lk_work *work,
                   const lk_offer *given, const lk_offer *offer, lk_choice *out_choice,
                   lk_error *error);
/* What lk_weigh estimates for the reorders that a plan has around a work, by its number in lk_step:
 * nanoseconds. A measured time of the work without it is that of any place. */
double lk_weigh_reorders(const lk_plan_body *body, uint32_t work);
/* Of all its tensors. */
uint64_t lk_work_bytes(const lk_work *work);
