/* The rule of `auto`. */
#include "ops/engine/choice.h"

#include <stddef.h>

/* Of native's time. Two measurements of one thing differ by some hundredths. An estimate is of no
 * machine in particular; and what it is right by must be worth a second copy of the weights, which
 * the other engine packs in its own way. */
#define MOST_MEASURED 0.95
#define MOST_ESTIMATED 0.75
#define EXPECTED_RUNS 1000.0

lk_choice lk_choose(const lk_choosing *of) {
  const double ratio = of->run_ratio > 0 ? of->run_ratio : 1;
  lk_choice made = {.native_ns = of->native_ns,
                    .engine_ns = of->native_ns * ratio + of->reorder_ns,
                    .build_ns = of->build_ns,
                    .reorder_ns = of->reorder_ns};
  made.estimated_native_ns = made.native_ns;
  made.estimated_engine_ns = made.engine_ns;
  if (of->measured_native_ns > 0 && of->measured_engine_ns > 0) {
    made.is_measured = true;
    made.native_ns = of->measured_native_ns;
    made.engine_ns = of->measured_engine_ns + of->reorder_ns;
  }
  const double most = made.native_ns * (made.is_measured ? MOST_MEASURED : MOST_ESTIMATED);
  made.is_engine = made.engine_ns + of->build_ns / EXPECTED_RUNS <= most;
  if (made.is_engine) return made;
  made.reason = made.engine_ns <= most ? "its build costs more than it saves"
                : made.is_measured     ? "it takes more than 0.95 of native's time"
                                       : "it is estimated to take more than 0.75 of native's time";
  return made;
}
