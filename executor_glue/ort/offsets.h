/* Where ONNX Runtime's objects hold two settings: a session's threads, and whether a run is to end.
 *
 * ONNX Runtime's interface (API 23 to 29) sets both and reads neither. So each is set in an object
 * of our own, and the bytes that change are its place. Where that does not give exactly one place,
 * nothing is known: then threads are Latchkey's default, and a run ends between fused nodes only.
 * The registration says so in a warning.
 */
#pragma once

#include "executor_glue/ort/ort_abi.h"

/* SIZE_MAX: not known. */
typedef struct lk_ort_offsets {
  size_t threads;   /* in OrtSessionOptions, of an int */
  size_t terminate; /* in OrtRunOptions, of a byte */
} lk_ort_offsets;

/* Never fails. */
lk_ort_offsets lk_ort_offsets_find(const OrtApi *api);

/* How many threads the session gives an operator. 0: it does not say, or it is not known. */
int32_t lk_ort_session_threads(const lk_ort_offsets *offsets, const OrtSessionOptions *options);

/* The byte that becomes 1 when the run is to end; NULL: not known. Valid while the run is on. */
const volatile uint8_t *lk_ort_run_terminate(const lk_ort_offsets *offsets,
                                             const OrtRunOptions *options);
