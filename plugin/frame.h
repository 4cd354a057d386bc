/* What op_run_alloc needs of a frame beyond the table's functions. */
#pragma once

#include <latchkey/latchkey.h>

const lk_executor *lk_frame_executor(const lk_frame *frame);
/* Forgets the slot that was attached last. */
void lk_frame_detach(lk_frame *frame);
