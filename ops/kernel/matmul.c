/* Matrix products of any rank and strides. */
#include "ops/kernel/matmul.h"

#include <stddef.h>

#include "base/status.h"
#include "ops/kernel/kernel.h"
#include "ops/kernel/sizes.h"

/* So few rows read the right operand sooner than it is packed. */
enum { FEW_ROWS = 32 };

static int64_t b_matrices(const lk_matmul *self) {
  int64_t count = 1;
  for (uint32_t i = 0; i < self->batch_rank; i++) {
    if (self->batch[i].b != 0) count *= self->batch[i].size;
  }
  return self->b_is_packed ? 1 : count;
}

void lk_matmul_plan(lk_matmul *self) {
  self->batches = 1;
  for (uint32_t i = 0; i < self->batch_rank; i++) self->batches *= self->batch[i].size;
  self->b_matrices = b_matrices(self);
  self->product = (lk_product){.micro = lk_micro_get(self->isa),
                               .rows = self->rows,
                               .columns = self->columns,
                               .taps = 1,
                               .k = self->k,
                               .c_step = self->c_row,
                               .c_rows = 1,
                               .groups = 1,
                               .low = self->low,
                               .high = self->high};
  lk_product_plan(&self->product, (int64_t)sizeof(float) * self->k);
  self->first_packed = 0;
  if (self->b_is_packed || self->b_column != 1 || self->rows > FEW_ROWS) return;
  /* a panel that is not whole would be read beyond its rows */
  self->first_packed = self->columns / self->product.panel;
}

/* ---- the right operand ---- */

int64_t lk_matmul_packed_size(const lk_matmul *self) {
  return lk_product_packed_size(&self->product);
}

static void pack_constant(const void *arg, int64_t begin_panel, int64_t end_panel) {
  const lk_kernel_loop *loop = arg;
  const lk_matmul *self = loop->params;
  lk_product_pack(&self->product, loop->pointers[0], self->b_column, 0, self->b_k, begin_panel,
                  end_panel, loop->pointers[1]);
}

void lk_matmul_pack(const lk_matmul *self, const float *b, float *packed) {
  void *const pointers[] = {(void *)(uintptr_t)b, packed};
  (void)lk_kernel_turns(self->product.panels,
                        lk_product_pack_is_shared(lk_matmul_packed_size(self)), pack_constant, self,
                        pointers);
}

void lk_matmul_unpack(const lk_matmul *self, const float *packed, float *b) {
  lk_product_unpack(&self->product, packed, self->b_column, 0, self->b_k, b);
}

int64_t lk_matmul_scratch_size(const lk_matmul *self) {
  if (self->b_is_packed || self->first_packed == self->product.panels) return 0;
  return self->b_matrices * lk_matmul_packed_size(self);
}

/* ---- batches ---- */

lk_matmul_place lk_matmul_find_place(const lk_matmul *self, int64_t batch) {
  lk_matmul_place found = {0};
  int64_t matrices = 1;
  for (uint32_t i = self->batch_rank; i-- > 0; batch /= self->batch[i].size) {
    const int64_t at = batch % self->batch[i].size;
    found.a += at * self->batch[i].a;
    found.b += at * self->batch[i].b;
    found.c += at * self->batch[i].c;
    if (self->batch[i].b == 0) continue;
    found.b_matrix += at * matrices;
    matrices *= self->batch[i].size;
  }
  return found;
}

/* Where a matrix of the right operand lies. */
static int64_t matrix_offset(const lk_matmul *self, int64_t matrix) {
  int64_t offset = 0;
  for (uint32_t i = self->batch_rank; i-- > 0;) {
    if (self->batch[i].b == 0) continue;
    offset += matrix % self->batch[i].size * self->batch[i].b;
    matrix /= self->batch[i].size;
  }
  return offset;
}

/* ---- running ---- */

typedef struct operands {
  const float *a, *b, *bias, *residual;
  float *c, *scratch;
  void *const *of_chain;
} operands;

static operands read_pointers(const lk_matmul *self, void *const *pointers) {
  operands read = {.a = (const float *)pointers[0] + self->a_first,
                   .b = (const float *)pointers[1] + self->b_first,
                   .c = pointers[2]};
  uint32_t n = 3;
  if (self->has_bias) read.bias = pointers[n++];
  if (self->has_residual) read.residual = pointers[n++];
  if (lk_matmul_scratch_size(self) > 0) read.scratch = pointers[n++];
  read.of_chain = pointers + n;
  return read;
}

static void pack_panels(const void *arg, int64_t begin_panel, int64_t end_panel) {
  const lk_kernel_loop *loop = arg;
  const lk_matmul *self = loop->params;
  const operands read = read_pointers(self, loop->pointers);
  const int64_t panels = self->product.panels - self->first_packed;
  if (panels == 0) return;
  for (int64_t i = begin_panel; i < end_panel; i++) {
    const int64_t matrix = i / panels, panel = self->first_packed + i % panels;
    lk_product_pack(&self->product, read.b + matrix_offset(self, matrix), self->b_column, 0,
                    self->b_k, panel, panel + 1,
                    read.scratch + matrix * lk_matmul_packed_size(self));
  }
}

static void do_tasks(const void *arg, int64_t begin_task, int64_t end_task) {
  const lk_kernel_loop *loop = arg;
  const lk_matmul *self = loop->params;
  const operands read = read_pointers(self, loop->pointers);
  const int64_t tasks = lk_product_tasks(&self->product);
  const lk_product_chain *chain =
      self->has_chain ? (const void *)((const char *)self + lk_matmul_size(self)) : NULL;
  lk_product_rows source = lk_product_rows_make(&self->product, NULL, self->a_row, self->a_k);
  for (int64_t i = begin_task; i < end_task; i++) {
    const int64_t batch = i / tasks;
    const lk_matmul_place at = lk_matmul_find_place(self, batch);
    const float *packed = self->b_is_packed ? read.b : read.scratch;
    lk_product_operands of_product = {
        .b = packed != NULL ? packed + at.b_matrix * lk_matmul_packed_size(self) : NULL,
        .plain_b = read.b + at.b,
        .plain_step = self->b_k,
        .first_packed = self->first_packed,
        .groups = 1,
        .bias = read.bias,
        .residual = read.residual != NULL ? read.residual + at.c : NULL,
        .c = read.c + at.c,
        .chain = chain};
    if (chain != NULL) {
      of_product.of_chain = lk_product_chain_at(chain, read.of_chain, batch * self->rows, 0);
    }

    source.a = read.a + at.a;
    lk_product_run(&self->product, &of_product, &source.source, i % tasks);
  }
}

lk_status lk_matmul_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_matmul *self = params;
  const lk_product *product = &self->product;
  const bool is_shared = lk_product_is_shared(lk_product_operations(product, self->batches));
  if (lk_matmul_scratch_size(self) > 0) {
    const int64_t panels = self->b_matrices * (product->panels - self->first_packed);
    LK_RETURN_NOT_OK(lk_kernel_turns(panels, is_shared, pack_panels, self, pointers));
  }
  (void)error;
  return lk_kernel_turns(self->batches * lk_product_tasks(product), is_shared, do_tasks, self,
                         pointers);
}
