/* What no public function tells: for how many threads a plan and its primitives were built. */
#ifndef LK_TESTS_STRESS_PLAN_THREADS_H
#define LK_TESTS_STRESS_PLAN_THREADS_H

#include <latchkey/latchkey.h>

/* 0: they are not all for the same number. */
int32_t stress_plan_threads(const lk_plan *plan);

#endif
