/* Connected parts of nodes, as a forest (union-find): parents[n] of each; a root is its own. */
#pragma once

#include <stdint.h>

static inline int32_t lk_ort_part_root(int32_t *parents, int32_t n) {
  while (parents[n] != n) {
    parents[n] = parents[parents[n]];
    n = parents[n];
  }
  return n;
}
static inline void lk_ort_part_join(int32_t *parents, int32_t a, int32_t b) {
  parents[lk_ort_part_root(parents, a)] = lk_ort_part_root(parents, b);
}
