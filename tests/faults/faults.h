/* Fails the nth call of one kind of what the C library and the system give. A program that links
 * this library, or gets it by LD_PRELOAD, has its functions in front of the C library's.
 *
 * Only calls of the process that has armed it count, from any thread, and only while it is neither
 * paused nor disarmed. One test at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum fault_kind {
#define FAULT_KIND(symbol, text) FAULT_##symbol,
#include "tests/faults/kinds.inc"
#undef FAULT_KIND
  FAULT_N_KINDS
} fault_kind;

const char *fault_kind_name(fault_kind kind);

/* The nth call fails (1: the next one); with `on`, all that follow it too. Starts paused. */
void fault_arm(fault_kind kind, size_t nth, bool on);
void fault_resume(void);
void fault_pause(void);
size_t fault_disarm(void);  /* returns how many calls came */
bool fault_has_fired(void); /* since fault_arm */

/* From now on only calls count that code of Latchkey's libraries makes itself: those loaded now, in
 * which a host's code is not. False: none is loaded. malloc is asked for by other functions of the
 * C library's too, and by aligned_alloc. */
bool fault_limit_to_ours(void);

/* What the process has at this moment, whoever has asked for it. */
typedef struct fault_live {
  long blocks; /* of memory */
  long maps;   /* bytes that are mapped */
} fault_live;

fault_live fault_live_get(void);

/* A program that is started with LD_PRELOAD reads its fault from this variable, "KIND NTH ON", and
 * writes "CALLS FIRED" to the file that the other one names when it exits. */
#define FAULT_VARIABLE "LK_TEST_FAULT"
#define FAULT_REPORT_VARIABLE "LK_TEST_FAULT_REPORT"

#ifdef __cplusplus
}
#endif
