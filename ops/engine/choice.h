/* Whether native or an engine computes a work, where `auto` may choose. */
#pragma once

#include <stdbool.h>

/* What is known of a work, in nanoseconds. */
typedef struct lk_choosing {
  double native_ns; /* estimated */
  double run_ratio; /* what the engine takes beside that, as it says; 0: it does not say */
  /* Estimated: reorders that bring tensors into the layouts that it wants. Where it was measured
   * its neighbours were of the engine, too, and the tensors lay so; but at the ends of a graph
   * measured times have reorders, which count twice then. */
  double reorder_ns;
  double build_ns;
  double measured_native_ns, measured_engine_ns; /* 0: not measured */
  /* Of others of the size class, in the mean; 0: none was measured. */
  double class_native_ns, class_engine_ns;
} lk_choosing;

typedef struct lk_choice {
  bool is_engine, is_measured;
  bool is_of_class;            /* not measured: `engine_ns` is by the ratio of its size class */
  double native_ns, engine_ns; /* that were compared */
  double build_ns;
  /* estimated, also where it was measured; the first two as they would have been compared */
  double estimated_native_ns, estimated_engine_ns, reorder_ns;
  const char *reason; /* for people, why native computes it; NULL: it does not */
} lk_choice;

/* A pure function, and no clock is read: equal processes choose equally. What was measured of the
 * work decides; else what was measured of its size class; else an estimate. The engine is chosen
 * where it takes a twentieth less time at least, by its class a tenth, by an estimate a quarter,
 * its build shared among a thousand runs: a size that is fixed or recurs. */
lk_choice lk_choose(const lk_choosing *of);
