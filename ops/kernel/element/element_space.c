/* The sizes that an element program runs over. */
#include "ops/kernel/element/element_space.h"

static void swap_dims(lk_element_space *self, uint32_t n_operands, uint32_t a, uint32_t b) {
  const int64_t dim = self->dims[a];
  self->dims[a] = self->dims[b];
  self->dims[b] = dim;
  for (uint32_t k = 0; k < n_operands; k++) {
    const int64_t stride = self->strides[k][a];
    self->strides[k][a] = self->strides[k][b];
    self->strides[k][b] = stride;
  }
}

static void drop_ones(lk_element_space *self, uint32_t n_operands) {
  uint32_t rank = 0;
  for (uint32_t i = 0; i < self->rank; i++) {
    if (self->dims[i] == 1) continue;
    swap_dims(self, n_operands, rank++, i); /* what is swapped away is a 1 */
  }
  self->rank = rank;
}

static bool can_merge(const lk_element_space *self, uint32_t n_operands, uint32_t i) {
  for (uint32_t k = 0; k < n_operands; k++) {
    if (self->strides[k][i] != self->strides[k][i + 1] * self->dims[i + 1]) return false;
  }
  return true;
}

void lk_element_space_simplify(lk_element_space *self, uint32_t n_operands, uint32_t leader) {
  drop_ones(self, n_operands);
  for (uint32_t i = 1; i < self->rank; i++) {
    for (uint32_t j = i; j > 0 && self->strides[leader][j - 1] < self->strides[leader][j]; j--) {
      swap_dims(self, n_operands, j - 1, j);
    }
  }
  for (uint32_t i = self->rank; i-- > 1;) {
    if (!can_merge(self, n_operands, i - 1)) continue;
    self->dims[i - 1] *= self->dims[i];
    for (uint32_t k = 0; k < n_operands; k++) self->strides[k][i - 1] = self->strides[k][i];
    self->dims[i] = 1;
    drop_ones(self, n_operands);
  }
  if (self->rank > 0) return;
  self->rank = 1;
  self->dims[0] = 1;
  for (uint32_t k = 0; k < n_operands; k++) self->strides[k][0] = 0;
}
