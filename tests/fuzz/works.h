/* Works (latchkey/engine.h) out of bytes. */
#pragma once

#include <latchkey/engine.h>
#include <stddef.h>
#include <stdint.h>

/* What is left of an input. Behind its end are zeros. */
typedef struct fuzz_bytes {
  const uint8_t *data;
  size_t size;
} fuzz_bytes;

uint64_t fuzz_take(fuzz_bytes *from, size_t bytes); /* at most 8 */
/* 0 to `most`. */
uint32_t fuzz_take_up_to(fuzz_bytes *from, uint32_t most);

/* With any numbers in it, as far as a key can be made of it: its kind, roles, ranks and numbers of
 * post-ops are in range, an operand is there, and what it does not have is 0. */
lk_work fuzz_any_work(fuzz_bytes *from);

/* One that an operator may want: sizes fit each other as the kind says, each tensor has elements
 * and is of less than 2^47 bytes. All that is open is from the bytes. */
lk_work fuzz_fitting_work(fuzz_bytes *from);
