/* Into how many tasks loops are cut, where that is a choice: each task costs something, and those
 * of a loop should keep all processors busy until its end.
 *
 * The numbers are for a process of up to LK_SHARING_FEW processors. With more, there are more tasks
 * in proportion, and as many parts of scratch memory as processors. What a loop computes does not
 * depend on it. */
#pragma once

#include <stdint.h>

enum { LK_SHARING_FEW = 16 };

/* `tasks`: for few processors. Always the same in a process, so that plans of one size are. */
int64_t lk_sharing_tasks(int64_t tasks);

/* Parts of scratch memory, each of one thread at a time: `most`, which is more than there are few
 * processors, or one for each processor. */
int64_t lk_sharing_slots(int64_t most);

/* For tests: as if there were so many; 0: those that there are. */
void lk_sharing_set_processors(int processors);
