/* Where the runs that are on in a thread say whether they are to end.
 *
 * A run of ONNX Runtime begins and ends on one thread. While it is on, whatever the host has in it
 * (an operator of its own, a logger, an allocator) may run another session on that thread, or the
 * same one: such a run ends first, and the outer one goes on. Operators that ONNX Runtime hands to
 * other threads find none: they can be ended between fused nodes only. */
#pragma once

#include <stdint.h>

/* Of more runs within each other, the further ones are ended between fused nodes only, too. */
enum { LK_ORT_NESTED_RUNS = 16 };

/* A run begins on the calling thread. `stop` is not 0 once it is to end; NULL: nothing says so. */
void lk_ort_run_enter(const volatile uint8_t *stop);
/* The run that began last on the calling thread ends. */
void lk_ort_run_leave(void);
/* That of the innermost run on the calling thread; NULL: there is none. */
const volatile uint8_t *lk_ort_run_stop(void);
