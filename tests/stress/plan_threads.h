/* What no public function tells: for how many threads a plan and its primitives were built. */
#pragma once

#include <latchkey/latchkey.h>

/* 0: they are not all for the same number. */
int32_t stress_plan_threads(const lk_plan *plan);
