/* The rule of `auto`. */
#include "ops/engine/choice.h"

#include <stddef.h>

/* Of native's time. Two measurements of one thing differ by some hundredths, and a layer that is
 * tuned is to take at most 1.03 of the better engine's time.
 *
 * The sizes of a class are within a factor of two, and still their ratios differ, by what a call
 * costs besides its work, by rests of blocks, by caches: one work in ten takes more than 1.09 to
 * 1.18 of what its class says. That is of three models (a text recognizer, MobileNetV3 of f32 and
 * of bytes) at 12 to 14 sizes with one thread, each work against the sums of the others of its
 * class. Where these said at most 0.9, none took longer than native (of 8); up to 0.95, one in
 * eight (of 42, none by more than 0.05), up to 1, one in five (of 127). A wrong choice costs a
 * build and a second copy of the weights each time, so it is 0.9.
 *
 * An estimate is of no machine in particular; and what it is right by must be worth a second copy
 * of the weights, which the other engine packs in its own way. */
#define MOST_MEASURED 0.97
#define MOST_OF_CLASS 0.9
#define MOST_ESTIMATED 0.75
#define EXPECTED_RUNS 1000.0

static double most_of(const lk_choice *made) {
  const double most = made->is_of_class ? MOST_OF_CLASS : MOST_ESTIMATED;
  return made->is_measured ? MOST_MEASURED : most;
}

/* Why native computes it: the engine takes more than most_of(). */
static const char *dear_reason(const lk_choice *made) {
  if (made->is_measured) return "it takes more than 0.97 of native's time";
  if (made->is_of_class) return "its size class takes more than 0.9 of native's time";
  return "it is estimated to take more than 0.75 of native's time";
}

/* In the nanoseconds of the times that are compared: an estimate of native may be far from what it
 * takes here, which the class tells. */
static double build_share(const lk_choosing *of, const lk_choice *made) {
  const double share = of->build_ns / EXPECTED_RUNS;
  return made->is_of_class ? share * (of->native_ns / of->class_native_ns) : share;
}

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
  } else if (of->class_native_ns > 0 && of->class_engine_ns > 0) {
    made.is_of_class = true;
    made.engine_ns = of->native_ns * (of->class_engine_ns / of->class_native_ns) + of->reorder_ns;
  }
  const double most = made.native_ns * most_of(&made);
  made.is_engine = made.engine_ns + build_share(of, &made) <= most;
  if (made.is_engine) return made;
  made.reason = made.engine_ns <= most ? "its build costs more than it saves" : dear_reason(&made);
  return made;
}
