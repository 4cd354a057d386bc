/* Who makes the steps of a task: the engine that is chosen, and native for what that leaves. */
#pragma once

#include "ops/plan/work.h"

/* For lk_ops_env. */
extern const lk_planning lk_engines_planning;
