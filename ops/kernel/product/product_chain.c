/* Element programs on the tiles of a product. */
#include "ops/kernel/product/product_chain.h"

static lk_element_level level_of(const lk_product_chain *chain, uint32_t operand) {
  if (chain->column_step[operand] != 0) return LK_ELEMENT_EACH;
  return chain->row_step[operand] != 0 ? LK_ELEMENT_ROW : LK_ELEMENT_ONE;
}

lk_status lk_product_chain_plan(const lk_element_program *program, lk_product_chain *inout_chain,
                                lk_error *error) {
  uint8_t levels[1 + LK_PRODUCT_CHAIN_OPERANDS] = {LK_ELEMENT_EACH};
  for (uint32_t i = 0; i < inout_chain->n_operands; i++) {
    levels[1 + i] = (uint8_t)level_of(inout_chain, i);
  }
  return lk_element_plan_tile(program, levels, &inout_chain->program, error);
}

size_t lk_product_chain_size(const lk_product_chain *self) {
  return offsetof(lk_product_chain, program) + self->program.size;
}

lk_product_chain_operands lk_product_chain_at(const lk_product_chain *self, void *const *pointers,
                                              int64_t row, int64_t column) {
  lk_product_chain_operands found = {{NULL}};
  for (uint32_t i = 0; i < self->n_operands; i++) {
    const float *base = pointers[i];
    found.at[i] = base + row * self->row_step[i] + column * self->column_step[i];
  }
  return found;
}

void lk_product_chain_apply(const lk_product_chain *self, const lk_product_chain_operands *operands,
                            const lk_product_chain_tile *tile) {
  const int64_t element = sizeof(float);
  lk_element_ref refs[LK_PRODUCT_CHAIN_OPERANDS + 2];
  refs[0] = (lk_element_ref){(char *)tile->c, tile->c_step * element};
  for (uint32_t i = 0; i < self->n_operands; i++) {
    const int64_t offset = tile->row * self->row_step[i] + tile->column * self->column_step[i];
    refs[1 + i] = (lk_element_ref){(char *)(uintptr_t)(operands->at[i] + offset),
                                   tile->row_step * self->row_step[i] * element};
  }
  refs[1 + self->n_operands] = refs[0];
  /* only integers can fail */
  (void)lk_element_apply(&self->program, tile->rows, tile->columns, refs);
}
