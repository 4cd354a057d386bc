/* What convolutions and products of bf16 and f16 take by oneDNN, beside the library's kernels. */
#pragma once

#include <latchkey/engine.h>
#include <stdbool.h>

/* The part of native's time that such a work takes; above 1 where it takes longer or is not known.
 * `is_twice`: the processor computes twice as many bf16 as f32 in a time. */
double lk_onednn_of_half_product(const lk_work *work, bool is_twice);
