/* What oneDNN takes beside the library's own kernels, as measured. */
#pragma once

#include <latchkey/engine.h>

#include "ops/engine/onednn/module.h"

/* Sets run_ratio and build_ns of an offer of the work. */
void lk_onednn_estimate(const lk_onednn *self, const lk_work *work, lk_offer *offer);
