/* Around what engines build and destroy: meanwhile they may hold locks of their own, and fill
 * tables at their first use. A fork waits until nobody is between these two, and nobody enters
 * meanwhile. What is found does not come here. Pairs are not nested, and no host code runs in
 * between but an engine's. */
#pragma once

void lk_guard_begin(void);
void lk_guard_end(void);
