/* Into how many shares a primitive's work is cut. Its pool looks between them whether a run is to
 * end. */
#pragma once

#include "ops/engine/onednn/module.h"

/* As many as the threads, or a multiple of that. */
int lk_onednn_shares(const lk_onednn *engine, const lk_work *work);
