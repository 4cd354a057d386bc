/* Whether threads share a loop, and into how many tasks it is cut, where that is a choice: each
 * task costs something, and those of a loop should keep all processors busy until its end.
 *
 * The numbers are for a process of up to LK_SHARING_FEW processors. With more, there are more tasks
 * in proportion, and as many parts of scratch memory as processors. What a loop computes does not
 * depend on it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { LK_SHARING_FEW = 16 };
/* As many operations as a thread does while it moves a byte, and while it reads an element, does
 * something cheap to it, and writes it. */
enum { LK_SHARING_BYTE = 4, LK_SHARING_ELEMENT = 16 };

/* `tasks`: for few processors. Always the same in a process, so that plans of one size are. */
int64_t lk_sharing_tasks(int64_t tasks);

/* Parts of scratch memory, each of one thread at a time: `most`, which is more than there are few
 * processors, or one for each processor. */
int64_t lk_sharing_slots(int64_t most);

/* Whether so many floating-point operations of a product are worth waking other threads. */
bool lk_sharing_pays(double operations);
/* The same of other loops: of elements, bytes or taps that each take as long as so many. */
static inline bool lk_sharing_pays_for(int64_t count, double operations) {
  return lk_sharing_pays((double)count * operations);
}
/* The same where only `rows` use each element that is read: few of them wait for it. */
bool lk_sharing_of_rows_pays(double operations, int64_t rows);

/* For tests: as if there were so many; 0: those that there are. */
void lk_sharing_set_processors(int processors);
