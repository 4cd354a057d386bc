/* Bytes side by side, moved or filled, of which there may be so many that it takes long: the thread
 * looks at what may stop it within (base/team/look.h). */
#pragma once

#include "base/team/look.h"
#include "ops/kernel/copy_block.h"

static inline __attribute__((always_inline)) void
lk_copy_long(void *restrict to, const void *restrict from, size_t bytes) {
  while (__builtin_expect(bytes > LK_LOOK_BYTES, 0)) {
    lk_copy_block(to, from, LK_LOOK_BYTES);
    if (lk_team_is_stopped()) return;
    to = (char *)to + LK_LOOK_BYTES;
    from = (const char *)from + LK_LOOK_BYTES;
    bytes -= LK_LOOK_BYTES;
  }
  lk_copy_block(to, from, bytes);
}

static inline void lk_fill_long(void *to, int byte, size_t bytes) {
  while (__builtin_expect(bytes > LK_LOOK_BYTES, 0)) {
    memset(to, byte, LK_LOOK_BYTES);
    if (lk_team_is_stopped()) return;
    to = (char *)to + LK_LOOK_BYTES;
    bytes -= LK_LOOK_BYTES;
  }
  memset(to, byte, bytes);
}
