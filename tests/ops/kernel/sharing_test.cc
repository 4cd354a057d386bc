// What machines with many processors have to do: how many tasks loops are cut into, and that
// results do not depend on it, with more threads than there are processors here; and when threads
// are woken at all.
#include "tests/ops/kernel/product/product.h"

extern "C" {
#include "base/team/team.h"
#include "ops/kernel/integer/product_integer.h"
#include "ops/kernel/move/band.h"
#include "ops/kernel/move/fill.h"
#include "ops/kernel/move/range.h"
#include "ops/kernel/product/matmul.h"
#include "ops/kernel/reduce/softmax.h"
#include "ops/kernel/sequence/attend.h"
#include "ops/kernel/sequence/padding.h"
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

// ---- when threads are woken ----

TEST(SharingPays, FromAMillionOperationsOn) {
  constexpr double least = 1 << 20;
  EXPECT_TRUE(lk_sharing_pays(least));
  EXPECT_FALSE(lk_sharing_pays(least - 1));
  EXPECT_FALSE(lk_sharing_pays(0));
  const struct {
    int64_t count;
    double operations;
    bool pays;
  } rows[] = {{(256 << 10) - 1, LK_SHARING_BYTE, false},   {256 << 10, LK_SHARING_BYTE, true},
              {(64 << 10) - 1, LK_SHARING_ELEMENT, false}, {64 << 10, LK_SHARING_ELEMENT, true},
              {INT64_MAX, LK_SHARING_ELEMENT, true},       {0, LK_SHARING_ELEMENT, false}};
  for (const auto &row : rows) {
    EXPECT_EQ(lk_sharing_pays_for(row.count, row.operations), row.pays) << row.count;
  }
  // Eight rows use what is read as fast as it comes; one waits eight times as long.
  EXPECT_TRUE(lk_sharing_of_rows_pays(least / 8, 1));
  EXPECT_FALSE(lk_sharing_of_rows_pays(least / 8 - 1, 1));
  EXPECT_FALSE(lk_sharing_of_rows_pays(least - 1, 8));
  EXPECT_FALSE(lk_sharing_of_rows_pays(least - 1, 1000));
}

// Kernels of all costs, of so many rows of 1024 elements that they just pay, and one less.
TEST(SharingPays, IsAskedByKernels) {
  constexpr int64_t columns = 1024;
  using Run = lk_status (*)(int64_t rows, float *from, float *to, const int32_t *mask);
  const struct {
    const char *name;
    int64_t rows;
    Run run;
  } kernels[] = {{"fill", 64,
                  [](int64_t rows, float *, float *to, const int32_t *) {
                    const lk_fill fill = {rows * columns, sizeof(float), {}};
                    void *const pointers[] = {to};
                    return lk_fill_kernel(&fill, pointers, nullptr);
                  }},
                 {"band", 64,
                  [](int64_t rows, float *from, float *to, const int32_t *) {
                    const lk_band band = {1, rows, columns, 0, sizeof(float), true};
                    void *const pointers[] = {from, to};
                    return lk_band_kernel(&band, pointers, nullptr);
                  }},
                 {"padding", 64,
                  [](int64_t rows, float *, float *to, const int32_t *mask) {
                    const lk_padding padding = {LK_PADDING_EACH, 1, rows, columns, 0, 0, 0, -1};
                    void *const pointers[] = {const_cast<int32_t *>(mask), to};
                    return lk_padding_kernel(&padding, pointers, nullptr);
                  }},
                 {"range", 64,
                  [](int64_t rows, float *, float *to, const int32_t *) {
                    const lk_range range = {rows * columns, LK_F32, 0, 0, 0, 1};
                    void *const pointers[] = {to};
                    return lk_range_kernel(&range, pointers, nullptr);
                  }},
                 {"softmax", 32, [](int64_t rows, float *from, float *to, const int32_t *) {
                    const lk_softmax softmax = {
                        lk_row_loops_get(lk_isa_get()), rows, columns, 1, true, false, false};
                    void *const pointers[] = {from, to};
                    return lk_softmax_kernel(&softmax, pointers, nullptr);
                  }}};
  const std::vector<int32_t> mask(columns, 1);
  std::vector<float> from(64 * columns), to(from.size());
  for (const auto &kernel : kernels) {
    for (const int64_t rows : {kernel.rows - 1, kernel.rows}) {
      lk::with_threads(2, [&] {
        const uint64_t regions = lk_team_regions();
        LK_EXPECT_OK(kernel.run(rows, from.data(), to.data(), mask.data()));
        EXPECT_EQ(lk_team_regions() > regions, rows == kernel.rows) << kernel.name << ' ' << rows;
      });
    }
  }
}

} // namespace
