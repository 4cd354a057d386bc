/* Two things that a provider must know and ONNX Runtime's interface (API 23 to 29) does not tell it:
 * how many threads a session gives an operator, and whether a run is to be terminated.
 *
 * Both can be set through the interface. So where they lie is found out by setting them in objects of
 * our own and looking which bytes change. Where that does not give exactly one answer, nothing is
 * known: Latchkey's own default for threads, and a run ends between fused nodes only.
 */
#ifndef LK_ORT_PEEK_H
#define LK_ORT_PEEK_H

#include "executor_glue/ort/ort.h"

typedef struct lk_ort_peek {
  size_t threads_offset;   /* in OrtSessionOptions, of an int; SIZE_MAX: not known */
  size_t terminate_offset; /* in OrtRunOptions, of a byte; SIZE_MAX: not known */
} lk_ort_peek;

/* Never fails. */
void lk_ort_peek_find(const lk_ort *ort, lk_ort_peek *out);

/* 0: the session does not say, or it is not known. */
int32_t lk_ort_peek_threads(const lk_ort_peek *peek, const OrtSessionOptions *options);

/* The byte that becomes 1 when the run is to end; NULL: not known. Valid while the run is on. */
const volatile uint8_t *lk_ort_peek_terminate(const lk_ort_peek *peek,
                                              const OrtRunOptions *options);

#endif
