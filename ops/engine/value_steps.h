/* Steps of tasks by an engine that builds values. */
#pragma once

#include "ops/engine/value.h"

/* The steps of a task, or none where `entry` leaves it. */
lk_status lk_plan_value(lk_planner *planner, const lk_engine_entry *entry, const lk_task *task,
                        lk_engine_answer *out_answer, lk_error *error);
