// What machines with many processors have to do: how many tasks loops are cut into, and that
// results do not depend on it, with more threads than there are processors here.
#include "tests/ops/kernel/product/product.h"

extern "C" {
#include "ops/kernel/integer/product_integer.h"
#include "ops/kernel/product/matmul.h"
#include "ops/kernel/sequence/attend.h"
#include "ops/kernel/sharing.h"
}

namespace {

using lk::Guarded;

class Sharing : public ::testing::Test {
protected:
  void TearDown() override { lk_sharing_set_processors(0); }
};

struct Shape {
  int64_t rows, k, columns;
};
// Of tasks that are worth a thread there is enough for 128.
const Shape SHAPES[] = {{512, 512, 512}, {16, 4096, 4096}, {2048, 768, 3072}, {8192, 64, 256}};

lk_matmul plan_matmul(const Shape &shape) {
  lk_matmul matmul = {};
  matmul.isa = lk_isa_get();
  matmul.rows = shape.rows;
  matmul.columns = matmul.c_row = matmul.b_k = shape.columns;
  matmul.k = matmul.a_row = shape.k;
  matmul.a_k = matmul.b_column = 1;
  matmul.b_is_packed = true;
  matmul.low = -INFINITY;
  matmul.high = INFINITY;
  lk_matmul_plan(&matmul);
  return matmul;
}

lk_product_integer plan_integer(const Shape &shape) {
  lk_product_integer product = {};
  product.loops = lk_integer_loops_get(lk_isa_get());
  product.rows = shape.rows, product.columns = shape.columns, product.k = shape.k;
  product.a_row = shape.k, product.a_k = 1;
  product.b_inner = shape.k, product.b_matrices = 1;
  product.b_step = shape.columns, product.b_column = 1;
  product.c_dtype = LK_I32, product.c_row = shape.columns;
  lk_product_integer_plan(&product);
  return product;
}

lk_attend plan_attend(int64_t heads, int64_t rows) {
  lk_attend attend = {};
  attend.loops = lk_attend_loops_get(lk_isa_get());
  attend.products = lk_product_loops_get(lk_isa_get());
  attend.micro = lk_micro_get(lk_isa_get());
  attend.batch = 1;
  attend.heads = attend.kv_heads = heads;
  attend.size = attend.v_size = 64;
  attend.q = attend.k = attend.v = attend.y = {0, heads * rows * 64, rows * 64, 64};
  attend.window = {rows, rows, 0, -1, -1, rows, false};
  lk_attend_plan(&attend);
  return attend;
}

// The part of their time that threads compute, if tasks take equally long.
double busy(int64_t tasks, int64_t threads) {
  return double(tasks) / double((tasks + threads - 1) / threads * threads);
}

TEST_F(Sharing, IsAsEverOnFewProcessors) {
  lk_sharing_set_processors(1);
  const lk_matmul matmul = plan_matmul(SHAPES[0]);
  const lk_product_integer integer = plan_integer(SHAPES[1]);
  const lk_attend attend = plan_attend(4, 2048);
  for (const int processors : {2, 8, int(LK_SHARING_FEW)}) {
    lk_sharing_set_processors(processors);
    const lk_matmul same = plan_matmul(SHAPES[0]);
    EXPECT_EQ(lk_product_tasks(&same.product), lk_product_tasks(&matmul.product));
    EXPECT_EQ(plan_integer(SHAPES[1]).slots, integer.slots);
    EXPECT_EQ(plan_attend(4, 2048).slots, attend.slots);
  }
}

TEST_F(Sharing, HasTasksForManyThreads) {
  for (const int processors : {24, 64, 96, 128, 256}) {
    lk_sharing_set_processors(processors);
    for (const Shape &shape : SHAPES) {
      SCOPED_TRACE(std::to_string(processors) + " processors, " + std::to_string(shape.rows) +
                   " rows by " + std::to_string(shape.columns) + " columns");
      const int threads = std::min(processors, 128);
      // Of few rows, only the columns are cut; and tiles of narrower vectors fit less evenly.
      const bool is_even = shape.rows != 16 && lk_isa_get() >= LK_ISA_AVX512;
      const double least = is_even ? 0.5 : 0.4;
      const lk_matmul matmul = plan_matmul(shape);
      EXPECT_GE(busy(lk_product_tasks(&matmul.product), threads), least);
      const lk_product_integer integer = plan_integer(shape);
      EXPECT_GE(busy(integer.slots, threads), least);
    }
    EXPECT_GE(busy(plan_attend(8, 16384).slots, processors), 0.5) << processors;
    EXPECT_GE(busy(plan_attend(64, 1024).slots, processors), 0.5) << processors;
  }
}

// Tasks of 128 processors, on as many threads, give the bits of those of one.
TEST_F(Sharing, ChangesNoResult) {
  const Shape shape = {200, 300, 520};
  std::mt19937 random(1);
  const Guarded a = lk::random_floats(size_t(shape.rows * shape.k), random);
  const Guarded b = lk::random_floats(size_t(shape.k * shape.columns), random);
  Guarded expected(size_t(shape.rows * shape.columns));
  for (const int processors : {1, 64, 128}) {
    lk_sharing_set_processors(processors);
    const lk_matmul matmul = plan_matmul(shape);
    std::vector<float> packed(size_t(lk_matmul_packed_size(&matmul)));
    lk_matmul_pack(&matmul, b.get(), packed.data());
    Guarded c(expected.size());
    void *pointers[] = {const_cast<float *>(a.get()), packed.data(), c.get()};
    lk::with_threads(processors,
                     [&] { LK_EXPECT_OK(lk_matmul_kernel(&matmul, pointers, LK_ERR)); });
    c.check();
    if (processors == 1) std::memcpy(expected.get(), c.get(), c.size() * sizeof(float));
    EXPECT_TRUE(c.has_bits_of(expected)) << processors;
  }
}

} // namespace
