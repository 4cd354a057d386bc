/* Weighs an offer against native: for `auto` to choose, and for people. */
#pragma once

#include "ops/engine/engines.h"

/* `work` is as the offer has it, and so in the key of its value; `given` has the layouts in which
 * its tensors lie now, and in which outputs are wished for. LK_OUT_OF_MEMORY. */
lk_status lk_weigh(const lk_planner *planner, const lk_engine_entry *entry, const lk_work *work,
                   const lk_offer *given, const lk_offer *offer, lk_choice *out_choice,
                   lk_error *error);
/* Of all its tensors. */
uint64_t lk_work_bytes(const lk_work *work);
