/* What op_run_alloc needs of a frame beyond the table's functions. */
#ifndef LK_PLUGIN_FRAME_H
#define LK_PLUGIN_FRAME_H

#include <latchkey/latchkey.h>

const lk_executor *lk_frame_executor(const lk_frame *frame);
/* Forgets the slot that was attached last. */
void lk_frame_detach(lk_frame *frame);

#endif
