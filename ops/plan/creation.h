/* Around what oneDNN creates: while it does, it holds locks of its own, and fills tables at their first use.
 * A fork waits until nobody is between these two, and nobody enters meanwhile. Hits do not come here.
 * Not nested; no host code in between. */
#ifndef LK_OPS_PLAN_CREATION_H
#define LK_OPS_PLAN_CREATION_H

void lk_creation_begin(void);
void lk_creation_end(void);

#endif
