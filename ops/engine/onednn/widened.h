/* Scales and shifts of f16 and bf16 beside norms, and means and variances of batch norms. oneDNN
 * 3.14.1 has code for those of f32, and mere reference implementations for others, so each run
 * makes them of f32, in its scratch memory. */
#pragma once

#include <latchkey/engine.h>
#include <stdbool.h>
#include <stddef.h>

/* Which of them there are, and where they lie in scratch memory. */
typedef struct lk_widened {
  uint32_t roles; /* bit i: role i is made of f32 */
  uint64_t bytes; /* of all, as a multiple of 64 */
  struct lk_widened_tensor {
    uint32_t role, dtype;
    uint32_t pointer; /* of a run: which one */
    int64_t count;
    uint64_t offset; /* a multiple of 64 */
  } tensors[4];
  uint32_t n_tensors;
} lk_widened;

/* Of works of any kind; of those that are no norms, it has none. */
lk_widened lk_widened_of(const lk_work *work);
/* Of a role that it has. */
uint64_t lk_widened_offset(const lk_widened *self, uint32_t role);
/* Makes them, from the pointers of a run. */
void lk_widened_make(const lk_widened *self, void *const *pointers, void *scratch);

/* `count` numbers of f16 or bf16. */
void lk_widen(uint32_t dtype, const uint16_t *from, float *to, size_t count);
