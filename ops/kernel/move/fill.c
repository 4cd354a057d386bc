/* Fills: a pattern all over a tensor. */
#include "ops/kernel/move/fill.h"

#include "ops/kernel/repeat.h"

enum { TURN_BYTES = 16 * 1024 };

/* Patterns of a turn. */
static int64_t turn_count(const lk_fill *fill) {
  return fill->size < TURN_BYTES ? (int64_t)(TURN_BYTES / fill->size) : 1;
}

static void fill_turns(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_fill *fill = loop->params;
  const int64_t each = turn_count(fill);
  for (int64_t turn = begin; turn < end; turn++) {
    const int64_t left = fill->count - turn * each;
    const size_t bytes = (size_t)(left < each ? left : each) * fill->size;
    char *to = (char *)loop->pointers[0] + (size_t)(turn * each) * fill->size;
    lk_repeat(to, fill->value, fill->size, bytes);
  }
}

lk_status lk_fill_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_fill *fill = params;
  const int64_t each = turn_count(fill), turns = (fill->count + each - 1) / each;
  const int64_t bytes = fill->count * (int64_t)fill->size;
  return lk_kernel_turns(turns, lk_sharing_pays_for(bytes, LK_SHARING_BYTE), fill_turns, params,
                         pointers);
}
